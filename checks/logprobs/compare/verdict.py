"""The verdict of a comparison, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import exp, inf, lgamma

import numpy as np

from checks.core.finding import Message
from checks.logprobs.compare import acceptance
from checks.logprobs.compare.acceptance import Decision, Judged
from checks.logprobs.compare.collect import NOISE_ULPS
from checks.logprobs.compare.explain import explanations, padded, swapped, systematic
from checks.logprobs.compare.tally import Tally, binned, quantile, ulps_text

_CALIBRATED_AT = 0.999
_WILDEST = 64.0
"""Ulps at which two runs of the same code did not compute the same thing."""
_CAP = 4.0
"""A row this many times as far off as the A/A run's worst one is no noise of the same kind."""
_RARE = 1e-4
"""Probability at which more wrong requests than in the A/A run are no chance."""


class Verdict(StrEnum):
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
class Outcome:
    """safe: a baseline may be recorded anew without anybody looking; divergences at near ties are, real ones are not.
    reasons: what made the verdict; causes: what the numbers prove about why; both messages of `comparison.toml`."""

    verdict: Verdict
    safe: bool
    reasons: tuple[Message, ...]
    causes: tuple[Message, ...]
    acceptance: tuple[Decision, ...]
    tolerance: float
    tally: Tally
    aa: Tally | None


def calibrated(aa: Tally) -> float:
    """Ulps that 99.9 % of the rows of an A/A run stay within; never less than 2, nor more than 64."""
    return min(max(NOISE_ULPS, quantile(aa.ulps, _CALIBRATED_AT)), _WILDEST)


def decide(tally: Tally, aa: Tally | None = None) -> Outcome:
    """The verdict. `aa` is the tally of two or more runs of base; `tally` was then made with `calibrated(aa)`."""
    tolerance = NOISE_ULPS if aa is None else calibrated(aa)
    decisions = tuple(acceptance.decide(tally.accepted)) if tally.accepted.requests else ()
    verdict, safe, reasons = _judge(tally, aa, decisions, tolerance)
    return Outcome(
        verdict, safe, tuple(reasons), explanations(tally), decisions, tolerance, tally, aa
    )


def _judge(
    tally: Tally, aa: Tally | None, decisions: tuple[Decision, ...], tolerance: float
) -> tuple[Verdict, bool, list[Message]]:
    """Verdict, whether it is safe, and the reasons of the first group that has any."""
    groups = (
        (Verdict.NOT_COMPARABLE, False, _conflicts(tally, aa)),
        (Verdict.REGRESSION, False, _wrong(tally, aa, tolerance)),
        (Verdict.ACCEPTANCE_DROP, False, _dropped(decisions)),
        (Verdict.TOKEN_DIVERGENCE, False, _real(tally, aa)),
        (Verdict.INCONCLUSIVE, False, _open(tally, aa, decisions)),
        (Verdict.TOKEN_DIVERGENCE, True, _near(tally)),
    )
    for verdict, safe, reasons in groups:
        if reasons:
            return verdict, safe, reasons
    verdict = _harmless(tally)
    said = [Message(f"reason-{verdict}", _numbers(tally))]
    if tally.accepted.differing:
        said.append(
            Message("reason-acceptance-kept", {"change": f"{100 * decisions[0].change:+.1f}"})
        )
    return verdict, True, said


def _harmless(tally: Tally) -> Verdict:
    if tally.accepted.differing or tally.counts["noise"] or tally.counts["over"]:
        return Verdict.WITHIN_NOISE
    if tally.counts["reordered"]:
        return Verdict.TIE_REORDER
    other_width = any(base != head for base, head in tally.widths)
    if other_width or tally.counts["ragged-base"] != tally.counts["ragged-head"]:
        return Verdict.COLUMNS_ONLY
    return Verdict.IDENTICAL


def _numbers(tally: Tally) -> dict[str, object]:
    counts = tally.counts
    names = ("rows", "equal", "reordered", "unsorted", "noise", "over")
    widths = sorted(tally.widths)
    return {
        **{name: counts[name] for name in names},
        "requests": counts["pairs"],
        "most": f"{tally.most:.3g}",
        "base_k": [str(base) for base, _ in widths],
        "head_k": [str(head) for _, head in widths],
    }


def _conflicts(tally: Tally, aa: Tally | None) -> list[Message]:
    found = [_conflict("reason-conflict", tally, name) for name in sorted(tally.conflicts)]
    if aa is not None:
        found += [_conflict("reason-aa-conflict", aa, name) for name in sorted(aa.conflicts)]
    return found


def _conflict(message: str, tally: Tally, name: str) -> Message:
    base, head = tally.said[f"conflict-{name}"][0]
    return Message(
        message, {"field": name, "base": base, "head": head, "requests": tally.conflicts[name]}
    )


