"""How many draft tokens are accepted: a drop is told, and what cannot be told is left open."""

from __future__ import annotations

import numpy as np

from checks.logprobs.compare import ComparisonVerdict
from tests.logprobs.simulated import Logits, bfloat16, compared, records, steps, swap


def accepting(rate, requests, seed):
    random = np.random.default_rng(seed)
    return [steps(random, 200, rate) for _ in range(requests)]


def speculating(rate, requests=300, seed=1):
    values = Logits(bfloat16(np.random.default_rng(0).uniform(8, 11, (1, 200, 8))))
    one = records(values, k=2)[0]
    return [
        swap(one, id=f"r{n}", accept_num=a) for n, a in enumerate(accepting(rate, requests, seed))
    ]


def test_acceptance_down():
    outcome = compared(speculating(0.7), speculating(0.62, seed=2))
    assert (outcome.verdict, outcome.safe) == (ComparisonVerdict.ACCEPTANCE_DROP, False)
    assert outcome.acceptance[0].change < -0.05
    assert compared(speculating(0.62, seed=2), speculating(0.7)).safe


def test_acceptance_down_in_few_requests_asks_for_more():
    few = compared(speculating(0.7, 20), speculating(0.65, 20, seed=2))
    assert few.verdict is ComparisonVerdict.INCONCLUSIVE
    more = next(r for r in few.reasons if r.key == "reason-acceptance-open").args["more"]
    assert 500 < more < 20_000


def test_acceptance_of_another_proposer_is_not_compared():
    other = [swap(r, speculative={"proposer": "ngram"}) for r in speculating(0.5, seed=2)]
    outcome = compared(speculating(0.7), other)
    assert outcome.verdict is ComparisonVerdict.IDENTICAL
    assert outcome.tally.counts["other-drafting"] == 300
