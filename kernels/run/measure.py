"""What a result belongs to (versions, device), and how long a case takes: with the bench's own
measuring on a GPU."""

from __future__ import annotations

import platform
import time
from typing import Any

import torch

from kernels.bench.measure import copy_bandwidth, device_key, eager_seconds, graph_seconds
from kernels.cases._case import Case

SAMPLES = 30
# Several times any L2, and little enough for any device that runs the cases.
_COPIED = 512 << 20


def versions() -> dict[str, str]:
    """Of what the numbers depend on."""
    import triton

    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "triton": triton.__version__,
    }


def key(device: torch.device) -> dict[str, Any]:
    """What results from this machine may be compared with: the same key, and nothing else."""
    if device.type == "cuda":
        return device_key()
    return {"cpu": platform.machine(), "interpreter": True, **versions()}


def settle(device: torch.device) -> None:
    """Wait for the device; RuntimeError for what went wrong on it."""
    if device.type == "cuda":
        torch.cuda.synchronize()


def roof() -> float:
    """Bytes per second, read plus written, of a large copy on this GPU; its memory is free again
    afterwards."""
    found = copy_bandwidth(_COPIED)
    torch.cuda.empty_cache()
    return found


def size(value: object) -> int:
    """Bytes of all tensors in inputs or outputs."""
    if isinstance(value, torch.Tensor):
        return value.nbytes
    inner = (
        value.values()
        if isinstance(value, dict)
        else value
        if isinstance(value, list | tuple)
        else ()
    )
    return sum(map(size, inner))


def times(case: Case, device: torch.device) -> tuple[str, list[float]]:
    """(how it was measured, seconds a call, one number a sample), over inputs of its own.

    `graph`: inside a CUDA graph, so that the host's pace is left out; `eager` where the op cannot
        be captured;
    `interpreter`: no measure of a kernel at all.
    """
    given = case.build(device)
    if device.type != "cuda":
        return "interpreter", [_interpreted(case, given)]
    calls = [lambda: case.call(given)]
    try:
        return "graph", [graph_seconds(calls, rounds=1) for _ in range(SAMPLES)]
    except RuntimeError:
        settle(device)
        return "eager", [eager_seconds(calls, rounds=1) for _ in range(SAMPLES)]


def _interpreted(case: Case, given: dict[str, Any]) -> float:
    started = time.perf_counter()
    case.call(given)
    return time.perf_counter() - started
