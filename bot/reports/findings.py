"""The findings: the table that lists them, and each one in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.i18n.catalog import Catalog, place
from bot.i18n.templates import Escaped
from bot.reports.blocks import Block, Code, Heading, Items, Table, Text
from bot.reports.causes import Cause, own_codes
from bot.reports.evidence import evidence_blocks
from checks.core.change import ChangeSet
from checks.core.finding import Edit, Finding, Severity

# Of one cause: other places in its row, and names that make each of them different.
_MOST_LIKEWISE = 8
_MOST_NAMES = 1


def technical(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings about the code. Conventions have a section of their own."""
    return tuple(f for f in findings if f.severity is not Severity.CONVENTION)


def table(causes: Sequence[Cause], words: Catalog) -> Table:
    """One row for each cause: its level, its place, what was seen."""
    header = (words("report.level"), words("report.place"), words("report.seen"))
    return Table(header, tuple(_row(cause, words) for cause in causes), cards=True)


def _row(cause: Cause, words: Catalog) -> tuple[str, ...]:
    first = cause.first
    level = words(f"report.severity-{first.level}")
    where = words.style.code(place(first.location))
    rules = " ".join(words.style.code(rule) for rule in cause.rules)
    return level, where, f"{sentence_of(cause, words)} {rules}"


def sentence_of(cause: Cause, words: Catalog) -> str:
    """What the first finding says, and the other places that have the same cause."""
    first = cause.first
    said = words.message(first.rule, first.message)
    others = [_likewise(finding, first, words) for finding in cause.findings[1:]]
    if not others:
        return said
    shown = words("report.comma").join(others[:_MOST_LIKEWISE])
    return said + words("report.likewise", count=len(others), places=Escaped(shown))


def _likewise(finding: Finding, first: Finding, words: Catalog) -> str:
    """Another finding of the cause: where, and what is different about it."""
    same_file = finding.location.path == first.location.path
    line = f":{finding.location.start_line}"
    where = words.style.code(line if same_file else place(finding.location))
    names = own_codes(finding, first)[:_MOST_NAMES]
    return words("report.likewise-place", place=Escaped(where), names=names)


def detail(
    finding: Finding, change: ChangeSet, words: Catalog, *, patch: bool = True, seen: bool = True
) -> Iterator[Block]:
    """A finding in full.

    With `patch`, its fix is shown as a diff; a review comment has a suggestion instead. Without
    `seen`, what was seen is left out: it has just been said.
    """
    if seen:
        yield Text(words.message(finding.rule, finding.message))
    why, advice = explanations(finding, words)
    if why:
        yield Text(why)
    if finding.unparsed:
        yield Text(words("report.unparsed"))
    yield from evidence_blocks(finding, words)
    if advice:
        yield Text(advice)
    if patch and finding.fix is not None and finding.fix.verified:
        yield Text(words("report.fix"))
        yield Code(tuple(_diff(finding.fix.edits, change)), "diff")
    if finding.related:
        yield Text(words("report.related"))
        yield Items(_related(finding, words))
    yield Text(
        words(
            "report.about",
            rule=finding.rule,
            confidence=confidence(finding, words),
            fingerprint=finding.fingerprint,
        )
    )


def explanations(finding: Finding, words: Catalog) -> tuple[str, str]:
    """Why it matters, and what to do; either may be empty."""
    why = words.detail(finding.rule, finding.message)
    advice = words.advice(finding.rule, finding.message)
    return why, words("report.advice") + advice if advice else ""


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
