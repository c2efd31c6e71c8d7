"""The verdict of a comparison, and what it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from checks.core.finding import Message
from checks.logprobs.compare import acceptance
from checks.logprobs.compare.acceptance import Decision
from checks.logprobs.compare.collect import NOISE_ULPS
from checks.logprobs.compare.explain import explanations
from checks.logprobs.compare.reasons import (
    CALIBRATED_AT,
    WILDEST,
    percent,
    why_acceptance_drop,
    why_divergence,
    why_inconclusive,
    why_near_divergence,
    why_not_comparable,
    why_regression,
)
from checks.logprobs.compare.tally import ComparisonStats, quantile


class ComparisonVerdict(StrEnum):
    """From the least to the most that is wrong, with the two that are no answer last."""

    IDENTICAL = "identical"
    COLUMNS_ONLY = "columns-only"
    TIE_REORDER = "tie-reorder"
    WITHIN_NOISE = "within-noise"
    TOKEN_DIVERGENCE = "token-divergence"
    ACCEPTANCE_DROP = "acceptance-drop"
    REGRESSION = "regression"
    INCONCLUSIVE = "inconclusive"
    NOT_COMPARABLE = "not-comparable"


@dataclass(frozen=True, slots=True)
class ComparisonOutcome:
    """The verdict with all that it rests on.

    safe: a baseline may be recorded anew without anybody looking; it may after divergences at near
    ties, not after real ones. reasons: what made the verdict; causes: what the numbers prove about
    why. Both are messages of `comparison.toml`.
    """

    verdict: ComparisonVerdict
    safe: bool
    reasons: tuple[Message, ...]
    causes: tuple[Message, ...]
    acceptance: tuple[Decision, ...]
    tolerance: float
    tally: ComparisonStats
    aa: ComparisonStats | None


def calibrated_tolerance(aa: ComparisonStats) -> float:
    """Ulps that 99.9 % of the rows of an A/A run stay within; never less than 2, nor more than
    64."""
    return min(max(NOISE_ULPS, quantile(aa.ulps, CALIBRATED_AT)), WILDEST)


def decide(tally: ComparisonStats, aa: ComparisonStats | None = None) -> ComparisonOutcome:
    """The verdict.

    `aa` is the tally of two or more runs of base; `tally` was then made with `calibrated(aa)`.
    """
    tolerance = NOISE_ULPS if aa is None else calibrated_tolerance(aa)
    decisions: tuple[Decision, ...] = ()
    if tally.accepted.requests:
        decisions = tuple(acceptance.decide(tally.accepted))
    verdict, safe, reasons = _judge(tally, aa, decisions, tolerance)
    return ComparisonOutcome(
        verdict=verdict,
        safe=safe,
        reasons=tuple(reasons),
        causes=explanations(tally),
        acceptance=decisions,
        tolerance=tolerance,
        tally=tally,
        aa=aa,
    )


def _judge(
    tally: ComparisonStats,
    aa: ComparisonStats | None,
    decisions: Sequence[Decision],
    tolerance: float,
) -> tuple[ComparisonVerdict, bool, list[Message]]:
    """(verdict, whether it is safe, reasons): the first verdict in this order that has a reason."""
    groups = (
        (ComparisonVerdict.NOT_COMPARABLE, False, why_not_comparable(tally, aa)),
        (ComparisonVerdict.REGRESSION, False, why_regression(tally, aa, tolerance)),
        (ComparisonVerdict.ACCEPTANCE_DROP, False, why_acceptance_drop(decisions)),
        (ComparisonVerdict.TOKEN_DIVERGENCE, False, why_divergence(tally, aa)),
        (ComparisonVerdict.INCONCLUSIVE, False, why_inconclusive(tally, aa, decisions)),
        (ComparisonVerdict.TOKEN_DIVERGENCE, True, why_near_divergence(tally)),
    )
    for verdict, safe, reasons in groups:
        if reasons:
            return verdict, safe, reasons
    verdict = _harmless_verdict(tally)
    reasons = [Message(f"reason-{verdict}", _numbers(tally))]
    if tally.accepted.differing:
        change = percent(decisions[0].change)
        reasons.append(Message("reason-acceptance-kept", {"change": change}))
    return verdict, True, reasons


def _harmless_verdict(tally: ComparisonStats) -> ComparisonVerdict:
    """What is to be said where nothing is wrong, the largest difference first."""
    counts = tally.counts
    if tally.accepted.differing or counts["noise"] or counts["over"]:
        return ComparisonVerdict.WITHIN_NOISE
    if counts["reordered"]:
        return ComparisonVerdict.TIE_REORDER
    other_width = any(base != head for base, head in tally.widths)
    if other_width or counts["ragged-base"] != counts["ragged-head"]:
        return ComparisonVerdict.COLUMNS_ONLY
    return ComparisonVerdict.IDENTICAL


def _numbers(tally: ComparisonStats) -> dict[str, object]:
    counts = tally.counts
    widths = sorted(tally.widths)
    return {
        "rows": counts["rows"],
        "equal": counts["equal"],
        "reordered": counts["reordered"],
        "unsorted": counts["unsorted"],
        "noise": counts["noise"],
        "over": counts["over"],
        "requests": counts["pairs"],
        "most": f"{tally.most:.3g}",
        "base_k": [str(base) for base, _ in widths],
        "head_k": [str(head) for _, head in widths],
    }
