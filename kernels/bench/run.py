"""Runs the workloads behind the gate and gathers one record."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

from .gate import Outcome
from .host import host_times
from .measure import copy_bandwidth, device_key, eager_seconds, graph_seconds, sets_needed
from .peers import versions
from .workload import Call, Workload


def run_bench(chosen: list[Workload], tests: dict[str, Outcome], compiled: bool) -> dict[str, Any]:
    """The results file's content.

    A workload of an op whose tests are not green has no numbers, only the reason.
    """
    bandwidth = copy_bandwidth()
    rows = []
    for workload in chosen:
        outcome = tests.get(workload.op)
        if outcome is None or not outcome.green:
            why = outcome.said if outcome else "its tests were not run"
            rows.append(
                {"name": workload.name, "op": workload.op, "refused": f"tests not green: {why}"}
            )
            continue
        rows.append(_measure(workload, bandwidth, compiled))
        print(f"{workload.name}: {rows[-1]['graph_us']:.1f} us", file=sys.stderr, flush=True)
        torch.cuda.empty_cache()
    green = {op for op in {w.op for w in chosen} if op in tests and tests[op].green}
    return {
        "device": device_key(),
        "peers": versions(),
        "copy_bandwidth_tb_s": bandwidth / 1e12,
        "tests": [outcome.record() for outcome in tests.values()],
        "workloads": rows,
        "host": host_times(green),
    }


def _measure_kind(workload: Workload, build: Callable[[int], dict[str, Call]]) -> dict[str, float]:
    """Microseconds of ours and of each peer over one other kind of inputs."""
    sets = [build(i) for i in range(sets_needed(workload.bytes))]
    names = sorted(sets[0])
    return {name: graph_seconds([calls[name] for calls in sets], rounds=9) * 1e6 for name in names}


def _measure(workload: Workload, bandwidth: float, compiled: bool) -> dict[str, Any]:
    sets = [workload.build(i) for i in range(sets_needed(workload.bytes))]
    floor = workload.bytes / bandwidth
    ours = [calls["ours"] for calls in sets]
    graph = graph_seconds(ours)
    row: dict[str, Any] = {
        "name": workload.name,
        "op": workload.op,
        "bytes": workload.bytes,
        "floor_us": floor * 1e6,
        "graph_us": graph * 1e6,
        "eager_us": eager_seconds(ours) * 1e6,
        "times_floor": graph / floor,
        "peers": {},
    }
    if workload.at_most_floor is not None:
        row["at_most_us"] = workload.at_most_floor * floor * 1e6
    if workload.at_most_us is not None:
        row["at_most_us"] = workload.at_most_us
    for name in sets[0].keys() - {"ours", "torch"}:
        row["peers"][name] = graph_seconds([calls[name] for calls in sets[:4]], rounds=5) * 1e6
    for kind, build in workload.others.items():
        row.setdefault("others", {})[kind] = _measure_kind(workload, build)
    if "at_most_us" in row:
        ours_of = [numbers["ours"] for numbers in row.get("others", {}).values()]
        row["reached"] = max(row["graph_us"], *ours_of, 0.0) <= row["at_most_us"]
    if "torch" in sets[0]:
        peer = [calls["torch"] for calls in sets[:4]]
        row["peers"]["torch eager"] = graph_seconds(peer, rounds=5) * 1e6
        if compiled and workload.compiled:
            peer = [torch.compile(call, dynamic=False) for call in peer[:3]]
            row["peers"]["torch.compile"] = graph_seconds(peer, rounds=5) * 1e6
    return row
