"""What a call costs the host: eager, the GPU far behind, a batch as small as serving's smallest."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from ..cases._case import VOCAB
from ..logprobs import logprobs
from ..sampling import sample, top_k_top_p_sample
from ..verify import Strategy, verify
from .cases import verify_inputs
from .inputs import random_logits
from .workload import Call

ROWS = 8
CALLS = 300
# Calls that may wait in the GPU's queue: with more, the host waits for it.
TOGETHER = 20


def host_times(ops: set[str]) -> list[dict[str, Any]]:
    """Microseconds of the host for a call of each op in ``ops``, and the limit if there is one."""
    rows = []
    for name, op, make, at_most in _CALLS:
        if op not in ops:
            continue
        us = _host_seconds(make()) * 1e6
        row: dict[str, Any] = {"name": f"{name}, {ROWS} rows or requests", "op": op, "host_us": us}
        if at_most is not None:
            row |= {"at_most_us": at_most, "reached": us <= at_most}
        rows.append(row)
    return rows


def _host_seconds(call: Call) -> float:
    """Median seconds until a call returns."""
    for _warm in range(TOGETHER):
        call()
    times = []
    for done in range(CALLS):
        if done % TOGETHER == 0:
            torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def _sample() -> Call:
    logits, seeds, warm = _rows()
    positions = seeds + 5
    return lambda: sample(logits, seeds, positions, warm)


def _limited() -> Call:
    logits, seeds, warm = _rows()
    positions = seeds + 5
    top_k, top_p = torch.full((ROWS,), 50, device="cuda"), torch.full((ROWS,), 0.95, device="cuda")
    return lambda: top_k_top_p_sample(logits, seeds, positions, warm, top_k, top_p)


def _logprobs() -> Call:
    logits, seeds, _warm = _rows()
    return lambda: logprobs(logits, seeds, 20)


def _logprobs_into() -> Call:
    logits, seeds, _warm = _rows()
    out = logprobs(logits, seeds, 20)
    return lambda: logprobs(logits, seeds, 20, out=out)


def _rejection() -> Call:
    given = verify_inputs(ROWS, Strategy.REJECTION)
    return lambda: verify(given)


def _rejection_into() -> Call:
    given = verify_inputs(ROWS, Strategy.REJECTION)
    out = verify(given)
    return lambda: verify(given, out)


def _rows() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Logits, seeds (tokens as well) and temperatures."""
    logits = random_logits(ROWS, VOCAB, seed=0)
    return logits, torch.arange(ROWS, device="cuda"), torch.ones(ROWS, device="cuda")


# What is called, its op, its inputs, and at most how many microseconds it may take.
_CALLS: tuple[tuple[str, str, Callable[[], Call], float | None], ...] = (
    ("sample", "sampling", _sample, 40.0),
    ("top-k 50 and top-p 0.95 with the draw", "sampling", _limited, None),
    ("top-20 logprobs + rank", "logprobs", _logprobs, 40.0),
    ("top-20 logprobs + rank into the caller's tensors", "logprobs", _logprobs_into, 40.0),
    ("rejection, dense draft, K=3", "verify", _rejection, 60.0),
    ("rejection, dense draft, K=3, into the caller's tensors", "verify", _rejection_into, 60.0),
)
