"""CUDA device code, compiled as C++ and run on a CPU.

`rewrite` turns launches, shared memory and inline assembly into plain C++; `runtime` are the
headers and sources that stand for CUDA, cub, cuRAND and the frameworks' extension interfaces;
`compiler` builds a library of each source; `library` calls the ops in it; `standins` are Python
modules that tests import in place of a framework. `python -m kernels.emulator JOB.json` does one
job in one process, for a program that only wants the results.
"""
