"""CUDA's extensions of C++, in a source's text, to plain C++. Line numbers stay as they are."""

from kernels.emulator.rewrite.architecture import rewrite_architecture
from kernels.emulator.rewrite.assembly import rewrite_assembly
from kernels.emulator.rewrite.launches import refuse_xpu_launch, rewrite_launches
from kernels.emulator.rewrite.member_templates import rewrite_member_templates
from kernels.emulator.rewrite.partial_specialisations import rewrite_partial_specialisations
from kernels.emulator.rewrite.shared_memory import rewrite_shared_memory
from kernels.emulator.rewrite.torch_names import rewrite_torch_names


def rewrite(text: str) -> str:
    """The C++ for a CUDA source or header."""
    if "__CUDA_ARCH__" in text:
        text = rewrite_architecture(text)
    if "__shared__" in text:
        text = rewrite_shared_memory(text)
    if "<<<" in text or "cudaLaunch" in text:
        text = rewrite_launches(text)
    if "asm" in text:
        text = rewrite_assembly(text)
    if ">(" in text:
        text = rewrite_member_templates(text)
    if "template" in text:
        text = rewrite_partial_specialisations(text)
    if "torch" in text or "at::" in text:
        text = rewrite_torch_names(text)
    return text


def rewrite_xpu(text: str) -> str:
    """The C++ of an XPU plugin's file: without the launches of kernels for the device itself."""
    return rewrite_launches(text, refuse_xpu_launch) if "<<<" in text else text
