"""Promises that only a GPU can keep or break: no host sync, graph capture, one compilation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch


def assert_no_sync(call: Callable[[], object]) -> None:
    """Runs ``call`` with every synchronising CUDA call turned into an error."""
    call()  # compilation may sync
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        call()
    finally:
        torch.cuda.set_sync_debug_mode("default")


def assert_graph_replays(call: Callable[[], torch.Tensor]) -> None:
    """``call`` can be captured, and a replay over wiped outputs gives what an eager call gives."""
    eager = call().clone()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = call()
    captured.zero_()
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(captured, eager), "a graph replay differs from the eager call"


def assert_no_recompilation(
    kernel: Any, call: Callable[[int], object], values: Iterable[int]
) -> None:
    """Calling with each value compiles ``kernel`` at most once."""
    values = list(values)
    call(values[0])
    device = torch.cuda.current_device()
    before = len(kernel.device_caches[device][0])
    assert before >= 1, "the kernel did not run"
    for value in values[1:]:
        call(value)
    after = len(kernel.device_caches[device][0])
    assert after == before, f"{after - before} more compilations over {values}"
