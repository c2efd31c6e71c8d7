"""Records with one thing wrong, each with the verdict that it must get and the cause that must be
named.
"""

from __future__ import annotations

import numpy as np
import pytest

from checks.logprobs.compare import ComparisonVerdict
from tests.logprobs.mutated import (
    NO_ID,
    ONE_ID,
    ZEROS,
    cut,
    gathered,
    head_of,
    narrow,
    one_row,
    origin,
    padded,
    place,
    ragged,
)
from tests.logprobs.simulated import ULP, Logits, bfloat16, columns, compared, keys, records, swap

V = ComparisonVerdict


# name: (change of one record, which records, verdict, a cause that is named)
EACH = {
    "nothing": (lambda r: r, slice(None), V.IDENTICAL, None),
    "fewer columns": (narrow(3), slice(None), V.COLUMNS_ONLY, "cause-width"),
    "no columns": (narrow(0), slice(None), V.COLUMNS_ONLY, "cause-width"),
    "fewer columns in some requests": (narrow(2), slice(0, 40, 3), V.COLUMNS_ONLY, None),
    "fewer columns in some rows": (ragged, slice(0, 4), V.COLUMNS_ONLY, "cause-ragged"),
    "columns in another order": (
        lambda r: columns(r, slice(None, None, -1)),
        slice(None),
        V.TIE_REORDER,
        "cause-unsorted",
    ),
    "every row is the next": (
        lambda r: gathered(r, np.minimum(np.arange(40) + 1, 39)),
        slice(None),
        V.REGRESSION,
        "cause-row",
    ),
    "every row is the first of its step": (
        lambda r: gathered(r, np.repeat(np.cumsum(r.accept_num) - r.accept_num, r.accept_num)),
        slice(None),
        V.REGRESSION,
        "cause-row",
    ),
    "the third row of each step is wrong": (
        lambda r: gathered(r, np.arange(40) + np.where(place(r) == 2, -2, 0)),
        slice(None),
        V.REGRESSION,
        "cause-step-place",
    ),
    "one row of one request is the one before": (
        lambda r: gathered(r, np.where(np.arange(40) == 5, 4, np.arange(40))),
        slice(0, 1),
        V.REGRESSION,
        "cause-row",
    ),
    "ranks one more": (
        lambda r: swap(r, ranks=r.ranks + 1),
        slice(None),
        V.REGRESSION,
        "cause-rank-offset",
    ),
    "ranks from zero": (
        lambda r: swap(r, ranks=r.ranks - 1),
        slice(None),
        V.REGRESSION,
        "cause-rank-offset",
    ),
    "one rank one more": (lambda r: one_row(r, ranks=2), slice(0, 1), V.REGRESSION, None),
    "three ulp in one row": (
        lambda r: one_row(r, logprobs=r.logprobs[5] - 3 * ULP),
        slice(0, 1),
        V.REGRESSION,
        None,
    ),
    "another base of the logarithm": (
        lambda r: swap(
            r, logprobs=r.logprobs / np.log(2), topk_logprobs=r.topk_logprobs / np.log(2)
        ),
        slice(None),
        V.REGRESSION,
        "cause-scaled",
    ),
    "logprobs of zero": (
        lambda r: swap(r, logprobs=0 * r.logprobs),
        slice(None),
        V.REGRESSION,
        "cause-zero",
    ),
    "logprobs of the token before": (
        lambda r: swap(r, logprobs=np.roll(r.logprobs, 1)),
        slice(None),
        V.REGRESSION,
        None,
    ),
    "logprobs of the second token": (
        lambda r: swap(r, logprobs=r.topk_logprobs[:, 1]),
        slice(0, 1),
        V.REGRESSION,
        None,
    ),
    "only the first logprob of a step": (
        lambda r: swap(r, logprobs=np.where(place(r) == 0, r.logprobs, np.nan)),
        slice(None),
        V.REGRESSION,
        "cause-nan",
    ),
    "one NaN": (lambda r: one_row(r, logprobs=np.nan), slice(0, 1), V.REGRESSION, "cause-nan"),
    "one column of NaN": (
        lambda r: one_row(r, topk_logprobs=np.nan),
        slice(0, 1),
        V.REGRESSION,
        "cause-nan",
    ),
    "one -inf": (lambda r: one_row(r, logprobs=-np.inf), slice(0, 1), V.REGRESSION, "cause-inf"),
    "padding of zeros": (
        lambda r: padded(r, 2, **ZEROS),
        slice(3, 5),
        V.REGRESSION,
        "cause-padding",
    ),
    "padding of -1": (lambda r: padded(r, 1, **NO_ID), slice(3, 4), V.REGRESSION, "cause-padding"),
    "padding of one id": (
        lambda r: padded(r, 1, **ONE_ID),
        slice(3, 4),
        V.REGRESSION,
        "cause-padding",
    ),
    "padding that repeats the last row": (
        lambda r: padded(r, 2),
        slice(3, 4),
        V.REGRESSION,
        "cause-padding",
    ),
    "the second column is missing": (
        lambda r: columns(r, [0, 2, 3, 4]),
        slice(None),
        V.REGRESSION,
        None,
    ),
    "the answer ends early": (
        lambda r: cut(r, 30),
        slice(0, 2),
        V.TOKEN_DIVERGENCE,
        None,
    ),
    "another token far from a tie": (
        lambda r: one_row(r, tokens=r.topk_ids[5, 1], logprobs=r.topk_logprobs[5, 1], ranks=2),
        slice(0, 3),
        V.TOKEN_DIVERGENCE,
        None,
    ),
    "another device": (lambda r: origin(r, device="gpu-2"), slice(None), V.NOT_COMPARABLE, None),
    "another mode": (lambda r: origin(r, mode="processed"), slice(None), V.NOT_COMPARABLE, None),
    "another model": (lambda r: origin(r, model="large"), slice(None), V.NOT_COMPARABLE, None),
    "another dtype": (
        lambda r: origin(r, logits_dtype="float32"),
        slice(None),
        V.NOT_COMPARABLE,
        None,
    ),
    "another prompt": (
        lambda r: swap(r, prompt_sha256="f" * 64),
        slice(0, 1),
        V.NOT_COMPARABLE,
        None,
    ),
    "another seed": (
        lambda r: swap(r, sampling={**r.sampling, "seed": 5}),
        slice(0, 1),
        V.NOT_COMPARABLE,
        None,
    ),
    "more columns were asked for": (
        lambda r: swap(r, sampling={**r.sampling, "top_logprobs": 20}),
        slice(None),
        V.IDENTICAL,
        None,
    ),
    "another version": (lambda r: origin(r, engine_version="1.1"), slice(None), V.IDENTICAL, None),
}


