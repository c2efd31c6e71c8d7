"""Records with one thing wrong, each with the verdict that it must get and the cause that must be named."""

from __future__ import annotations

import numpy as np
import pytest

from checks.logprobs.compare import Verdict
from checks.logprobs.record import ABSENT
from tests.logprobs.simulated import ULP, Logits, bfloat16, compared, keys, records, steps, swap

V = Verdict


@pytest.fixture(scope="module")
def logits():
    return Logits.random(np.random.default_rng(7))


@pytest.fixture(scope="module")
def base(logits):
    return records(logits)


def head_of(base, change, where=slice(None)):
    """Each record of `where` changed, the rest as it is."""
    changed = set(range(len(base))[where])
    return [change(r) if n in changed else r for n, r in enumerate(base)]


def rng():
    return np.random.default_rng(11)


def gathered(record, source):
    """Values read from row `source[i]` for token i: the chosen token's too, where it is among the columns."""
    ids, values = record.topk_ids[source], record.topk_logprobs[source]
    here = ids == record.tokens[:, None]
    found = np.where(here.any(axis=1), np.where(here, values, 0).sum(axis=1), values[:, -1] - 1)
    return swap(record, topk_ids=ids, topk_logprobs=values, logprobs=found, logz=record.logz[source])


def padded(record, rows, **row):
    """`rows` more rows in the middle, counted as accepted tokens of their step."""
    middle = int(record.accept_num[: len(record.accept_num) // 2].sum())
    accept = record.accept_num.copy()
    accept[len(accept) // 2 - 1] += rows
    made = {}
    for name in ("tokens", "logprobs", "topk_ids", "topk_logprobs", "ranks", "logz"):
        values = getattr(record, name)
        extra = np.repeat(values[middle - 1 : middle], rows, axis=0)
        if row:
            extra = np.full_like(extra, row[name])
        made[name] = np.concatenate([values[:middle], extra, values[middle:]])
    return swap(record, accept_num=accept, **made)


def narrow(k):
    return lambda r: swap(r, topk_ids=r.topk_ids[:, :k], topk_logprobs=r.topk_logprobs[:, :k])


def one_row(record, **values):
    """Row 5 with other values."""
    made = {}
    for name, value in values.items():
        made[name] = getattr(record, name).copy()
        made[name][5] = value
    return swap(record, **made)


def ragged(record):
    ids, values = record.topk_ids.copy(), record.topk_logprobs.copy()
    ids[3:6, 3:], values[3:6, 3:] = ABSENT, np.nan
    return swap(record, topk_ids=ids, topk_logprobs=values)


def dropped_column(record):
    """The second best token is left out of the table."""
    keep = [0, 2, 3, 4]
    return swap(record, topk_ids=record.topk_ids[:, keep], topk_logprobs=record.topk_logprobs[:, keep])


ZEROS = {"tokens": 0, "logprobs": 0.0, "topk_ids": 0, "topk_logprobs": 0.0, "ranks": 0, "logz": 0.0}
NO_ID = {"tokens": -1, "logprobs": 0.0, "topk_ids": -1, "topk_logprobs": 0.0, "ranks": 0, "logz": 0.0}
ONE_ID = {"tokens": 9, "logprobs": -2.0, "topk_ids": 9, "topk_logprobs": -2.0, "ranks": 1, "logz": 3.0}

# name: (change of one record, which records, verdict, a cause that is named)
EACH = {
    "nothing": (lambda r: r, slice(None), V.IDENTICAL, None),
    "fewer columns": (narrow(3), slice(None), V.COLUMNS_ONLY, "cause-width"),
    "no columns": (narrow(0), slice(None), V.COLUMNS_ONLY, "cause-width"),
    "fewer columns in some requests": (narrow(2), slice(0, 40, 3), V.COLUMNS_ONLY, None),
    "fewer columns in some rows": (ragged, slice(0, 4), V.COLUMNS_ONLY, "cause-ragged"),
    "columns in another order": (
        lambda r: swap(r, topk_ids=r.topk_ids[:, ::-1], topk_logprobs=r.topk_logprobs[:, ::-1]),
        slice(None), V.TIE_REORDER, "cause-unsorted",
    ),
    "every row is the next": (
        lambda r: gathered(r, np.minimum(np.arange(40) + 1, 39)), slice(None), V.REGRESSION, "cause-row",
    ),
    "every row is the first of its step": (
        lambda r: gathered(r, np.repeat(np.cumsum(r.accept_num) - r.accept_num, r.accept_num)),
        slice(None), V.REGRESSION, "cause-row",
    ),
    "the third row of each step is wrong": (
        lambda r: gathered(r, np.arange(40) + np.where(place(r) == 2, -2, 0)),
        slice(None), V.REGRESSION, "cause-step-place",
    ),
    "one row of one request is the one before": (
        lambda r: gathered(r, np.where(np.arange(40) == 5, 4, np.arange(40))), slice(0, 1), V.REGRESSION, "cause-row",
    ),
    "ranks one more": (lambda r: swap(r, ranks=r.ranks + 1), slice(None), V.REGRESSION, "cause-rank-offset"),
    "ranks from zero": (lambda r: swap(r, ranks=r.ranks - 1), slice(None), V.REGRESSION, "cause-rank-offset"),
    "one rank one more": (lambda r: one_row(r, ranks=2), slice(0, 1), V.REGRESSION, None),
    "three ulp in one row": (
        lambda r: one_row(r, logprobs=r.logprobs[5] - 3 * ULP), slice(0, 1), V.REGRESSION, None,
    ),
    "another base of the logarithm": (
        lambda r: swap(r, logprobs=r.logprobs / np.log(2), topk_logprobs=r.topk_logprobs / np.log(2)),
        slice(None), V.REGRESSION, "cause-scaled",
    ),
    "logprobs of zero": (lambda r: swap(r, logprobs=0 * r.logprobs), slice(None), V.REGRESSION, "cause-zero"),
    "logprobs of the token before": (
        lambda r: swap(r, logprobs=np.roll(r.logprobs, 1)), slice(None), V.REGRESSION, None,
    ),
    "logprobs of the second token": (
        lambda r: swap(r, logprobs=r.topk_logprobs[:, 1]), slice(0, 1), V.REGRESSION, None,
    ),
    "only the first logprob of a step": (
        lambda r: swap(r, logprobs=np.where(place(r) == 0, r.logprobs, np.nan)),
        slice(None), V.REGRESSION, "cause-nan",
    ),
    "one NaN": (lambda r: one_row(r, logprobs=np.nan), slice(0, 1), V.REGRESSION, "cause-nan"),
    "one column of NaN": (lambda r: one_row(r, topk_logprobs=np.nan), slice(0, 1), V.REGRESSION, "cause-nan"),
    "one -inf": (lambda r: one_row(r, logprobs=-np.inf), slice(0, 1), V.REGRESSION, "cause-inf"),
    "padding of zeros": (lambda r: padded(r, 2, **ZEROS), slice(3, 5), V.REGRESSION, "cause-padding"),
    "padding of -1": (lambda r: padded(r, 1, **NO_ID), slice(3, 4), V.REGRESSION, "cause-padding"),
    "padding of one id": (lambda r: padded(r, 1, **ONE_ID), slice(3, 4), V.REGRESSION, "cause-padding"),
    "padding that repeats the last row": (lambda r: padded(r, 2), slice(3, 4), V.REGRESSION, "cause-padding"),
    "a column is missing": (dropped_column, slice(None), V.REGRESSION, None),
    "the answer ends early": (
        lambda r: cut(r, 30), slice(0, 2), V.TOKEN_DIVERGENCE, None,
    ),
    "another token far from a tie": (
        lambda r: one_row(r, tokens=r.topk_ids[5, 1], logprobs=r.topk_logprobs[5, 1], ranks=2),
        slice(0, 3), V.TOKEN_DIVERGENCE, None,
    ),
    "another device": (lambda r: origin(r, device="gpu-2"), slice(None), V.NOT_COMPARABLE, None),
    "another mode": (lambda r: origin(r, mode="processed"), slice(None), V.NOT_COMPARABLE, None),
    "another model": (lambda r: origin(r, model="large"), slice(None), V.NOT_COMPARABLE, None),
    "another dtype": (lambda r: origin(r, logits_dtype="float32"), slice(None), V.NOT_COMPARABLE, None),
    "another prompt": (lambda r: swap(r, prompt_sha256="f" * 64), slice(0, 1), V.NOT_COMPARABLE, None),
    "another seed": (lambda r: swap(r, sampling={**r.sampling, "seed": 5}), slice(0, 1), V.NOT_COMPARABLE, None),
    "more columns were asked for": (
        lambda r: swap(r, sampling={**r.sampling, "top_logprobs": 20}), slice(None), V.IDENTICAL, None,
    ),
    "another version": (lambda r: origin(r, engine_version="1.1"), slice(None), V.IDENTICAL, None),
}  # fmt: skip


def place(record):
    ends = np.cumsum(record.accept_num)
    return np.arange(len(record)) - np.repeat(ends - record.accept_num, record.accept_num)


def origin(record, **changes):
    from dataclasses import replace

    return swap(record, origin=replace(record.origin, **changes))


def cut(record, n):
    accept = np.minimum(record.accept_num, np.maximum(n - (np.cumsum(record.accept_num) - record.accept_num), 0))
    names = ("tokens", "logprobs", "topk_ids", "topk_logprobs", "ranks", "logz")
    return swap(record, accept_num=accept[accept > 0], **{name: getattr(record, name)[:n] for name in names})


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
        swap(r, topk_ids=base[n - 1].topk_ids, topk_logprobs=base[n - 1].topk_logprobs) if n % 5 == 1 else r
        for n, r in enumerate(base)
    ]
    outcome = compared(base, head)
    assert outcome.verdict is V.REGRESSION
    assert any("request-1 ← request-0" in c.args["names"] for c in outcome.causes if c.key == "cause-row-of-other")


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
    assert next(c for c in compared(head, heated).causes if c.key == "cause-processed").args["side"] == "base"


def test_cut_and_normalised_again_where_raw_was_meant(rng_logits):
    outcome = compared(records(rng_logits), records(rng_logits, top_p=0.9))
    assert outcome.verdict is V.REGRESSION
    assert "cause-renormalised" in keys(outcome)


@pytest.fixture(scope="module")
def rng_logits():
    """Flat rows, of which a top-p cuts off a part but never down to three tokens."""
    values = np.random.default_rng(3).uniform(10, 11.5, (30, 20, 40))
    return Logits(bfloat16(values))


def tied_logits():
    values = Logits.random(rng(), tokens=30).values
    values[:, :, :6] = 7.5  # tokens 0 to 5 share the second place in every row
    return Logits(values)


def turned(record):
    """The same rows with ties in the order of an unstable top-k: higher ids first."""
    order = np.lexsort((-record.topk_ids, -record.topk_logprobs), axis=1)
    return swap(
        record,
        topk_ids=np.take_along_axis(record.topk_ids, order, axis=1),
        topk_logprobs=np.take_along_axis(record.topk_logprobs, order, axis=1),
    )


def test_ties_in_another_order():
    base = records(tied_logits(), k=8)
    outcome = compared(base, [turned(r) for r in base])
    assert outcome.verdict is V.TIE_REORDER
    assert outcome.safe
    assert "cause-unsorted" not in keys(outcome)


def test_ties_at_the_edge_after_the_width_changed():
    """PaddlePaddle/FastDeploy#7883: topk(3)[:3] was not topk(20)[:3]."""
    base = records(tied_logits(), k=20)
    head = [narrow(3)(turned(narrow(7)(r))) for r in base]
    outcome = compared(base, head)
    assert outcome.verdict is V.TIE_REORDER
    assert "cause-width" in keys(outcome)


def test_noise(logits, base):
    outcome = compared(base, records(logits.noisy(rng())))
    assert outcome.verdict is V.WITHIN_NOISE, outcome.reasons
    assert outcome.tally.most <= 2


def one_ulp(logits, share, signs):
    """The best logit of a share of the rows moved by one ulp."""
    random = rng()
    moved = logits.values.copy()
    hit = np.argwhere(random.random(moved.shape[:2]) < share)
    for r, t in hit:
        moved[r, t, moved[r, t].argmax()] += ULP * random.choice(signs)
    return Logits(moved)


@pytest.mark.parametrize("signs", [[1], [-1]])
def test_one_ulp_up_on_one_percent_is_no_rounding(signs):
    logits = flat(requests=120, tokens=100)
    outcome = compared(records(logits), records(one_ulp(logits, 0.01, signs)))
    assert outcome.verdict is V.REGRESSION
    assert "cause-systematic" in keys(outcome)


def test_one_ulp_both_ways_on_one_percent_is_noise():
    logits = flat(requests=120, tokens=100)
    outcome = compared(records(logits), records(one_ulp(logits, 0.01, [1, -1])))
    assert outcome.verdict is V.WITHIN_NOISE, outcome.reasons


def flat(requests, tokens):
    """The best token holds a small share, so that an ulp of its logit is one of its logprob."""
    values = np.random.default_rng(5).uniform(8, 10.5, (requests, tokens, 40))
    values[:, :, 0] = 11
    return Logits(bfloat16(values))


def near_ties(logits):
    """Tokens 0 and 1 are best in row 9 of every request, one ulp apart; the other way round in half of them."""
    values = logits.values.copy()
    values[:, 9, 0], values[:, 9, 1] = 14, 14 - ULP
    other = values.copy()
    other[::2, 9, 0], other[::2, 9, 1] = 14 - ULP, 14
    return Logits(values), Logits(other)


def test_another_token_at_a_near_tie(logits):
    base, head = near_ties(logits)
    outcome = compared(records(base), records(head))
    assert outcome.verdict is V.TOKEN_DIVERGENCE
    assert outcome.safe
    assert outcome.tally.counts["split-near-tie"] == 20
    assert {w.position for w in outcome.tally.examples["split"]} == {9}


def test_another_token_without_columns_to_tell_by(logits):
    base, head = near_ties(logits)
    outcome = compared([narrow(0)(r) for r in records(base)], [narrow(0)(r) for r in records(head)])
    assert outcome.verdict is V.INCONCLUSIVE
    assert [r.key for r in outcome.reasons] == ["reason-split-unknown"]


def drawn(logits, seed):
    """Another token in row 4 of request 0."""
    made = [swap(r, sampling={"temperature": 1.0, "seed": seed}) for r in records(logits)]
    second = made[0].topk_ids[4, 1], made[0].topk_logprobs[4, 1]
    made[0] = swap(one(made[0], 4, *second), sampling={"temperature": 1.0, "seed": seed})
    return made


def one(record, row, token, logprob):
    tokens, logprobs = record.tokens.copy(), record.logprobs.copy()
    tokens[row], logprobs[row] = token, logprob
    return swap(record, tokens=tokens, logprobs=logprobs)


def test_another_draw(logits):
    base = [swap(r, sampling={"temperature": 1.0, "seed": 1}) for r in records(logits)]
    outcome = compared(base, drawn(logits, 1))
    assert (outcome.verdict, outcome.safe) == (V.TOKEN_DIVERGENCE, False)
    assert outcome.tally.counts["split-drawn-equal"] == 1
    with_noise = compared(base, drawn(logits.noisy(rng(), share=0.9), 1))
    assert (with_noise.verdict, with_noise.safe) == (V.TOKEN_DIVERGENCE, True)


@pytest.mark.parametrize(("size", "verdict"), [(1e-4, V.WITHIN_NOISE), (0.2, V.INCONCLUSIVE), (4.0, V.REGRESSION)])
def test_without_the_size_of_the_logits(base, size, verdict):
    unsized = [swap(r, logz=None) for r in base]
    random = rng()
    moves = [size * random.choice([-1, 1], (len(r), 1)) for r in unsized]
    head = [
        swap(r, logprobs=r.logprobs + m[:, 0], topk_logprobs=r.topk_logprobs + m)
        for r, m in zip(unsized, moves, strict=True)
    ]
    assert compared(unsized, head).verdict is verdict


def test_what_both_sides_have_wrong_is_equal(base):
    odd = [one_row(r, logprobs=np.nan) if n % 2 else one_row(r, topk_logprobs=-np.inf) for n, r in enumerate(base)]
    odd[0] = padded(odd[0], 2, **NO_ID)
    outcome = compared(odd, odd)
    assert outcome.verdict is V.IDENTICAL
    assert outcome.tally.counts["padding-head-no-id"] == 2


def accepting(rate, requests, seed):
    random = np.random.default_rng(seed)
    return [steps(random, 200, rate) for _ in range(requests)]


def speculating(rate, requests=300, seed=1):
    values = Logits(bfloat16(np.random.default_rng(0).uniform(8, 11, (1, 200, 8))))
    one = records(values, k=2)[0]
    return [swap(one, id=f"r{n}", accept_num=a) for n, a in enumerate(accepting(rate, requests, seed))]


def test_acceptance_down():
    outcome = compared(speculating(0.7), speculating(0.62, seed=2))
    assert (outcome.verdict, outcome.safe) == (V.ACCEPTANCE_DROP, False)
    assert outcome.acceptance[0].change < -0.05
    assert compared(speculating(0.62, seed=2), speculating(0.7)).safe


def test_acceptance_down_in_few_requests_asks_for_more():
    few = compared(speculating(0.7, 20), speculating(0.65, 20, seed=2))
    assert few.verdict is V.INCONCLUSIVE
    more = next(r for r in few.reasons if r.key == "reason-acceptance-open").args["more"]
    assert 500 < more < 20_000


def test_acceptance_of_another_proposer_is_not_compared():
    other = [swap(r, speculative={"proposer": "ngram"}) for r in speculating(0.5, seed=2)]
    outcome = compared(speculating(0.7), other)
    assert outcome.verdict is V.IDENTICAL
    assert outcome.tally.counts["other-drafting"] == 300


def test_noise_beyond_two_ulp_needs_a_second_run_of_base(logits, base):
    again, head = records(logits.noisy(rng(), 4)), records(logits.noisy(np.random.default_rng(2), 4))
    assert compared(base, head).verdict is V.REGRESSION
    known = compared(base, head, [again])
    assert known.verdict is V.WITHIN_NOISE, known.reasons
    assert known.tolerance > 4


@pytest.mark.parametrize("name", ["every row is the next", "one row of one request is the one before", "one NaN",
                                  "ranks one more", "padding of -1", "another base of the logarithm"])  # fmt: skip
def test_a_second_run_of_base_excuses_nothing_else(logits, base, name):
    change, where, *_ = EACH[name]
    again, head = records(logits.noisy(rng())), records(logits.noisy(np.random.default_rng(2)))
    assert compared(base, head_of(head, change, where), [again]).verdict is V.REGRESSION


def test_a_second_run_of_something_else_calibrates_nothing(base):
    other = [origin(r, device="gpu-2") for r in base]
    assert compared(base, base, [other]).verdict is V.NOT_COMPARABLE
    wild = records(Logits.random(np.random.default_rng(99)), tokens=np.array([r.tokens for r in base]))
    assert compared(base, base, [wild]).verdict is V.INCONCLUSIVE


def columns(record, order):
    return swap(record, topk_ids=record.topk_ids[:, order], topk_logprobs=record.topk_logprobs[:, order])


def test_a_narrow_table_without_the_second_best(base):
    wide = [columns(r, [0, 4, 1, 2, 3]) for r in base]
    assert compared(wide, [columns(r, [0, 4]) for r in base]).verdict is V.REGRESSION


def test_rows_after_another_token_are_not_compared(logits):
    base, head = near_ties(logits)
    head.values[::2, 10:] = Logits.random(np.random.default_rng(8)).values[::2, 10:]
    outcome = compared(records(base), records(head))
    assert (outcome.verdict, outcome.safe) == (V.TOKEN_DIVERGENCE, True)


def test_more_requests_over_the_tolerance_than_in_the_second_run_of_base(logits, base):
    again = records(logits.noisy(rng()))
    moved = [swap(r, topk_logprobs=r.topk_logprobs + np.where(np.arange(5) == 4, 6 * ULP, 0)) for r in base]
    head = [moved[n] if n < 20 else r for n, r in enumerate(base)]
    assert compared(base, head, [again]).verdict is V.REGRESSION
