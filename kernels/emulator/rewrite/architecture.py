"""Device code asks for which GPU it is compiled: it is an H100, as the device's properties say.

nvcc defines `__CUDA_ARCH__` while it compiles for the device and not while it compiles for the
host. Here both are compiled at once, and the headers of PyTorch and of the compiler are the host's:
only what the repository wrote sees a device. Without that `#if __CUDA_ARCH__ >= 800` would leave
the body of a kernel away, and the kernel would do nothing.
"""

from __future__ import annotations

import re

_ARCHITECTURE = re.compile(r"\b__CUDA_ARCH__\b")


def rewrite_architecture(text: str) -> str:
    """`text` with the emulated GPU's architecture wherever it asks."""
    return _ARCHITECTURE.sub("EMULATED_CUDA_ARCH", text)
