"""The findings: the table that lists them, and each one in full."""

from __future__ import annotations

from collections.abc import Iterator

from bot.i18n.catalog import Catalog, place
from bot.reports.blocks import Block, Code, Heading, Items, Table, Text
from bot.reports.evidence import evidence_blocks
from checks.core.change import ChangeSet
from checks.core.finding import Edit, Finding, Severity


def technical(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """What is about the code; conventions have a section of their own."""
    return tuple(f for f in findings if f.severity is not Severity.CONVENTION)


def table(findings: tuple[Finding, ...], words: Catalog) -> Table:
    """One row a finding: level, place, what was seen."""
    header = (words("report.level"), words("report.place"), words("report.seen"))
    return Table(header, tuple(row(f, words) for f in findings))


def row(finding: Finding, words: Catalog) -> tuple[str, ...]:
    seen = words.message(finding.rule, finding.message)
    where = words.style.code(place(finding.location))
    return (
        words(f"report.severity-{finding.level}"),
        where,
        f"{seen} {words.style.code(finding.rule)}",
    )


def detail(
    finding: Finding, change: ChangeSet, words: Catalog, *, patch: bool = True
) -> Iterator[Block]:
    """A finding in full. With `patch` its fix is shown as a diff; a review comment shows a suggestion instead."""
    yield Text(words.message(finding.rule, finding.message))
    why = words.detail(finding.rule, finding.message)
    if why:
        yield Text(why)
    if finding.unparsed:
        yield Text(words("report.unparsed"))
    yield from evidence_blocks(finding, words)
    advice = words.advice(finding.rule, finding.message)
    if advice:
        yield Text(words("report.advice") + advice)
    if patch and finding.fix is not None and finding.fix.verified:
        yield Text(words("report.fix"))
        yield Code(tuple(_diff(finding.fix.edits, change)), "diff")
    if finding.related:
        yield Text(words("report.related"))
        yield Items(
            tuple(
                words("report.related-item", place=r.location)
                + words.message(finding.rule, r.message)
                for r in finding.related
            )
        )
    yield Text(words("report.about", rule=finding.rule, confidence=confidence(finding, words)))


def confidence(finding: Finding, words: Catalog) -> str:
    return words(f"report.confidence-{finding.confidence}")


def heading(finding: Finding, words: Catalog) -> Heading:
    return Heading(
        3,
        f"{words(f'report.severity-{finding.level}')} {words.style.code(place(finding.location))}",
        finding.level,
    )


def _diff(edits: tuple[Edit, ...], change: ChangeSet) -> Iterator[str]:
    """The edits as a unified diff without context, in path and line order."""
    seen = ""
    for edit in sorted(edits, key=lambda e: (e.path, e.start_line)):
        if edit.path != seen:
            yield f"--- a/{edit.path}"
            yield f"+++ b/{edit.path}"
            seen = edit.path
        data = change.head.read(edit.path) or b""
        lines = data.decode("utf-8", "replace").split("\n")[edit.start_line - 1 : edit.end_line]
        yield f"@@ -{edit.start_line},{len(lines)} +{edit.start_line},{len(edit.lines)} @@"
        yield from (f"-{line.rstrip(chr(13))}" for line in lines)
        yield from (f"+{line}" for line in edit.lines)
