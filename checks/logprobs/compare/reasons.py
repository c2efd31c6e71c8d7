"""The reasons for a verdict, as messages: keys of `templates/words/comparison.toml`.

Each function gives the reasons for one verdict; no reason means that the verdict does not hold.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from checks.core.finding import Message
from checks.logprobs.compare.acceptance import AcceptanceVerdict, Decision
from checks.logprobs.compare.collect import NOISE_ULPS
from checks.logprobs.compare.exact_test import more_than
from checks.logprobs.compare.explain import padded, swapped, systematic
from checks.logprobs.compare.tally import ComparisonStats, binned, quantile, ulps_text

CALIBRATED_AT = 0.999
"""The share of an A/A run's rows that its tolerance covers."""
WILDEST = 64.0
"""Ulps at which two runs of the same code did not compute the same thing."""
_FAR = 4.0
"""A row this many times as far off as the A/A run's worst one is no noise of the same kind."""
_REAL_SPLITS = ("split-real", "split-drawn-equal", "split-length")
_NEAR_SPLITS = ("split-near-tie", "split-drawn", "split-unknown")


def why_not_comparable(tally: ComparisonStats, aa: ComparisonStats | None) -> list[Message]:
    """What the two sides say differently about themselves, and what those of the A/A run do."""
    reasons = [_conflict("reason-conflict", tally, name) for name in sorted(tally.conflicts)]
    if aa is not None:
        reasons += [_conflict("reason-aa-conflict", aa, name) for name in sorted(aa.conflicts)]
    return reasons


def _conflict(key: str, tally: ComparisonStats, name: str) -> Message:
    base, head = tally.said[f"conflict-{name}"][0]
    args = {"field": name, "base": base, "head": head, "requests": tally.conflicts[name]}
    return Message(key, args)


def why_regression(
    tally: ComparisonStats, aa: ComparisonStats | None, tolerance: float
) -> list[Message]:
    """Values that no noise explains."""
    counts = tally.counts
    reasons = _reasons_of_distance(tally, aa, tolerance)
    aa_ranks = aa.counts["requests-rank"] if aa is not None else 0
    if _is_more_than_aa(counts["requests-rank"], aa_ranks, tally, aa):
        reasons.append(Message("reason-rank", {"rows": counts["rank"], "of": counts["ranked"]}))
    padding = {side: sum(padded(tally, side).values()) for side in ("base", "head")}
    if padding["base"] != padding["head"]:
        reasons.append(Message("reason-padding", padding))
    torn = {side: counts[f"torn-{side}"] for side in ("base", "head")}
    if torn["base"] != torn["head"]:
        reasons.append(Message("reason-torn", torn))
    exchanged_answers = swapped(tally)
    if exchanged_answers:
        reasons.append(Message("reason-swapped", {"requests": len(exchanged_answers)}))
    if systematic(tally):
        args = {"up": counts["sign-up"], "down": counts["sign-down"]}
        reasons.append(Message("reason-systematic", args))
    return reasons


def _reasons_of_distance(
    tally: ComparisonStats, aa: ComparisonStats | None, tolerance: float
) -> list[Message]:
    """More rows over the tolerance than in the A/A run, or one much further off than any there."""
    counts = tally.counts
    aa_over = 0
    if aa is not None:
        first_bin_over = int(binned(np.array([tolerance]))[0])
        aa_over = int(aa.request_ulps[first_bin_over:].sum())
    if _is_more_than_aa(counts["requests-over"], aa_over, tally, aa):
        args = {
            "rows": counts["over"],
            "of": counts["rows"],
            "requests": counts["requests-over"],
            "tolerance": f"{tolerance:.3g}",
            "most": ulps_text(tally.most),
        }
        return [Message("reason-over", args)]
    if aa is not None and tally.most > _FAR * max(aa.most, NOISE_ULPS):
        distances = {"most": ulps_text(tally.most), "aa": f"{aa.most:.3g}"}
        return [Message("reason-far", distances)]
    return []


def why_acceptance_drop(decisions: Sequence[Decision]) -> list[Message]:
    """The numbers of accepted tokens that fell: entry 0 counts tokens a step, the others places."""
    reasons = []
    for place, decision in enumerate(decisions):
        if decision.judged is AcceptanceVerdict.DROP:
            args = {**_base_and_head(decision), "place": place, "change": percent(decision.change)}
            reasons.append(Message("reason-drop", args))
    return reasons


def why_divergence(tally: ComparisonStats, aa: ComparisonStats | None) -> list[Message]:
    """Requests that went on with other tokens for no rounding, more often than in the A/A run."""
    aa_real = aa.counts["requests-real"] if aa is not None else 0
    if not _is_more_than_aa(tally.counts["requests-real"], aa_real, tally, aa):
        return []
    return _split_reasons(tally, _REAL_SPLITS)


def why_near_divergence(tally: ComparisonStats) -> list[Message]:
    """Requests that went on with other tokens in any way; only harmless ones are left to tell."""
    return _split_reasons(tally, (*_NEAR_SPLITS, *_REAL_SPLITS))


def _split_reasons(tally: ComparisonStats, kinds: Sequence[str]) -> list[Message]:
    counts = tally.counts
    found = [kind for kind in kinds if counts[kind]]
    return [Message(f"reason-{kind}", {"requests": counts[kind]}) for kind in found]


def why_inconclusive(
    tally: ComparisonStats, aa: ComparisonStats | None, decisions: Sequence[Decision]
) -> list[Message]:
    """What keeps the comparison from an answer."""
    counts, reasons = tally.counts, []
    only_on_one_side = {"base": counts["only-base"], "head": counts["only-head"]}
    if not counts["rows"]:
        reasons.append(Message("reason-nothing", only_on_one_side))
    elif any(only_on_one_side.values()):
        reasons.append(Message("reason-only", only_on_one_side))
    if counts["unsure"]:
        args = {"rows": counts["unsure"], "most": ulps_text(tally.most)}
        reasons.append(Message("reason-unsure", args))
    aa_unknown = aa.counts["split-unknown"] if aa is not None else 0
    if _is_more_than_aa(counts["split-unknown"], aa_unknown, tally, aa):
        reasons.append(Message("reason-split-unknown", {"requests": counts["split-unknown"]}))
    if aa is not None and quantile(aa.ulps, CALIBRATED_AT) > WILDEST:
        reasons.append(Message("reason-aa-wild", {"most": ulps_text(aa.most)}))
    if decisions and decisions[0].judged is AcceptanceVerdict.UNDECIDED:
        reasons.append(_acceptance_open(decisions[0]))
    return reasons


def _acceptance_open(tokens_per_step: Decision) -> Message:
    args = {
        **_base_and_head(tokens_per_step),
        "change": percent(tokens_per_step.change),
        "more": tokens_per_step.more,
        "steps": tokens_per_step.steps_head,
    }
    return Message("reason-acceptance-open", args)


def _base_and_head(decision: Decision) -> dict[str, object]:
    return {"base": f"{decision.base:.4g}", "head": f"{decision.head:.4g}"}


def percent(share: float) -> str:
    """A change in percent, with its sign."""
    return f"{100 * share:+.1f}"


def _is_more_than_aa(
    found: int, in_aa: int, tally: ComparisonStats, aa: ComparisonStats | None
) -> bool:
    """Whether `found` requests are more than the A/A run's by more than chance.

    Without an A/A run one request is too many.
    """
    if aa is None:
        return found > 0
    return more_than(in_aa, aa.counts["pairs"], found, tally.counts["pairs"])
