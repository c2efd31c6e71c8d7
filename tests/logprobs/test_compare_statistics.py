"""How often two runs of the same code are called wrong, and how often a real drop is seen: by
simulation.
"""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from checks.logprobs.compare import (
    AcceptanceVerdict,
    ComparisonStats,
    acceptance,
    calibrated_tolerance,
    decide,
)
from checks.logprobs.compare.acceptance import POSITIONS, AcceptanceSums
from checks.logprobs.compare.annotate import annotate
from checks.logprobs.compare.collect import NOISE_ULPS
from checks.logprobs.compare.measure import Measured, Requests, measure
from checks.logprobs.compare.rows import LogprobRows, starts, units
from tests.logprobs.simulated import ULP, bfloat16

REQUESTS, TOKENS, VOCAB, K = 10, 12, 12, 4
BATCH = 500  # pairs that are measured in one go


def logits(rng, pairs):
    """Greedy rows, a few near ties; the log-sum-exp is of the whole small vocabulary."""
    return bfloat16(rng.normal(0, 1.5, (pairs * REQUESTS * TOKENS, VOCAB)) + 9)


def run(x):
    """The rows of one run with these logits."""
    logz = np.log(np.exp(x).sum(axis=1)).astype(np.float32).astype(np.float64)
    order = np.argsort(-x, axis=1, kind="stable")[:, :K]
    table = (
        (np.take_along_axis(x, order, axis=1) - logz[:, None]).astype(np.float32).astype(np.float64)
    )
    ranks = (x >= np.take_along_axis(x, order[:, :1], axis=1)).sum(axis=1)
    length, requests = len(x), len(x) // TOKENS
    position = np.tile(np.arange(TOKENS), requests)
    start = starts(np.full(requests, TOKENS))
    return LogprobRows(
        start,
        order[:, 0],
        table[:, 0],
        ranks,
        logz,
        np.full(length, np.nan),
        order,
        table,
        position,
        position,
    )


def rounded(x, rng):
    """A run in which sums were made in another order: logits are an ulp up or down."""
    return run(x + ULP * rng.integers(-1, 2, x.shape))


def noisy(x, rng, spread):
    """A run with noise of that many ulps, then rounded."""
    return run(bfloat16(x + spread * ULP * rng.standard_normal(x.shape)))


def measured(base, head, tolerance=NOISE_ULPS):
    requests = len(base.start) - 1
    least, _ = units(base, head, ["bfloat16"] * requests)
    known = Requests(np.ones(requests, bool), least, least)
    return measure(base, head, known, np.zeros(requests, bool), tolerance)


def parts(whole: Measured, pairs: int):
    """The measured rows of each pair of runs by itself."""
    ends = np.searchsorted(whole.request, np.arange(0, pairs + 1) * REQUESTS)
    for n in range(pairs):
        rows, requests = slice(ends[n], ends[n + 1]), slice(n * REQUESTS, (n + 1) * REQUESTS)
        made = {
            name: getattr(whole, name)[rows]
            for name in ("row", "grade", "ulps", "moved", "rank", "unit")
        }
        made |= {name: getattr(whole, name)[requests] for name in ("split", "split_row", "gap")}
        columns = replace(
            whole.columns,
            **{f.name: getattr(whole.columns, f.name)[rows] for f in fields(whole.columns)},
        )
        yield replace(whole, request=whole.request[rows] - n * REQUESTS, columns=columns, **made)


def tallies(whole, pairs):
    """The tally of each pair."""
    names = [f"r{n}" for n in range(REQUESTS)]
    for part in parts(whole, pairs):
        tally = ComparisonStats()
        tally.counts["pairs"] += REQUESTS
        annotate(tally, part, names)
        yield tally


def acceptances(rng, pairs, requests, steps, rate, drafts=3):
    """Tokens of each step: [pairs, requests, steps]. Requests differ in how easy they are."""
    ease = rng.beta(8 * rate, 8 * (1 - rate), (pairs, requests, 1, 1))
    return 1 + (rng.random((pairs, requests, steps, drafts)) < ease).cumprod(axis=3).sum(axis=3)


def counts(base, head):
    """`acceptance.count` of [requests, steps] arrays, for many at once."""
    values = np.zeros((*base.shape[:-1], POSITIONS + 1, 4), np.int64)
    for column, side in ((0, head), (2, base)):
        values[..., 0, column] = side.sum(axis=-1)
        for place in range(1, 5):
            values[..., place, column] = (side > place).sum(axis=-1)
        values[..., column + 1] = side.shape[-1]
    square = np.einsum("...npi,...npj->...pij", values, values)
    differing = (base != head).any(axis=-1).sum()
    return AcceptanceSums(base.shape[-2], values.sum(axis=-3), square, int(differing))


def test_the_simulation_counts_as_the_comparison_does():
    rng = np.random.default_rng(0)
    base, head = acceptances(rng, 1, 5, 20, 0.7)[0], acceptances(rng, 1, 5, 20, 0.5)[0]
    first = np.ones((5, 1), int)
    pairs = zip(np.hstack([first, base]), np.hstack([first, head]), strict=True)
    ours, theirs = counts(base, head), acceptance.count(list(pairs))
    assert (ours.total == theirs.total).all()
    assert (ours.square == theirs.square).all()


