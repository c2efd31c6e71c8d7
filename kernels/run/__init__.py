"""The harness: runs one op's cases and writes what came out. `python -m kernels.run --help`.

It judges nothing. Whoever started it compares the outputs with the reference's, in another process,
because the code under test runs in this one and could change any judgement made here.
"""
