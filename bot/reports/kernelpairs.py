"""Base against head, for people and for machines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bot.i18n.catalog import Catalog
from bot.kernels.results import reason_data
from bot.reports.blocks import Block, Heading, Items, Table, Text
from bot.reports.kernelrun import as_text, device, facts, name, reason, words_for
from checks.kernelrun.comparison import Comparison, Pair
from checks.kernelrun.model import Case
from checks.kernelrun.speed import MARGIN, Ratio

VERSION = 1


@dataclass(frozen=True, slots=True)
class Judged:
    """A comparison and whose harness made it: `base`, `head`, or nothing where two stored runs are compared."""

    by: str
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class Report:
    """Base against head. `edited`: files that head changed and is judged by."""

    base: str
    head: str
    judged: tuple[Judged, ...]
    edited: tuple[str, ...] = ()

    @property
    def worse(self) -> bool:
        """Whether a case of head got worse under any harness: its own cannot clear it, but can convict it."""
        return any(j.comparison.worse for j in self.judged)


def render(report: Report, form: str, language: str) -> str:
    """The report as `terminal`, `markdown` or `json`."""
    if form == "json":
        return json.dumps(_data(report), indent=1, ensure_ascii=False) + "\n"
    return as_text(blocks(report, words_for(form, language)), form)


def blocks(report: Report, words: Catalog) -> Iterator[Block]:
    """What a person reads of it."""
    sides = {"base": report.base, "head": report.head}
    short = {
        side: text[:12] if len(text) >= 40 and text.isalnum() else text
        for side, text in sides.items()
    }
    yield Heading(2, words("kernelrun.compare-title", **short))
    if report.edited:
        key = "kernelrun.edited" if len(report.judged) > 1 else "kernelrun.edited-not-run"
        yield Text(words(key, files=report.edited))
    first = report.judged[0]
    if first.comparison.apart:
        yield Text(_apart(first.comparison, words))
        return
    yield Items((*facts(first.comparison.head, words), *_order(first, words)))
    for judged in report.judged:
        if report.edited:
            yield Heading(3, words(f"kernelrun.under-{judged.by}"))
        yield from _judged(judged.comparison, 4 if report.edited else 3, words)
    timed = first.comparison.timed
    margin = {"margin": f"{MARGIN:.0%}"} if timed else {}
    yield Text(words("kernelrun.speed-rule" if timed else "kernelrun.no-speed", **margin))


def _apart(comparison: Comparison, words: Catalog) -> str:
    base, head = device(comparison.base), device(comparison.head)
    return words("kernelrun.not-comparable", parts=comparison.apart, base=base, head=head)


def _judged(comparison: Comparison, level: int, words: Catalog) -> Iterator[Block]:
    yield Text(_verdict(comparison, words))
    if not comparison.same_harness:
        yield Text(words("kernelrun.other-harness"))
    columns = ("case", "base", "head", "bits", "speed", "verdict")
    header = tuple(words(f"kernelrun.column-{c}") for c in columns)
    yield Table(header, tuple(_row(p, words) for p in comparison.pairs))
    told = tuple(line for pair in comparison.pairs for line in _details(pair, words))
    if told:
        yield Heading(level, words("kernelrun.details"))
        yield Items(told)


def _verdict(comparison: Comparison, words: Catalog) -> str:
    total = len(comparison.pairs)
    if not comparison.worse:
        return words("kernelrun.none-worse", total=total)
    names = [name(p) for p in comparison.worse]
    return words("kernelrun.some-worse", worse=len(names), total=total, cases=names)


def _order(judged: Judged, words: Catalog) -> tuple[str, ...]:
    if not judged.by:
        return ()
    return (
        words("kernelrun.order-timed" if judged.comparison.timed else "kernelrun.order-untimed"),
    )


def _row(pair: Pair, words: Catalog) -> tuple[str, ...]:
    bits = (
        ""
        if pair.bit_equal is None
        else words("kernelrun.yes" if pair.bit_equal else "kernelrun.no")
    )
    verdict = words("kernelrun.worse") if pair.worse else ""
    sides = tuple(_status(case, words) for case in (pair.base, pair.head))
    return (words.style.code(name(pair)), *sides, bits, _speed(pair.ratio, words), verdict)


def _status(case: Case | None, words: Catalog) -> str:
    return words("kernelrun.absent") if case is None else words(f"kernelrun.status-{case.status}")


def _speed(ratio: Ratio | None, words: Catalog) -> str:
    if ratio is None:
        return ""
    return f"{ratio.value:.3f} [{ratio.low:.3f}, {ratio.high:.3f}] " + words(
        f"kernelrun.pace-{ratio.pace}"
    )


def _details(pair: Pair, words: Catalog) -> Iterator[str]:
    for side, case in (("base", pair.base), ("head", pair.head)):
        if case is not None and case.reason is not None:
            yield words(
                "kernelrun.detail-side", case=name(pair), side=side, reason=reason(case, words)
            )
        if case is not None and not case.repeatable:
            yield words("kernelrun.unrepeatable", case=name(pair), side=side)
    for change in pair.changes:
        args = {"case": name(pair), "output": change.output}
        if change.differing is None:
            yield words("kernelrun.changed-form", **args)
        else:
            largest = "" if change.largest is None else f"{change.largest:.3g}"
            counts = {
                "differing": change.differing,
                "elements": change.elements,
                "largest": largest,
            }
            yield words("kernelrun.changed", **args, **counts)


def _data(report: Report) -> dict[str, Any]:
    return {
        "version": VERSION,
        "base": report.base,
        "head": report.head,
        "worse": report.worse,
        "edited": list(report.edited),
        "judged": [_judged_data(j) for j in report.judged],
    }


def _judged_data(judged: Judged) -> dict[str, Any]:
    comparison = judged.comparison
    held = comparison.head.confinement
    return {
        "harness_of": judged.by or None,
        "same_harness": comparison.same_harness,
        "device": {"base": dict(comparison.base.device), "head": dict(comparison.head.device)},
        "not_comparable": list(comparison.apart),
        "confinement": {"tool": held.tool, "files": held.files},
        "timed": comparison.timed,
        "cases": [_pair_data(p) for p in comparison.pairs],
    }


def _pair_data(pair: Pair) -> dict[str, Any]:
    ratio = pair.ratio
    return {
        "op": pair.op,
        "case": pair.name,
        "base": _side_data(pair.base),
        "head": _side_data(pair.head),
        "bit_equal": pair.bit_equal,
        "changes": [
            {
                "output": c.output,
                "differing": c.differing,
                "elements": c.elements,
                "largest": c.largest,
            }
            for c in pair.changes
        ],
        "speed": None
        if ratio is None
        else {"ratio": ratio.value, "low": ratio.low, "high": ratio.high, "pace": str(ratio.pace)},
        "worse": pair.worse,
    }


def _side_data(case: Case | None) -> dict[str, Any] | None:
    if case is None:
        return None
    return {
        "status": str(case.status),
        "reason": reason_data(case.reason),
        "max_error": case.max_error,
        "repeatable": case.repeatable,
    }
