"""Kernel runs: a package of kernels in a process of its own, which may crash, hang or lie."""
