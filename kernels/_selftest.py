"""Whether Triton's interpreter does what the kernels count on."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ._device import read_logit

SIZE = 8


def interpreter_reads_nan() -> bool:
    """Reads a row that is half NaN as every kernel reads logits, and takes its max."""
    given = torch.tensor([float("nan"), 1.0] * (SIZE // 2))
    read, largest = torch.full((SIZE,), 7.0), torch.full((1,), 7.0)
    _read_kernel[(1,)](given, read, largest, SIZE=SIZE)
    return read.tolist() == [float("-inf"), 1.0] * (SIZE // 2) and largest.item() == 1.0


@triton.jit
def _read_kernel(given_ptr, read_ptr, largest_ptr, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    x = tl.load(given_ptr + at)
    tl.store(read_ptr + at, read_logit(x))
    tl.store(largest_ptr, tl.max(x))
