"""Small CUDA kernels of our own, one for each thing that the emulator has.

`corpus.cu` is one program: it runs every kernel on fixed inputs and prints a line for each, its
name and the bytes of its result. Compiled by nvcc it says what a GPU does; compiled as C++ against
the emulator's runtime, what the emulator does. `python -m kernels.emulator.corpus` compares them.
"""
