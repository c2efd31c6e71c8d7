"""Whether head accepts fewer draft tokens than base: a sequential test on the ratio of two means.

The numbers of a request are counted together, and those of base and head for the same request are a
pair. What is estimated is theta = ln(head / base) of tokens a step, or of acceptances of one draft
position a step; its variance V comes from the requests' influences (the delta method), so that
steps of a request may depend on each other.

Wald's sequential probability ratio test of "no change" against "down by 5 %" has the log-likelihood
ratio

    L = ln(0.95) / V * (theta - ln(0.95) / 2)

- `DROP` where L >= ln(1 / alpha): however often one looks, that happens with a probability of at
  most alpha (Ville).
- `KEPT` where L <= ln(beta).
- `UNDECIDED` in between.

With m = ln(0.95)^2 / (2 V), L is normal with mean m (-m without a change) and variance 2 m. A drop
of 5 % is found with a probability of 95 % once m - 1.645 sqrt(2 m) >= ln(1 / alpha), so for alpha =
0.5 % (the other half of the 1 % is shared by the positions) at m = 14.0 or V = 9.4e-5. Steps whose
number of tokens has a relative spread c need 2 c^2 / V of them on each side: about 5,300 for c =
0.5, fewer where pairs go together.

Source: Wald, Sequential Tests of Statistical Hypotheses, 1945; Ville, Etude critique de la notion
de collectif, 1939.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import ceil, log, sqrt

import numpy as np

from checks.logprobs.record import Ints

DROP = 0.05
FALSE_RED = 0.01
MISS = 0.05
FEWEST = 30
"""Requests below which the variance is not known well enough to decide anything."""
POSITIONS = 16
"""Draft positions that are counted, the rest with the last."""

_QUANTILE = 1.6449  # of the normal distribution at 95 %
_THETA = log(1 - DROP)


class AcceptanceVerdict(StrEnum):
    EQUAL = "equal"  # nothing differs
    KEPT = "kept"
    DROP = "drop"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class AcceptanceSums:
    """Sums over requests, which add up: `total` [P + 1, 4] of (tokens head, steps head, tokens
    base, steps base) and `square` [P + 1, 4, 4] of their products; entry 0 counts tokens, entry j
    acceptances of the draft at place j.
    """

    requests: int
    total: Ints
    square: Ints
    differing: int  # requests whose steps are not the same

    def __add__(self, other: AcceptanceSums) -> AcceptanceSums:
        return AcceptanceSums(
            self.requests + other.requests,
            self.total + other.total,
            self.square + other.square,
            self.differing + other.differing,
        )


@dataclass(frozen=True, slots=True)
class Decision:
    """One number on both sides, tokens a step or acceptances a step. `low` and `high` bound head /
    base at 95 %; `more` is how many steps more, on each side, decide with 95 %: 0 where nothing is
    open.
    """

    base: float
    head: float
    steps_base: int
    steps_head: int
    judged: AcceptanceVerdict
    low: float
    high: float
    more: int

    @property
    def change(self) -> float:
        """Head / base - 1."""
        return self.head / self.base - 1 if self.base else 0.0


def nothing() -> AcceptanceSums:
    """No requests."""
    size = POSITIONS + 1
    return AcceptanceSums(0, np.zeros((size, 4), np.int64), np.zeros((size, 4, 4), np.int64), 0)


def count(pairs: list[tuple[Ints, Ints]]) -> AcceptanceSums:
    """Of the `accept_num` of base and head, request by request. The first step, the prompt's, has
    no drafts.
    """
    if not pairs:
        return nothing()
    head, base = _counted([head for _, head in pairs]), _counted([base for base, _ in pairs])
    values = np.concatenate([head, base], axis=2)
    differing = sum(not np.array_equal(base, head) for base, head in pairs)
    square = np.einsum("npi,npj->pij", values, values)
    return AcceptanceSums(len(pairs), values.sum(axis=0), square, differing)


def _counted(requests: list[Ints]) -> Ints:
    """[R, P + 1, 2]: tokens, then the steps that accepted place 1, 2...; and the steps. One without
    tokens is none.
    """
    size = POSITIONS + 2
    steps = np.concatenate([steps[1:] for steps in requests])
    of = np.repeat(np.arange(len(requests)), [max(len(steps) - 1, 0) for steps in requests])
    of, steps = of[steps > 0], steps[steps > 0]
    as_many = np.bincount(
        of * size + np.minimum(steps, size - 1), minlength=len(requests) * size
    ).reshape(-1, size)
    counted = np.empty((len(requests), size - 1, 2), np.int64)
    counted[..., 0] = as_many[:, :0:-1].cumsum(axis=1)[
        :, ::-1
    ]  # steps with at least 1, 2, ... tokens
    counted[..., 1] = counted[:, :1, 0]
    counted[:, 0, 0] = np.bincount(of, weights=steps, minlength=len(requests))
    return counted


def decide(accepted: AcceptanceSums) -> list[Decision]:
    """Tokens a step first, then each draft position that either side ever accepted. All false reds
    together: 1 %.
    """
    used = [
        0,
        *(p for p in range(1, POSITIONS + 1) if accepted.total[p, 0] or accepted.total[p, 2]),
    ]
    share = FALSE_RED / 2
    alphas = [share, *(share / (len(used) - 1) for _ in used[1:])]
    return [_decide(accepted, p, alpha) for p, alpha in zip(used, alphas, strict=True)]


def information(alpha: float, reached: float = 0.0) -> float:
    """The m at which a change of 5 %, or none, is told with 95 % from a log-likelihood ratio of
    `reached` on.
    """

    def needed(distance: float) -> float:
        half = _QUANTILE / sqrt(2)
        return float((half + sqrt(half * half + distance)) ** 2)

    return max(needed(log(1 / alpha) - reached), needed(reached - log(MISS)))


def _decide(accepted: AcceptanceSums, place: int, alpha: float) -> Decision:
    tokens_head, steps_head, tokens_base, steps_base = (int(v) for v in accepted.total[place])
    base, head = tokens_base / max(steps_base, 1), tokens_head / max(steps_head, 1)
    if not accepted.differing:
        return Decision(base, head, steps_base, steps_head, AcceptanceVerdict.EQUAL, 1.0, 1.0, 0)
    # Half an acceptance more on either side keeps a position that was never accepted from being
    # infinitely worse.
    theta = log((tokens_head + 0.5) / max(steps_head, 1)) - log(
        (tokens_base + 0.5) / max(steps_base, 1)
    )
    spread = max(_variance(accepted, place), 1e-12)
    held = _THETA**2 / (2 * spread)
    ratio = _THETA / spread * (theta - _THETA / 2)
    judged = AcceptanceVerdict.UNDECIDED
    if accepted.requests >= FEWEST and ratio >= log(1 / alpha):
        judged = AcceptanceVerdict.DROP
    elif accepted.requests >= FEWEST and ratio <= log(MISS):
        judged = AcceptanceVerdict.KEPT
    more = 0
    if judged is AcceptanceVerdict.UNDECIDED:
        within = min(max(ratio, log(MISS)), log(1 / alpha))
        factor = max(information(alpha, within) / held, FEWEST / max(accepted.requests, 1) - 1)
        more = ceil(factor * max(steps_base, steps_head))
    bound = 1.96 * sqrt(spread)
    return Decision(
        base,
        head,
        steps_base,
        steps_head,
        judged,
        float(np.exp(theta - bound)),
        float(np.exp(theta + bound)),
        more,
    )


def _variance(accepted: AcceptanceSums, place: int) -> float:
    """Of theta, from the requests' influences, whose sum is zero."""
    total = accepted.total[place] + np.array([0.5, 0.0, 0.5, 0.0])
    scale = np.array([1.0, -1.0, -1.0, 1.0]) / np.maximum(total, 1)
    square = float(scale @ accepted.square[place].astype(np.float64) @ scale)
    return square * accepted.requests / max(accepted.requests - 1, 1)
