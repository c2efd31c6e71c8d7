"""An engine of random logits: records of it, and of what may go wrong in it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from checks.logprobs.compare import Collector, ComparisonOutcome, calibrated_tolerance, decide
from checks.logprobs.record import Record, RecordOrigin, prompt_hash

ORIGIN = RecordOrigin("small", "raw", "gpu-1", "engine", "1.0", "bfloat16")
ULP = 2.0**-4  # of bfloat16 logits from 8 to 16


def bfloat16(x: np.ndarray) -> np.ndarray:
    """Rounded to the nearest bfloat16, as float64."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).view(np.float32).astype(np.float64)


@dataclass
class Logits:
    """[requests, tokens, vocabulary], from which records are made."""

    values: np.ndarray

    @classmethod
    def random(
        cls, rng: np.random.Generator, requests: int = 40, tokens: int = 40, vocab: int = 60
    ) -> Logits:
        """The best of each row is between 8 and 16 and alone, so that it is greedy's choice with
        and without noise.
        """
        values = rng.normal(0, 2, (requests, tokens, vocab)).clip(-6, 6)
        best = rng.integers(0, vocab, (requests, tokens))
        at = np.arange(requests)[:, None], np.arange(tokens)[None, :], best
        values[at] = 9 + rng.random((requests, tokens)) * 3
        return cls(bfloat16(values))

    def noisy(self, rng: np.random.Generator, ulps: float = 1.0, share: float = 1.0) -> Logits:
        """Every logit of a share of the rows an ulp of the best one up, down or as it was."""
        step = (
            rng.integers(-1, 2, self.values.shape)
            * (rng.random(self.values.shape[:2]) < share)[:, :, None]
        )
        return Logits(self.values + ulps * ULP * step)


def records(
    logits: Logits,
    k: int = 5,
    *,
    temperature: float | None = None,
    top_p: float = 1.0,
    tokens: np.ndarray | None = None,
    accept: list[np.ndarray] | None = None,
    seed: int = 0,
) -> list[Record]:
    """Greedy answers, or the given tokens [R, n]. With a temperature the logprobs are processed
    ones.
    """
    x = logits.values if temperature is None else logits.values / temperature
    if top_p < 1:
        x = _cut(x, top_p)
    with np.errstate(divide="ignore"):
        logz = np.log(np.exp(x).sum(axis=2))
    lp = _single(x - logz[:, :, None])
    order = np.argsort(-logits.values, axis=2, kind="stable")
    tokens = order[:, :, 0] if tokens is None else tokens
    chosen = np.take_along_axis(lp, tokens[:, :, None], axis=2)[:, :, 0]
    ranks = (x >= np.take_along_axis(x, tokens[:, :, None], axis=2)).sum(axis=2)
    columns = np.take_along_axis(lp, order[:, :, :k], axis=2)
    rng = np.random.default_rng(seed)
    return [
        Record(
            f"request-{r}",
            tokens[r],
            chosen[r],
            order[r, :, :k],
            columns[r],
            prompt_hash(str(r)),
            ranks=ranks[r],
            accept_num=steps(rng, tokens.shape[1]) if accept is None else accept[r],
            logz=_single(logz[r]),
            origin=ORIGIN,
            sampling={"temperature": 0.0, "max_tokens": tokens.shape[1]},
            speculative={"proposer": "mtp", "num_speculative_tokens": 3},
        )
        for r in range(len(tokens))
    ]


def _single(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32).astype(np.float64)


def _cut(x: np.ndarray, top_p: float) -> np.ndarray:
    order = np.argsort(-x, axis=2, kind="stable")
    p = np.take_along_axis(np.exp(x) / np.exp(x).sum(axis=2, keepdims=True), order, axis=2)
    kept = np.zeros(x.shape, bool)
    np.put_along_axis(kept, order, p.cumsum(axis=2) - p < top_p, axis=2)
    return np.where(kept, x, -np.inf)


def steps(rng: np.random.Generator, tokens: int, rate: float = 0.7, drafts: int = 3) -> np.ndarray:
    """`accept_num` of an answer: one of the prompt, then drafts that are each accepted with `rate`,
    and one more.
    """
    found = [1]
    while sum(found) < tokens:
        accepted = int(rng.geometric(1 - rate)) if rate < 1 else drafts + 1
        found.append(min(accepted, drafts + 1, tokens - sum(found)))
    return np.array(found)


def swap(record: Record, **changes: object) -> Record:
    """The record with other fields; the answer's length may change."""
    return replace(record, **changes)


def columns(record: Record, which: object) -> Record:
    """The record with some of its columns or in another order; `which` as numpy takes it."""
    return swap(
        record, topk_ids=record.topk_ids[:, which], topk_logprobs=record.topk_logprobs[:, which]
    )


def compared(
    base: list[Record], head: list[Record], aa: list[list[Record]] | None = None
) -> ComparisonOutcome:
    """The verdict on records that are paired by their place."""
    if aa is None:
        collector = Collector()
        collector.add(list(zip(base, head, strict=True)))
        return decide(collector.tally)
    known = Collector()
    for again in aa:
        known.add(list(zip(base, again, strict=True)))
    collector = Collector(calibrated_tolerance(known.tally), calibrated=True)
    collector.add(list(zip(base, head, strict=True)))
    return decide(collector.tally, known.tally)


def keys(outcome: ComparisonOutcome) -> set[str]:
    """The keys of the causes that were named."""
    return {cause.key for cause in outcome.causes}
