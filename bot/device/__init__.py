"""Device code of a change, run on a CPU by `kernels.emulator`, always in confined processes."""

# Seconds for one test, where nobody says.
LONGEST_TEST = 180.0