def _wrong(tally: Tally, aa: Tally | None, tolerance: float) -> list[Message]:
    counts, found = tally.counts, []
    known = 0 if aa is None else int(aa.request_ulps[int(binned(np.array([tolerance]))[0]) :].sum())
    if _more(aa, known, counts["requests-over"], counts["pairs"]):
        args = {"rows": counts["over"], "of": counts["rows"], "requests": counts["requests-over"]}
        found.append(
            Message(
                "reason-over",
                args | {"tolerance": f"{tolerance:.3g}", "most": ulps_text(tally.most)},
            )
        )
    elif aa is not None and tally.most > _CAP * max(aa.most, NOISE_ULPS):
        found.append(Message("reason-far", {"most": ulps_text(tally.most), "aa": f"{aa.most:.3g}"}))
    if _more(
        aa,
        0 if aa is None else aa.counts["requests-rank"],
        counts["requests-rank"],
        counts["pairs"],
    ):
        found.append(Message("reason-rank", {"rows": counts["rank"], "of": counts["ranked"]}))
    rows = {side: sum(padded(tally, side).values()) for side in ("base", "head")}
    if rows["base"] != rows["head"]:
        found.append(Message("reason-padding", rows))
    torn = {side: counts[f"torn-{side}"] for side in ("base", "head")}
    if torn["base"] != torn["head"]:
        found.append(Message("reason-torn", torn))
    if pairs := swapped(tally):
        found.append(Message("reason-swapped", {"requests": len(pairs)}))
    if systematic(tally):
        found.append(
            Message("reason-systematic", {"up": counts["sign-up"], "down": counts["sign-down"]})
        )
    return found


def _dropped(decisions: tuple[Decision, ...]) -> list[Message]:
    found = []
    for place, decision in enumerate(decisions):
        if decision.judged is Judged.DROP:
            args = {"base": f"{decision.base:.4g}", "head": f"{decision.head:.4g}", "place": place}
            found.append(Message("reason-drop", args | {"change": f"{100 * decision.change:+.1f}"}))
    return found


def _real(tally: Tally, aa: Tally | None) -> list[Message]:
    counts = tally.counts
    if not _more(
        aa,
        0 if aa is None else aa.counts["requests-real"],
        counts["requests-real"],
        counts["pairs"],
    ):
        return []
    kinds = ("split-real", "split-drawn-equal", "split-length")
    return [Message(f"reason-{kind}", {"requests": counts[kind]}) for kind in kinds if counts[kind]]


def _open(tally: Tally, aa: Tally | None, decisions: tuple[Decision, ...]) -> list[Message]:
    counts, found = tally.counts, []
    if not counts["rows"]:
        found.append(
            Message("reason-nothing", {"base": counts["only-base"], "head": counts["only-head"]})
        )
    elif counts["only-base"] or counts["only-head"]:
        found.append(
            Message("reason-only", {"base": counts["only-base"], "head": counts["only-head"]})
        )
    if counts["unsure"]:
        found.append(
            Message("reason-unsure", {"rows": counts["unsure"], "most": ulps_text(tally.most)})
        )
    if _more(
        aa,
        0 if aa is None else aa.counts["split-unknown"],
        counts["split-unknown"],
        counts["pairs"],
    ):
        found.append(Message("reason-split-unknown", {"requests": counts["split-unknown"]}))
    if aa is not None and quantile(aa.ulps, _CALIBRATED_AT) > _WILDEST:
        found.append(Message("reason-aa-wild", {"most": ulps_text(aa.most)}))
    if decisions and decisions[0].judged is Judged.UNDECIDED:
        length = decisions[0]
        args = {
            "base": f"{length.base:.4g}",
            "head": f"{length.head:.4g}",
            "change": f"{100 * length.change:+.1f}",
        }
        found.append(
            Message(
                "reason-acceptance-open", args | {"more": length.more, "steps": length.steps_head}
            )
        )
    return found


def _near(tally: Tally) -> list[Message]:
    kinds = (
        "split-near-tie",
        "split-drawn",
        "split-unknown",
        "split-real",
        "split-drawn-equal",
        "split-length",
    )
    counts = tally.counts
    return [Message(f"reason-{kind}", {"requests": counts[kind]}) for kind in kinds if counts[kind]]


def _more(aa: Tally | None, known: int, found: int, size: int) -> bool:
    """Whether `found` of `size` requests are more than the A/A run's `known`; any is, without one."""
    if aa is None:
        return found > 0
    return more_than(known, aa.counts["pairs"], found, size)


def more_than(known: int, of: int, found: int, size: int) -> bool:
    """Fisher's exact test, one-sided: would `found` of `size` or more come by chance, at 1e-4, where `known` of `of` is
    the same thing?"""
    if not found or found * of <= known * size:
        return False
    marked, total = known + found, of + size
    log_all = _choose(total, size)
    p = 0.0
    for hits in range(found, min(marked, size) + 1):
        term = exp(_choose(marked, hits) + _choose(total - marked, size - hits) - log_all)
        p += term
        if p >= _RARE or term < 1e-12 * p:
            break
    return p < _RARE


def _choose(n: int, k: int) -> float:
    """Logarithm of the binomial coefficient."""
    return -inf if not 0 <= k <= n else lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
