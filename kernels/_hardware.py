"""What the kernels run on: a GPU, or Triton's interpreter in its place."""

from __future__ import annotations

import os
from functools import cache

import torch


def interpreting() -> bool:
    """True when Triton kernels run on CPU tensors in this process."""
    return os.environ.get("TRITON_INTERPRET") == "1"


@cache
def multiprocessors(device: torch.device) -> int:
    """How many a GPU has; for the interpreter those of an H200, so that it runs what one runs."""
    if device.type != "cuda":
        return 132
    return torch.cuda.get_device_properties(device).multi_processor_count


@cache
def like_hopper(device: torch.device) -> bool:
    """Whether this is a GPU of compute capability 9.0 or later: from there on comparisons of two
    bfloat16 at once exist, and launches that overlap.
    """
    return (
        device.type == "cuda"
        and torch.version.cuda is not None
        and torch.cuda.get_device_capability(device) >= (9, 0)
    )


def after_another() -> dict[str, bool]:
    """Launch options of a kernel that is launched while the one before it still runs, whosever that
    is, and waits for it on the device with ``wait_for_another`` (programmatic dependent launch).
    """
    if interpreting() or not like_hopper(torch.device("cuda", torch.cuda.current_device())):
        return {"PDL": False}
    return {"PDL": True, "launch_pdl": True}
