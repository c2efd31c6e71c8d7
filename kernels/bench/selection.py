"""The workloads of sampling and of best tokens, each over every kind of logits: the table has the
random one, and the worst beside it; and what requests ask for before that.
"""

from __future__ import annotations

from functools import partial

import torch

from ..cases._case import VOCAB
from ..logprobs import logprobs
from ..sampling import Adjustments, adjust_logits, sample, top_k_top_p_sample
from .inputs import KINDS, logits_of, random_logits
from .peers import samplers
from .workload import Call, Workload

# At most this many times the floor from 256 rows on, and this many microseconds below.
FLOORS, MICROSECONDS = 3.0, 25.0


def selection_workloads() -> list[Workload]:
    """Draws without limits, from top-k and from top-p, the best 20 of a row, and adjustments."""
    found = [_sample(256), _adjust(32), _adjust(256)]
    for rows in (1, 32, 256, 1024):
        for what, k, p in (
            ("top-k 50", 50, None),
            ("top-k 100 and top-p 0.95", 100, 0.95),
            ("top-p 0.95", None, 0.95),
            ("top-k 70,000", 70_000, None),
        ):
            found.append(_limited(what, rows, k, p))
    return found + [_best(rows) for rows in (1, 32, 256)]


def _size(rows: int) -> int:
    return rows * VOCAB * 2


def _sample(rows: int) -> Workload:
    def build(i: int) -> dict[str, Call]:
        logits = random_logits(rows, VOCAB, seed=i)
        seeds = torch.arange(rows, device="cuda")
        warm = torch.full((rows,), 0.7, device="cuda")
        return {
            "ours": lambda: sample(logits, seeds, seeds, warm),
            "torch": lambda: torch.multinomial((logits.float() / 0.7).softmax(dim=1), 1),
        }

    return Workload(f"sample, {rows} rows", "sampling", _size(rows), build)


def _adjust(rows: int) -> Workload:
    """A grammar, penalties over the tokens so far, and 20 biases: what a pass each would be."""
    words = VOCAB // 32

    def build(i: int) -> dict[str, Call]:
        logits = random_logits(rows, VOCAB, seed=i)
        counts = (torch.randint(0, 100, (rows, VOCAB), device="cuda") == 0).int()
        half = torch.full((rows,), 0.5, device="cuda")
        mask = torch.randint(-(2**31), 2**31, (rows, words), device="cuda").int()
        ids = torch.randint(0, VOCAB // 20, (rows, 20), device="cuda")
        given = Adjustments(
            bitmask=mask,
            bias_ids=ids + torch.arange(20, device="cuda") * (VOCAB // 20),
            bias=torch.randn(rows, 20, device="cuda"),
            repetition_penalty=half + 0.7,
            frequency_penalty=half,
            presence_penalty=half,
            output_counts=counts,
            prompt_mask=mask,
        )
        return {
            "ours": lambda: adjust_logits(logits, given),
            "torch": lambda: _torch_adjust(logits, given),
        }

    size = rows * (VOCAB * (2 + 4 + 4) + 2 * words * 4)
    what = "grammar, bias and penalties in one pass"
    return Workload(f"{what}, {rows} rows", "sampling", size, build)


def _torch_adjust(logits: torch.Tensor, given: Adjustments) -> torch.Tensor:
    """A pass each, as an engine writes it first."""
    place = torch.arange(32, device="cuda", dtype=torch.int32)

    def bits(words: torch.Tensor) -> torch.Tensor:
        return ((words[:, :, None] >> place) & 1).bool().flatten(1)

    x = logits.float().masked_fill(~bits(given.bitmask), float("-inf"))
    x.scatter_add_(1, given.bias_ids, given.bias)
    count = given.output_counts
    repetition = given.repetition_penalty[:, None].where((count > 0) | bits(given.prompt_mask), 1.0)
    x = torch.where(x > 0, x / repetition, x * repetition)
    x -= given.frequency_penalty[:, None] * count
    return x - given.presence_penalty[:, None] * (count > 0)


def _limited(what: str, rows: int, k: int | None, p: float | None) -> Workload:
    def build(i: int, kind: str = "random") -> dict[str, Call]:
        logits = logits_of(kind, rows, seed=i)
        seeds = torch.arange(rows, device="cuda")
        warm = torch.ones(rows, device="cuda")
        top_k = None if k is None else torch.full((rows,), k, device="cuda")
        top_p = None if p is None else torch.full((rows,), p, device="cuda")

        def ours() -> object:
            return top_k_top_p_sample(logits, seeds, seeds, warm, top_k, top_p)

        return {"ours": ours, **samplers(logits, top_k, top_p)}

    large = rows >= 256
    return Workload(
        f"{what} with the draw, {rows} rows", "sampling", _size(rows), build,
        at_most_floor=FLOORS if large else None, at_most_us=None if large else MICROSECONDS,
        others={kind: partial(build, kind=kind) for kind in KINDS[1:]},
    )  # fmt: skip


def _best(rows: int) -> Workload:
    def build(i: int, kind: str = "random") -> dict[str, Call]:
        logits = logits_of(kind, rows, seed=i)
        tokens = torch.randint(0, VOCAB, (rows,), device="cuda")
        return {"ours": lambda: logprobs(logits, tokens, 20)}

    return Workload(
        f"top-20 logprobs + rank of any row, {rows} rows", "logprobs", _size(rows), build,
        others={kind: partial(build, kind=kind) for kind in KINDS[1:]},
    )  # fmt: skip
