"""What an index or a condition means, followed from writer to reader."""
