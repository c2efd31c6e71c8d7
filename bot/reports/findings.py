"""The findings: the table that lists them, and each one in full."""

from __future__ import annotations

from collections.abc import Iterator

from bot.i18n.catalog import Catalog, place
from bot.reports.blocks import Block, Code, Heading, Items, Table, Text
from bot.reports.evidence import evidence_blocks
from checks.core.change import ChangeSet
from checks.core.finding import Edit, Finding, Severity


def technical(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings about the code. Conventions have a section of their own."""
    return tuple(f for f in findings if f.severity is not Severity.CONVENTION)


def table(findings: tuple[Finding, ...], words: Catalog) -> Table:
    """One row for each finding: its level, its place, what was seen."""
    header = (words("report.level"), words("report.place"), words("report.seen"))
    return Table(header, tuple(row(finding, words) for finding in findings))


def row(finding: Finding, words: Catalog) -> tuple[str, ...]:
    """The cells of one finding in `table`."""
    level = words(f"report.severity-{finding.level}")
    where = words.style.code(place(finding.location))
    seen = words.message(finding.rule, finding.message)
    return level, where, f"{seen} {words.style.code(finding.rule)}"


def detail(
    finding: Finding, change: ChangeSet, words: Catalog, *, patch: bool = True
) -> Iterator[Block]:
    """A finding in full.

    With `patch`, its fix is shown as a diff; a review comment has a suggestion instead.
    """
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
        yield Items(_related(finding, words))
    yield Text(words("report.about", rule=finding.rule, confidence=confidence(finding, words)))


def _related(finding: Finding, words: Catalog) -> tuple[str, ...]:
    lines = []
    for related in finding.related:
        where = words("report.related-item", place=related.location)
        lines.append(where + words.message(finding.rule, related.message))
    return tuple(lines)


def confidence(finding: Finding, words: Catalog) -> str:
    """How sure the finding is, in words."""
    return words(f"report.confidence-{finding.confidence}")


def heading(finding: Finding, words: Catalog) -> Heading:
    """The heading of a finding: its level and its place."""
    level = words(f"report.severity-{finding.level}")
    where = words.style.code(place(finding.location))
    return Heading(3, f"{level} {where}", finding.level)


def _diff(edits: tuple[Edit, ...], change: ChangeSet) -> Iterator[str]:
    """The edits as a unified diff without context, by path and line."""
    path = ""
    for edit in sorted(edits, key=lambda e: (e.path, e.start_line)):
        if edit.path != path:
            path = edit.path
            yield f"--- a/{path}"
            yield f"+++ b/{path}"
        data = change.head.read(path) or b""
        all_lines = data.decode("utf-8", "replace").split("\n")
        replaced = all_lines[edit.start_line - 1 : edit.end_line]
        yield f"@@ -{edit.start_line},{len(replaced)} +{edit.start_line},{len(edit.lines)} @@"
        for line in replaced:
            yield "-" + line.rstrip("\r")
        for line in edit.lines:
            yield f"+{line}"
