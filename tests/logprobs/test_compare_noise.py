"""What may differ without being wrong: ties, rounding, tokens at near ties and draws. And what may
not.
"""

from __future__ import annotations

import numpy as np
import pytest

from checks.logprobs.compare import ComparisonVerdict
from tests.logprobs.mutated import narrow, one_row, origin
from tests.logprobs.simulated import ULP, Logits, bfloat16, compared, keys, records, swap

V = ComparisonVerdict


def rng():
    return np.random.default_rng(11)


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
    """Tokens 0 and 1 are best in row 9 of every request, one ulp apart; the other way round in half
    of them.
    """
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
    """Another token in row 5 of request 0."""
    made = [swap(r, sampling={"temperature": 1.0, "seed": seed}) for r in records(logits)]
    first = made[0]
    return [
        one_row(first, tokens=first.topk_ids[5, 1], logprobs=first.topk_logprobs[5, 1]),
        *made[1:],
    ]


def test_another_draw(logits):
    base = [swap(r, sampling={"temperature": 1.0, "seed": 1}) for r in records(logits)]
    outcome = compared(base, drawn(logits, 1))
    assert (outcome.verdict, outcome.safe) == (V.TOKEN_DIVERGENCE, False)
    assert outcome.tally.counts["split-drawn-equal"] == 1
    with_noise = compared(base, drawn(logits.noisy(rng(), share=0.9), 1))
    assert (with_noise.verdict, with_noise.safe) == (V.TOKEN_DIVERGENCE, True)


@pytest.mark.parametrize(
    ("size", "verdict"), [(1e-4, V.WITHIN_NOISE), (0.2, V.INCONCLUSIVE), (4.0, V.REGRESSION)]
)
def test_without_the_size_of_the_logits(base, size, verdict):
    unsized = [swap(r, logz=None) for r in base]
    random = rng()
    moves = [size * random.choice([-1, 1], (len(r), 1)) for r in unsized]
    head = [
        swap(r, logprobs=r.logprobs + m[:, 0], topk_logprobs=r.topk_logprobs + m)
        for r, m in zip(unsized, moves, strict=True)
    ]
    assert compared(unsized, head).verdict is verdict


def test_noise_beyond_two_ulp_needs_a_second_run_of_base(logits, base):
    again, head = (
        records(logits.noisy(rng(), 4)),
        records(logits.noisy(np.random.default_rng(2), 4)),
    )
    assert compared(base, head).verdict is V.REGRESSION
    known = compared(base, head, [again])
    assert known.verdict is V.WITHIN_NOISE, known.reasons
    assert known.tolerance > 4


def test_a_second_run_of_something_else_calibrates_nothing(base):
    other = [origin(r, device="gpu-2") for r in base]
    assert compared(base, base, [other]).verdict is V.NOT_COMPARABLE
    wild = records(
        Logits.random(np.random.default_rng(99)), tokens=np.array([r.tokens for r in base])
    )
    assert compared(base, base, [wild]).verdict is V.INCONCLUSIVE


def test_rows_after_another_token_are_not_compared(logits):
    base, head = near_ties(logits)
    head.values[::2, 10:] = Logits.random(np.random.default_rng(8)).values[::2, 10:]
    outcome = compared(records(base), records(head))
    assert (outcome.verdict, outcome.safe) == (V.TOKEN_DIVERGENCE, True)


def test_more_requests_over_the_tolerance_than_in_the_second_run_of_base(logits, base):
    again = records(logits.noisy(rng()))
    moved = [
        swap(r, topk_logprobs=r.topk_logprobs + np.where(np.arange(5) == 4, 6 * ULP, 0))
        for r in base
    ]
    head = [moved[n] if n < 20 else r for n, r in enumerate(base)]
    assert compared(base, head, [again]).verdict is V.REGRESSION
