"""The whole report as blocks, in the order in which it is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bot.i18n.catalog import Catalog, place
from bot.reports.report import Report
from bot.reports.blocks import Block, Code, Folded, Heading, Items, Text
from bot.reports.findings import detail, heading, table, technical
from bot.reports.paste_blocks import pasted
from bot.reports.summary import summary_blocks
from checks.core.finding import Finding, Severity

_LEVELS = (*map(str, Severity), "answered")
_STOPS = ("。", "！", "？", ".", "!", "?")


def document(report: Report, words: Catalog) -> Iterator[Block]:
    """Summary, findings, each finding in full, conventions, judgement, and what was not analysed."""
    found = technical(report.review.findings)
    yield from opening_blocks(report, words)
    if found:
        yield Heading(2, words("report.heading-details"))
        yield from detail_blocks(found, report, words)
    yield from convention_blocks(report, words)
    yield from verdict_blocks(report, words)
    yield from closing_blocks(report, words)


def opening_blocks(report: Report, words: Catalog) -> Iterator[Block]:
    """What the change does, and the table of findings."""
    found = technical(report.review.findings)
    yield Heading(2, words("report.heading-summary"))
    yield from summary_blocks(report, words)
    yield Heading(2, words("report.heading-findings"))
    yield table(found, words) if found else Text(words("report.no-findings"))


def detail_blocks(findings: Iterable[Finding], report: Report, words: Catalog) -> Iterator[Block]:
    """Each finding under a heading of its own."""
    for finding in findings:
        yield heading(finding, words)
        yield from detail(finding, report.review.change, words)


def convention_blocks(report: Report, words: Catalog) -> Iterator[Block]:
    """What the project's own rules for pull requests ask for, with text to paste."""
    findings = tuple(f for f in report.review.findings if f.severity is Severity.CONVENTION)
    yield Heading(2, words("report.heading-convention"))
    if not findings:
        known = report.review.change.pull.known
        yield Text(words("report.convention-kept" if known else "report.convention-unknown"))
        return
    yield Items(tuple(_convention(f, words) for f in findings))
    for title in _texts(findings, "title", words):
        yield Text(words("report.paste-title"))
        yield Code((title,))
    for body in _texts(findings, "body", words):
        yield Folded(
            words("report.paste-body"), (Code(tuple(body.rstrip("\n").split("\n")), "markdown"),)
        )


def _texts(findings: Iterable[Finding], key: str, words: Catalog) -> dict[str, None]:
    """What the findings propose, each text once."""
    return dict.fromkeys(
        pasted(f.message.args[key], words) for f in findings if f.message.args.get(key)
    )


def _convention(finding: Finding, words: Catalog) -> str:
    said = [
        words.message(finding.rule, finding.message),
        words.detail(finding.rule, finding.message),
        words.advice(finding.rule, finding.message),
    ]
    stop = words("report.stop")
    text = "".join(
        s + (" " if stop.endswith(" ") else "") if s.endswith(_STOPS) else s + stop
        for s in said
        if s
    )
    where = [words.style.code(place(finding.location))] if finding.location.start_line else []
    return " ".join([text.rstrip(), *where, words.style.code(finding.rule)])


def verdict_blocks(report: Report, words: Catalog) -> Iterator[Block]:
    """The judgement, and the counts and rules that it rests on."""
    review = report.review
    yield Heading(2, words("report.heading-verdict"))
    yield Text(words(f"report.verdict-{review.verdict}"))
    lines = []
    for level in _LEVELS:
        rules: dict[str, list[Finding]] = {}
        for finding in review.findings:
            if finding.level == level:
                rules.setdefault(finding.rule, []).append(finding)
        lines += [
            words(
                "report.verdict-rule",
                level=level,
                count=len(found),
                rule=rule,
            )
            + words.summary(rule)
            for rule, found in rules.items()
        ]
    if lines:
        yield Items(tuple(lines))
    found = {f.rule for f in review.findings}
    known = review.change.pull.known
    quiet = [
        r for r in report.rules if r not in found and (known or not r.startswith("convention."))
    ]
    if quiet:
        yield Text(words("report.quiet", rules=quiet))


def closing_blocks(report: Report, words: Catalog) -> Iterator[Block]:
    """What was not looked at, and remarks on the run."""
    missing = report.review.not_analysed
    if missing:
        yield Heading(2, words("report.heading-not-analysed"))
        yield Items(
            tuple(
                words("report.not-analysed", path=path) + words(f"report.reason-{reason}")
                for path, reason in missing
            )
        )
    if report.notes:
        yield Heading(2, words("report.heading-notes"))
        yield Items(tuple(words(f"notes.{n.key}", **n.args) for n in report.notes))
