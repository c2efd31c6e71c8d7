"""Which implementation a call runs: Triton on a GPU, the reference on a CPU.

With ``TRITON_INTERPRET=1`` (set before triton is imported) a CPU call runs the Triton kernels
through the interpreter, so that CI tests the very code that a GPU runs.
"""

from __future__ import annotations

import os

import torch


def interpreting() -> bool:
    """True when Triton kernels run on CPU tensors in this process."""
    return os.environ.get("TRITON_INTERPRET") == "1"


def use_triton(op: str, device: torch.device) -> bool:
    """True for Triton, False for the reference; ValueError for a device that neither serves."""
    if device.type == "cuda":
        return True
    if device.type == "cpu":
        return interpreting()
    raise ValueError(f"{op}: runs on cuda and cpu, got tensors on {device}")
