"""Device code of a change, run on a CPU by `kernels.emulator`, always in confined processes."""
