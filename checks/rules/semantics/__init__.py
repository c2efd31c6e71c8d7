"""Rules about what an index means to its buffers, and a rank to the messages it lets through."""
