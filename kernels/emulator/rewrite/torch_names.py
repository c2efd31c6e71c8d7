"""PyTorch's names for CUDA, to those for the CPU: a tensor of the emulated GPU is CPU memory."""

from __future__ import annotations

import re

_NAMES = (
    (re.compile(r"\bis_cuda\(\)"), "is_cpu()"),
    (re.compile(r"\bkCUDA\b"), "kCPU"),
    (re.compile(r"\bDeviceType::CUDA\b"), "DeviceType::CPU"),
    (re.compile(r"(\bTORCH_LIBRARY_IMPL\s*\([^,()]*(?:\([^()]*\))?,\s*)CUDA\b"), r"\1CPU"),
)


def rewrite_torch_names(text: str) -> str:
    """`text` with every such name replaced; every line stays."""
    for pattern, name in _NAMES:
        text = pattern.sub(name, text)
    return text