@pytest.fixture(autouse=True)
def few_examples(monkeypatch):
    """Examples are for people, and cost more here than the verdicts."""
    monkeypatch.setattr("checks.logprobs.compare.annotate.SHOWN", 1)


def wrong(outcomes):
    """How many verdicts do not say that all is well."""
    return sum(not o.safe for o in outcomes)


def test_two_runs_that_round_otherwise_are_not_called_wrong():
    """8,000 pairs whose logits are an ulp apart, without an A/A run."""
    rng = np.random.default_rng(17)
    false_alarms = 0
    for _ in range(8000 // BATCH):
        x = logits(rng, BATCH)
        false_alarms += wrong(decide(t) for t in tallies(measured(run(x), rounded(x, rng)), BATCH))
    assert false_alarms < 8


@pytest.mark.parametrize("spread", [0.6, 3.0])
def test_two_runs_that_are_as_far_apart_as_an_a_a_run_are_not_called_wrong(spread):
    """1,000 pairs of noisy runs of each kind, each with one more run of base."""
    rng = np.random.default_rng(18)
    false_alarms = 0
    for _ in range(1000 // BATCH):
        x = logits(rng, BATCH)
        base, again, head = (noisy(x, rng, spread) for _ in range(3))
        known = list(tallies(measured(base, again), BATCH))
        tolerances = np.array([calibrated_tolerance(t) for t in known])
        for tolerance in np.unique(tolerances):
            which = np.flatnonzero(tolerances == tolerance)
            whole = measured(picked(base, which), picked(head, which), float(tolerance))
            found = tallies(whole, len(which))
            false_alarms += wrong(decide(t, known[n]) for n, t in zip(which, found, strict=True))
    assert not false_alarms


def picked(rows, pairs):
    """The rows of some pairs."""
    size = REQUESTS * TOKENS
    index = (pairs[:, None] * size + np.arange(size)).ravel()
    return rows.take(index, starts(np.full(len(pairs) * REQUESTS, TOKENS)))


def sequence(rng, comparisons, requests, looks):
    """Of many comparisons without a change: whether any number, the tokens a step or a position,
    was called a drop at any look.
    """
    base, head = (acceptances(rng, comparisons, requests, 12, 0.7) for _ in range(2))
    for n in range(comparisons):
        found = [
            d.judged
            for look in looks
            for d in acceptance.decide(counts(base[n, :look], head[n, :look]))
        ]
        yield AcceptanceVerdict.DROP in found


def lowered(rng, steps, change):
    """Steps that lose a token with the probability that takes `change` off their mean."""
    extra = (steps - 1).mean()
    share = change * steps.mean() / extra
    return steps - ((steps > 1) & (rng.random(steps.shape) < share * extra / (steps > 1).mean()))


LOOKS = (30, 60, 120, 240, 400)


def test_no_change_is_called_a_drop_less_than_one_time_in_a_hundred():
    """However often one looks."""
    found = list(sequence(np.random.default_rng(3), 600, 400, LOOKS))
    assert sum(found) / len(found) < 0.01


def test_a_drop_of_five_percent_is_seen_95_times_in_a_hundred():
    """With as many requests as the variance asks for: `information` says how many that is."""
    rng = np.random.default_rng(4)
    pilot = counts(acceptances(rng, 1, 2000, 12, 0.7)[0], acceptances(rng, 1, 2000, 12, 0.7)[0])
    spread = acceptance._variance(pilot, 0) * 2000
    requests = int(np.ceil(2 * acceptance.information(0.005) * spread / np.log(0.95) ** 2))
    base = acceptances(rng, 400, requests, 12, 0.7)
    head = lowered(rng, acceptances(rng, 400, requests, 12, 0.7), 0.05)
    found = [acceptance.decide(counts(b, h))[0].judged for b, h in zip(base, head, strict=True)]
    assert found.count(AcceptanceVerdict.DROP) / len(found) >= 0.95
    assert found.count(AcceptanceVerdict.KEPT) == 0


def test_what_is_said_to_be_missing_is_about_what_is_missing():
    """Undecided comparisons are given the steps they ask for: nearly all are then decided."""
    rng = np.random.default_rng(5)
    decided = 0
    for n in range(60):
        change = 0.05 if n % 2 else 0.0
        base = acceptances(rng, 1, 60, 12, 0.7)[0]
        head = (
            lowered(rng, acceptances(rng, 1, 60, 12, 0.7)[0], change)
            if change
            else acceptances(rng, 1, 60, 12, 0.7)[0]
        )
        open_ = acceptance.decide(counts(base, head))[0]
        if open_.judged is not AcceptanceVerdict.UNDECIDED:
            decided += 1
            continue
        more = int(np.ceil(open_.more / 12))
        base = np.vstack([base, acceptances(rng, 1, more, 12, 0.7)[0]])
        rest = acceptances(rng, 1, more, 12, 0.7)[0]
        head = np.vstack([head, lowered(rng, rest, change) if change else rest])
        decided += (
            acceptance.decide(counts(base, head))[0].judged is not AcceptanceVerdict.UNDECIDED
        )
    assert decided >= 55
