"""What holds for any records: equal ones are identical, order means nothing, and most verdicts are
symmetric.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom, norm

from checks.logprobs.compare import Collector, ComparisonVerdict, decide
from checks.logprobs.compare.acceptance import DROP, FALSE_RED, information
from checks.logprobs.compare.exact_test import more_than
from checks.logprobs.compare.tally import ComparisonStats
from checks.logprobs.record import ABSENT, Record, RecordOrigin, prompt_hash
from tests.logprobs.simulated import Logits, columns, compared, records, swap

NUMBERS = st.one_of(
    st.floats(-30, 0, width=32),
    st.just(float("-inf")),
    st.just(float("nan")),
    st.just(0.0),
    st.just(float("inf")),
)


@st.composite
def any_record(draw, name="r"):
    """Any record that the reader lets through, sensible or not."""
    n, k = draw(st.integers(0, 6)), draw(st.integers(0, 4))
    ids = draw(
        st.lists(st.lists(st.integers(-1, 6), min_size=k, max_size=k), min_size=n, max_size=n)
    )
    values = draw(st.lists(st.lists(NUMBERS, min_size=k, max_size=k), min_size=n, max_size=n))
    table = np.array(ids, np.int64).reshape(n, k)
    scores = np.array(values, np.float64).reshape(n, k)
    if n and k and draw(st.booleans()):
        table[0, -1], scores[0, -1] = ABSENT, np.nan
    cut = draw(st.lists(st.integers(0, n), max_size=3)) if n else []
    accept = np.diff([0, *sorted(cut), n]) if draw(st.booleans()) else None

    def floats():
        return np.array(draw(st.lists(NUMBERS, min_size=n, max_size=n)), np.float64)

    return Record(
        name,
        ints(draw, n, -1, 6),
        floats(),
        table,
        scores,
        prompt_hash(name),
        ranks=ints(draw, n, 0, 9) if draw(st.booleans()) else None,
        accept_num=accept,
        logz=floats() if draw(st.booleans()) else None,
        origin=RecordOrigin(
            logits_dtype=draw(st.sampled_from(["bfloat16", "float32", "unknown", "int4"]))
        ),
        sampling={"temperature": draw(st.sampled_from([0.0, 1.0]))},
    )


def ints(draw, n, least, most):
    return np.array(draw(st.lists(st.integers(least, most), min_size=n, max_size=n)), np.int64)


@given(st.lists(any_record(), min_size=1, max_size=3))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_what_is_equal_is_identical(found):
    outcome = compared(found, found)
    assert outcome.verdict is (
        ComparisonVerdict.IDENTICAL
        if outcome.tally.counts["rows"]
        else ComparisonVerdict.INCONCLUSIVE
    )


@given(any_record(), any_record())
@settings(max_examples=120, deadline=None, derandomize=True)
def test_any_two_records_get_a_verdict_and_the_same_one_the_other_way_round(base, head):
    there, back = compared([base], [head]), compared([head], [base])
    assert there.verdict is back.verdict
    assert there.safe == back.safe
    assert there.tally.most == back.tally.most


@given(st.integers(0, 2**32 - 1), st.sampled_from(["noise", "narrow", "ties", "wrong", "token"]))
@settings(max_examples=25, deadline=None)
def test_the_order_of_requests_and_of_columns_means_nothing(seed, what):
    rng = np.random.default_rng(seed)
    base, head = two_runs(rng, what)
    plain = compared(base, head)
    order = rng.permutation(len(base))
    assert told(compared([base[n] for n in order], [head[n] for n in order])) == told(plain)
    orders = [rng.permutation(r.k) for r in base]
    turned = [columns(r, c) for r, c in zip(base, orders, strict=True)]
    if head[0].k == base[0].k:
        other = [columns(r, c) for r, c in zip(head, orders, strict=True)]
        assert compared(turned, other).verdict is plain.verdict
        if plain.verdict not in (ComparisonVerdict.IDENTICAL, ComparisonVerdict.COLUMNS_ONLY):
            assert compared(turned, head).verdict is plain.verdict


def two_runs(rng, what):
    logits = Logits.random(rng, 12, 10, 20)
    base = records(logits)
    if what == "noise":
        return base, records(logits.noisy(rng))
    if what == "narrow":
        return base, records(logits, k=3)
    if what == "ties":
        logits.values[:, :, :4] = 7.0
        base = records(logits)
        return base, [columns(r, np.array([0, 2, 1, 3, 4])) for r in base]
    if what == "wrong":
        return base, [swap(r, logprobs=np.roll(r.logprobs, 1)) for r in base]
    tokens = np.array([r.tokens for r in base])
    tokens[3, 4] = base[3].topk_ids[4, 1]
    return base, records(logits, tokens=tokens)


def told(outcome):
    """Everything a report is written from, but for the examples' rows, which are the same where
    they are ordered.
    """
    tally = outcome.tally
    return (
        outcome.verdict,
        outcome.reasons,
        outcome.causes,
        outcome.acceptance,
        tally.counts,
        tally.most,
        tally.ulps.tolist(),
        tally.request_ulps.tolist(),
        tally.places.sum.tolist(),
        tally.examples.get("split"),
    )


@given(st.integers(0, 2**32 - 1), st.integers(1, 11))
@settings(max_examples=15, deadline=None)
def test_a_file_in_parts_is_the_file(seed, at):
    """As many processes as one likes count the same."""
    rng = np.random.default_rng(seed)
    base, head = two_runs(rng, "noise")
    whole = compared(base, head)
    tally = ComparisonStats()
    for part in (slice(at), slice(at, None)):
        collector = Collector()
        collector.add(list(zip(base[part], head[part], strict=True)))
        tally.merge(collector.tally)
    assert told(decide(tally)) == told(whole)


@given(st.integers(0, 40), st.integers(1, 400), st.integers(0, 40), st.integers(1, 400))
@settings(deadline=None)
def test_fishers_exact_test(known, of, found, size):
    known, found = min(known, of), min(found, size)
    p = float(hypergeom.sf(found - 1, of + size, known + found, size))
    if abs(p / 1e-4 - 1) > 1e-6:
        assert more_than(known, of, found, size) == (p < 1e-4)


@pytest.mark.parametrize("alpha", [0.01, 0.005, 1e-4])
def test_the_information_that_is_needed(alpha):
    """The likelihood ratio is normal with mean m and variance 2 m: 95 % of it is beyond the bound
    at that m.
    """
    m = information(alpha)
    assert norm.sf(np.log(1 / alpha), m, np.sqrt(2 * m)) == pytest.approx(0.95, abs=1e-4)


def test_the_page_says_how_many_steps_are_needed():
    page = (Path(__file__).resolve().parents[2] / "checks/logprobs/compare/VERDICTS.md").read_text()
    spreads, needed = (
        re.search(rf"^\| {row}[^|]*\|(.*)\|$", page, re.M)[1] for row in ("relative", "steps on")
    )
    variance = np.log(1 - DROP) ** 2 / (2 * information(FALSE_RED / 2))
    for spread, steps in zip(spreads.split("|"), needed.split("|"), strict=True):
        assert f"{round(2 * float(spread) ** 2 / variance):,}" == steps.strip()


def test_the_page_has_every_verdict():
    page = (Path(__file__).resolve().parents[2] / "checks/logprobs/compare/VERDICTS.md").read_text()
    assert set(re.findall(r"^\| `([a-z-]+)`", page, re.M)) == set(ComparisonVerdict)
