"""The report of a run of device code, for people and for machines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import bot
from bot.i18n.catalog import LANGUAGES, Catalog
from bot.i18n.escape import Html, Markdown, Plain, Style
from bot.reports.blocks import Block, Heading, Items, Table, Text
from bot.reports.causes import group_by_cause
from bot.reports.device_run import (
    FAILED,
    NOT_RUN,
    PASSED,
    CaseResult,
    DeviceReport,
    MutantResult,
    SiblingResult,
)
from bot.reports.findings import detail, heading, table
from bot.reports.html import page
from bot.reports.json_v1 import finding_data
from bot.reports.markdown import write_document
from bot.reports.terminal import write_for_terminal
from checks.core.finding import Message

_STYLES: dict[str, type[Style]] = {"markdown": Markdown, "html": Html, "terminal": Plain}


def render(report: DeviceReport, form: str, language: str, *, verbose: bool = False) -> str:
    """The run as `terminal`, `markdown`, `html` or `json`.

    `verbose` tells people what each op was compared with; the JSON always has it.
    """
    if form == "json":
        return json.dumps(_data(report), ensure_ascii=False, indent=2) + "\n"
    words = Catalog(language, _STYLES[form]())
    parts = list(blocks(report, words))
    if verbose:
        parts += _comparisons(report, words)
    if form == "markdown":
        return write_document(parts)
    if form == "html":
        return page(Catalog(language)("device.title"), parts, language)
    return write_for_terminal(parts)


def render_run(report: DeviceReport, language: str) -> str:
    """The run in Markdown without its findings, for where the review tells those."""
    words = Catalog(language, Markdown())
    return write_document([*_summary(report, words), *_rest(report, words)])


def note(report: DeviceReport) -> Message:
    """What a review says of the run besides its findings: a remark in
    `templates/words/notes.toml`."""
    counts = _counts(report)
    return Message(
        "device-ran",
        {
            "action": report.action,
            "compiled": sum(source.is_ready for source in report.build.sources),
            "all": len(report.build.sources),
            "passed": counts[PASSED],
            "failed": counts[FAILED],
            "other": counts[NOT_RUN],
        },
    )


def _data(report: DeviceReport) -> dict[str, Any]:
    catalogs = {name: Catalog(name) for name in LANGUAGES}
    build = report.build
    counts = _counts(report)
    return {
        "version": 1,
        "tool": {"name": "specbot", "version": bot.__version__},
        "action": report.action,
        "base": report.change.base_rev,
        "head": report.change.head_rev,
        "compiler": build.compiler,
        "schedules": list(report.schedules),
        "sources": {
            "compiled": [source.path for source in build.sources if source.is_ready],
            "refused": [
                {"path": source.path, "why": source.refusal}
                for source in build.sources
                if not source.is_ready
            ],
            "ops": {source.path: list(source.ops) for source in build.sources},
            "for_tests": [source.path for source in build.helpers if source.is_ready],
            "compiled_now": [
                source.path for source in (*build.sources, *build.helpers) if source.compiled_now
            ],
        },
        "tests": {
            "passed": counts[PASSED],
            "failed": counts[FAILED],
            "not_run": counts[NOT_RUN],
            "cases": [_case_data(case, report) for case in report.cases],
        },
        "coverage": [
            {
                "path": lines.path,
                "lines": len(lines.counts),
                "reached": lines.reached,
                "missed": sorted(line for line, count in lines.counts.items() if count == 0),
                "measured_by": "emulation",
            }
            for lines in report.lines
        ],
        "mutants": {
            "noticed": sum(mutant.outcome == "noticed" for mutant in report.mutants),
            "not_built": sum(mutant.outcome == "not-built" for mutant in report.mutants),
            "unnoticed": [_mutant_data(mutant) for mutant in _unnoticed(report)],
        },
        "siblings": [_sibling_data(sibling) for sibling in report.siblings],
        "comparisons": [asdict(comparison) for comparison in report.comparisons],
        "findings": [finding_data(finding, catalogs) for finding in report.findings],
    }


def _case_data(case: CaseResult, report: DeviceReport) -> dict[str, Any]:
    before = report.before.get(case.test)
    return {
        "test": case.test,
        "outcome": case.outcome,
        "why": case.why,
        "base": before.outcome if before is not None else None,
        "seconds": case.seconds,
        "ops": list(case.ops),
    }


def _unnoticed(report: DeviceReport) -> list[MutantResult]:
    return [mutant for mutant in report.mutants if mutant.outcome == "unnoticed"]


def _mutant_data(mutant: MutantResult) -> dict[str, Any]:
    return {
        "path": mutant.path,
        "line": mutant.line,
        "before": mutant.before,
        "after": mutant.after,
    }


def _sibling_data(sibling: SiblingResult) -> dict[str, Any]:
    return {
        "op": sibling.op,
        "copy": sibling.copy,
        "compared": sibling.is_compared,
        "why": sibling.why,
        "agreed": len(sibling.agreed),
        "differed": len(sibling.differences),
        "left_out": list(sibling.reasons),
        "varied": dict(sibling.varied),
        "differences": [*sibling.differences, *sibling.varied_differences],
    }


def _counts(report: DeviceReport) -> Counter[str]:
    return Counter(case.outcome for case in report.cases)


def blocks(report: DeviceReport, words: Catalog) -> Iterator[Block]:
    """The report for people."""
    yield from _summary(report, words)
    yield Heading(2, words("report.heading-findings"))
    if report.findings:
        yield table(group_by_cause(report.findings), words)
        for finding in report.findings:
            yield heading(finding, words)
            yield from detail(finding, report.change, words, seen=False)
    else:
        yield Text(words("device.no-findings"))
    yield from _rest(report, words)


def _summary(report: DeviceReport, words: Catalog) -> Iterator[Block]:
    build = report.build
    counts = _counts(report)
    compiled = [source for source in build.sources if source.is_ready]
    yield Heading(2, words("device.title"))
    facts = [
        words("device.sources", compiled=len(compiled), all=len(build.sources)),
        words("device.tests", passed=counts[PASSED], failed=counts[FAILED], other=counts[NOT_RUN]),
        words("device.compiler", compiler=build.compiler),
    ]
    if len(report.schedules) > 1:
        facts.append(words("device.schedules", seeds=[str(seed) for seed in report.schedules]))
    yield Items(tuple(facts))


def _rest(report: DeviceReport, words: Catalog) -> Iterator[Block]:
    """What no finding says."""
    yield from _not_passed(report, words)
    yield from _siblings(report, words)
    yield from _coverage(report, words)


def _not_passed(report: DeviceReport, words: Catalog) -> Iterator[Block]:
    rows = []
    for source in report.build.sources:
        if not source.is_ready:
            refused = words("device.refused")
            rows.append((words.style.code(source.path), refused, words.style.code(source.refusal)))
    # What the findings above say is not said again.
    told = {finding.message.args.get("test") for finding in report.findings}
    for case in report.cases:
        if case.outcome != PASSED and case.test not in told:
            outcome = words(f"device.outcome-{case.outcome}")
            why = " ".join(case.why.split())[:300]
            rows.append((words.style.code(case.test), outcome, words.style.code(why or "-")))
    if rows:
        yield Heading(2, words("device.heading-rest"))
        header = tuple(words(f"device.column-{name}") for name in ("what", "outcome", "why"))
        yield Table(header, tuple(rows))


def _siblings(report: DeviceReport, words: Catalog) -> Iterator[Block]:
    if not report.siblings:
        return
    yield Heading(2, words("device.heading-siblings"))
    rows = []
    for sibling in report.siblings:
        outcome = words("device.sibling-not-compared")
        if sibling.is_compared:
            outcome = words(
                "device.sibling-compared",
                agreed=len(sibling.agreed),
                differed=len(sibling.differences),
                varied=sum(sibling.varied.values()),
            )
        why = sibling.why or "; ".join(sibling.reasons) or "-"
        code = words.style.code
        rows.append((code(sibling.op), code(sibling.copy), outcome, code(why[:200])))
    header = tuple(words(f"device.column-{name}") for name in ("op", "copy", "outcome", "why"))
    yield Table(header, tuple(rows))


def _comparisons(report: DeviceReport, words: Catalog) -> Iterator[Block]:
    yield Heading(2, words("device.heading-comparisons"))
    rows = []
    for item in report.comparisons:
        against = words(f"device.against-{item.against}")
        if item.place:
            against = f"{against}: {words.style.code(item.place)}"
        rows.append((words.style.code(item.op), against, str(item.inputs), str(item.differed)))
    header = tuple(
        words(f"device.column-{name}") for name in ("op", "against", "inputs", "differed")
    )
    yield Table(header, tuple(rows))


def _coverage(report: DeviceReport, words: Catalog) -> Iterator[Block]:
    if not report.lines:
        return
    yield Heading(2, words("device.heading-coverage"))
    rows = []
    for lines in report.lines:
        share = f"{lines.reached} / {len(lines.counts)}"
        rows.append((words.style.code(lines.path), share))
    header = (words("device.column-what"), words("device.column-lines"))
    yield Table(header, tuple(rows))
    yield Text(words("device.by-emulation"))
    yield from _mutants(report, words)


def _mutants(report: DeviceReport, words: Catalog) -> Iterator[Block]:
    if not report.mutants:
        return
    yield Heading(2, words("device.heading-mutants"))
    built = [mutant for mutant in report.mutants if mutant.outcome != "not-built"]
    missed = _unnoticed(report)
    yield Text(words("device.mutants", noticed=len(built) - len(missed), all=len(built)))
    code = words.style.code
    rows = []
    for mutant in missed:
        rows.append((code(f"{mutant.path}:{mutant.line}"), code(mutant.before), code(mutant.after)))
    if rows:
        header = tuple(words(f"device.column-{name}") for name in ("what", "line", "mistake"))
        yield Table(header, tuple(rows))
