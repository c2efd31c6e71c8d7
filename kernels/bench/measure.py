"""Timing on a GPU: medians over cold, rotating inputs, in a CUDA graph and eagerly."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import torch

Call = Callable[[], object]

# Inputs rotate over more memory than this, so that no call finds its data in the L2 (60 MB on an
# H200).
COLD_BYTES = 400 << 20


def device_key() -> dict[str, Any]:
    """What a number from this machine may be compared with: the same key, and nothing else."""
    import triton

    properties = torch.cuda.get_device_properties(0)
    return {
        "gpu": properties.name,
        "multiprocessors": properties.multi_processor_count,
        "memory_gib": round(properties.total_memory / 2**30),
        "l2_mib": round(properties.L2_cache_size / 2**20),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "cuda": torch.version.cuda,
    }


def copy_bandwidth(size: int = 2 << 30) -> float:
    """Bytes per second, read plus written, of a large device-to-device copy: the roof of every case
    below."""
    source = torch.randint(0, 256, (size,), dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    seconds = _medians(lambda: target.copy_(source), rounds=20)
    return 2 * size / seconds


def sets_needed(bytes_per_set: int) -> int:
    """How many input sets make a rotation cold."""
    return max(2, min(64, -(-COLD_BYTES // max(1, bytes_per_set))))


def graph_seconds(calls: Sequence[Call], rounds: int = 21) -> float:
    """Median seconds of one call inside a CUDA graph that goes through all the calls in turn."""
    for call in calls:
        call()
    torch.cuda.synchronize()
    repeats = max(1, -(-24 // len(calls)))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in itertools.chain.from_iterable(itertools.repeat(calls, repeats)):
            call()
    seconds = _medians(graph.replay, rounds) / (len(calls) * repeats)
    del graph
    return seconds


def eager_seconds(calls: Sequence[Call], rounds: int = 30) -> float:
    """Median seconds of one eager call, launch overhead included, with an idle device before it."""
    for call in calls:
        call()
    times = []
    for call in itertools.islice(itertools.cycle(calls), rounds):
        torch.cuda.synchronize()
        times.append(_once(call))
    return statistics.median(times)


def _medians(call: Call, rounds: int) -> float:
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    return statistics.median(_once(call) for _ in range(rounds))


def _once(call: Call) -> float:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1000
