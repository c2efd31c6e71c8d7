"""The report of a kernel comparison, base against head, for people and for machines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bot.i18n.catalog import Catalog
from bot.reports.blocks import Block, Heading, Items, Table, Text
from bot.reports.kernelrun import as_text, device, facts, name, reason, reason_data, words_for
from checks.kernelrun.comparison import Change, Comparison, Pair
from checks.kernelrun.model import KernelCase
from checks.kernelrun.speed import MARGIN, Ratio

VERSION = 1


@dataclass(frozen=True, slots=True)
class JudgedComparison:
    """A comparison, and whose harness judged it: `base`, `head`, or empty where two stored runs are
    compared.
    """

    by: str
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class KernelReport:
    """Base against head. `edited` are files that head changed although it is judged by them."""

    base: str
    head: str
    judged: tuple[JudgedComparison, ...]
    edited: tuple[str, ...] = ()

    @property
    def worse(self) -> bool:
        """Whether a case of head got worse under any harness: head's own can convict head, but not
        clear it.
        """
        return any(judged.comparison.worse for judged in self.judged)


def render(report: KernelReport, form: str, language: str) -> str:
    """The report as `terminal`, `markdown` or `json`."""
    if form == "json":
        return json.dumps(_data(report), indent=1, ensure_ascii=False) + "\n"
    return as_text(blocks(report, words_for(form, language)), form)


def blocks(report: KernelReport, words: Catalog) -> Iterator[Block]:
    """The report for people."""
    base, head = _short_revision(report.base), _short_revision(report.head)
    yield Heading(2, words("kernelrun.compare-title", base=base, head=head))
    if report.edited:
        key = "kernelrun.edited" if len(report.judged) > 1 else "kernelrun.edited-not-run"
        yield Text(words(key, files=report.edited))
    first = report.judged[0]
    if first.comparison.apart:
        yield Text(_not_comparable(first.comparison, words))
        return
    lines = [*facts(first.comparison.head, words)]
    if first.by:
        lines.append(_order_of_processes(first.comparison, words))
    yield Items(tuple(lines))
    level = 4 if report.edited else 3
    for judged in report.judged:
        if report.edited:
            yield Heading(3, words(f"kernelrun.under-{judged.by}"))
        yield from _comparison(judged.comparison, level, words)
    if first.comparison.timed:
        yield Text(words("kernelrun.speed-rule", margin=f"{MARGIN:.0%}"))
    else:
        yield Text(words("kernelrun.no-speed"))


def _short_revision(name: str) -> str:
    """The first twelve digits of a commit id; a folder's name as it is."""
    is_commit = len(name) >= 40 and name.isalnum()
    return name[:12] if is_commit else name


def _not_comparable(comparison: Comparison, words: Catalog) -> str:
    base, head = device(comparison.base), device(comparison.head)
    return words("kernelrun.not-comparable", parts=comparison.apart, base=base, head=head)


def _order_of_processes(comparison: Comparison, words: Catalog) -> str:
    key = "kernelrun.order-timed" if comparison.timed else "kernelrun.order-untimed"
    return words(key)


def _comparison(comparison: Comparison, level: int, words: Catalog) -> Iterator[Block]:
    yield Text(_verdict(comparison, words))
    if not comparison.same_harness:
        yield Text(words("kernelrun.other-harness"))
    columns = ("case", "base", "head", "bits", "speed", "verdict")
    header = tuple(words(f"kernelrun.column-{c}") for c in columns)
    yield Table(header, tuple(_row(pair, words) for pair in comparison.pairs))
    details: list[str] = []
    for pair in comparison.pairs:
        details += _details(pair, words)
    if details:
        yield Heading(level, words("kernelrun.details"))
        yield Items(tuple(details))


def _verdict(comparison: Comparison, words: Catalog) -> str:
    total = len(comparison.pairs)
    names = [name(pair) for pair in comparison.worse]
    if not names:
        return words("kernelrun.none-worse", total=total)
    return words("kernelrun.some-worse", worse=len(names), total=total, cases=names)


def _row(pair: Pair, words: Catalog) -> tuple[str, ...]:
    return (
        words.style.code(name(pair)),
        _status(pair.base, words),
        _status(pair.head, words),
        _bits(pair.bit_equal, words),
        _speed(pair.ratio, words),
        words("kernelrun.worse") if pair.worse else "",
    )


def _status(case: KernelCase | None, words: Catalog) -> str:
    if case is None:
        return words("kernelrun.absent")
    return words(f"kernelrun.status-{case.status}")


def _bits(equal: bool | None, words: Catalog) -> str:
    if equal is None:
        return ""
    return words("kernelrun.yes" if equal else "kernelrun.no")


def _speed(ratio: Ratio | None, words: Catalog) -> str:
    if ratio is None:
        return ""
    pace = words(f"kernelrun.pace-{ratio.pace}")
    return f"{ratio.value:.3f} [{ratio.low:.3f}, {ratio.high:.3f}] {pace}"


def _details(pair: Pair, words: Catalog) -> Iterator[str]:
    for side, case in (("base", pair.base), ("head", pair.head)):
        if case is None:
            continue
        where = {"case": name(pair), "side": side}
        if case.reason is not None:
            yield words("kernelrun.detail-side", **where, reason=reason(case, words))
        if not case.repeatable:
            yield words("kernelrun.unrepeatable", **where)
    for change in pair.changes:
        yield _change(pair, change, words)


def _change(pair: Pair, change: Change, words: Catalog) -> str:
    if change.differing is None:
        return words("kernelrun.changed-form", case=name(pair), output=change.output)
    return words(
        "kernelrun.changed",
        case=name(pair),
        output=change.output,
        differing=change.differing,
        elements=change.elements,
        largest="" if change.largest is None else f"{change.largest:.3g}",
    )


def _data(report: KernelReport) -> dict[str, Any]:
    return {
        "version": VERSION,
        "base": report.base,
        "head": report.head,
        "worse": report.worse,
        "edited": list(report.edited),
        "judged": [_judged_data(judged) for judged in report.judged],
    }


def _judged_data(judged: JudgedComparison) -> dict[str, Any]:
    comparison = judged.comparison
    confinement = comparison.head.confinement
    return {
        "harness_of": judged.by or None,
        "same_harness": comparison.same_harness,
        "device": {"base": dict(comparison.base.device), "head": dict(comparison.head.device)},
        "not_comparable": list(comparison.apart),
        "confinement": {"tool": confinement.tool, "files": confinement.files},
        "timed": comparison.timed,
        "cases": [_pair_data(pair) for pair in comparison.pairs],
    }


def _pair_data(pair: Pair) -> dict[str, Any]:
    return {
        "op": pair.op,
        "case": pair.name,
        "base": _side_data(pair.base),
        "head": _side_data(pair.head),
        "bit_equal": pair.bit_equal,
        "changes": [_change_data(change) for change in pair.changes],
        "speed": _speed_data(pair.ratio),
        "worse": pair.worse,
    }


def _side_data(case: KernelCase | None) -> dict[str, Any] | None:
    if case is None:
        return None
    return {
        "status": str(case.status),
        "reason": reason_data(case.reason),
        "max_error": case.max_error,
        "repeatable": case.repeatable,
    }


def _change_data(change: Change) -> dict[str, Any]:
    return {
        "output": change.output,
        "differing": change.differing,
        "elements": change.elements,
        "largest": change.largest,
    }


def _speed_data(ratio: Ratio | None) -> dict[str, Any] | None:
    if ratio is None:
        return None
    return {"ratio": ratio.value, "low": ratio.low, "high": ratio.high, "pace": str(ratio.pace)}
