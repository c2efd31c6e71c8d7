"""CUDA's extensions of C++, in a source's text, to plain C++. Line numbers stay as they are."""

from kernels.emulator.rewrite.assembly import rewrite_assembly
from kernels.emulator.rewrite.launches import rewrite_launches
from kernels.emulator.rewrite.shared_memory import rewrite_shared_memory


def rewrite(text: str) -> str:
    """The C++ for a CUDA source or header."""
    if "__shared__" in text:
        text = rewrite_shared_memory(text)
    if "<<<" in text or "cudaLaunch" in text:
        text = rewrite_launches(text)
    if "asm" in text:
        text = rewrite_assembly(text)
    return text