@pytest.mark.parametrize("name", EACH)
def test_one_mutation(base, name):
    change, where, verdict, cause = EACH[name]
    outcome = compared(base, head_of(base, change, where))
    assert outcome.verdict is verdict, (outcome.reasons, outcome.causes)
    assert outcome.safe == (verdict in (V.IDENTICAL, V.COLUMNS_ONLY, V.TIE_REORDER))
    if cause:
        assert cause in keys(outcome), outcome.causes
    # what is wrong with head against base is wrong with base against head
    assert compared(head_of(base, change, where), base).verdict is verdict


def test_rows_of_another_request(base):
    head = [
        swap(r, topk_ids=base[n - 1].topk_ids, topk_logprobs=base[n - 1].topk_logprobs)
        if n % 5 == 1
        else r
        for n, r in enumerate(base)
    ]
    outcome = compared(base, head)
    assert outcome.verdict is V.REGRESSION
    assert any(
        "request-1 ← request-0" in c.args["names"]
        for c in outcome.causes
        if c.key == "cause-row-of-other"
    )


def test_swapped_requests(base):
    names = ("tokens", "logprobs", "topk_ids", "topk_logprobs", "ranks", "logz", "accept_num")
    head = list(base)
    for mine, other in ((3, 8), (8, 3)):
        head[mine] = swap(base[mine], **{name: getattr(base[other], name) for name in names})
    outcome = compared(base, head)
    assert outcome.verdict is V.REGRESSION
    swapped = next(c for c in outcome.causes if c.key == "cause-swapped")
    assert swapped.args["names"] == ["request-3 ← request-8", "request-8 ← request-3"]


@pytest.mark.parametrize("temperature", [0.7, 1.4])
def test_processed_where_raw_was_meant(logits, temperature):
    heated = [swap(r, sampling={"temperature": temperature}) for r in records(logits)]
    wrong = records(logits, temperature=temperature)
    head = [swap(r, sampling={"temperature": temperature}) for r in wrong]
    outcome = compared(heated, head)
    assert outcome.verdict is V.REGRESSION
    assert next(c for c in outcome.causes if c.key == "cause-processed").args["side"] == "head"
    assert (
        next(c for c in compared(head, heated).causes if c.key == "cause-processed").args["side"]
        == "base"
    )


@pytest.fixture(scope="module")
def flat_logits():
    """Flat rows, of which a top-p cuts off a part but never down to three tokens."""
    values = np.random.default_rng(3).uniform(10, 11.5, (30, 20, 40))
    return Logits(bfloat16(values))


def test_cut_and_normalised_again_where_raw_was_meant(flat_logits):
    outcome = compared(records(flat_logits), records(flat_logits, top_p=0.9))
    assert outcome.verdict is V.REGRESSION
    assert "cause-renormalised" in keys(outcome)


def test_a_narrow_table_without_the_second_best(base):
    wide = [columns(r, [0, 4, 1, 2, 3]) for r in base]
    assert compared(wide, [columns(r, [0, 4]) for r in base]).verdict is V.REGRESSION


def test_what_both_sides_have_wrong_is_equal(base):
    odd = [
        one_row(r, logprobs=np.nan) if n % 2 else one_row(r, topk_logprobs=-np.inf)
        for n, r in enumerate(base)
    ]
    odd[0] = padded(odd[0], 2, **NO_ID)
    outcome = compared(odd, odd)
    assert outcome.verdict is V.IDENTICAL
    assert outcome.tally.counts["padding-head-no-id"] == 2


@pytest.mark.parametrize(
    "name",
    [
        "every row is the next",
        "one row of one request is the one before",
        "one NaN",
        "ranks one more",
        "padding of -1",
        "another base of the logarithm",
    ],
)
def test_a_second_run_of_base_excuses_nothing_else(logits, base, name):
    change, where, *_ = EACH[name]
    again, head = (
        records(logits.noisy(np.random.default_rng(11))),
        records(logits.noisy(np.random.default_rng(2))),
    )
    assert compared(base, head_of(head, change, where), [again]).verdict is V.REGRESSION
