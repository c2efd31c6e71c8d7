"""The whole report as blocks, in the order in which it is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bot.i18n.catalog import Catalog, place
from bot.reports.blocks import Block, Code, Folded, Heading, Items, Text
from bot.reports.causes import group_by_cause
from bot.reports.findings import detail, explanations, heading, table, technical
from bot.reports.paste_blocks import paste_text
from bot.reports.report import Report
from bot.reports.summary import change_blocks, summary_blocks
from bot.reports.title_proposal import content_title
from checks.core.finding import Finding, Severity
from checks.rules.convention import title

_STOPS = ("。", "！", "？", ".", "!", "?")


def document(report: Report, words: Catalog) -> Iterator[Block]:
    """What a reader has to know, and folded behind it what it rests on."""
    findings = technical(report.review.findings)
    yield from opening_blocks(report, words)
    if findings:
        details = tuple(detail_blocks(findings, report, words))
        yield Folded(words("report.heading-details"), details)
    yield from convention_blocks(report, words)
    yield from closing_blocks(report, words)
    yield from background_blocks(report, words)


def opening_blocks(report: Report, words: Catalog) -> Iterator[Block]:
    """What the change does, the verdict, and the table of causes."""
    findings = technical(report.review.findings)
    yield Heading(2, words("report.heading-summary"))
    yield from summary_blocks(report, words)
    if not report.facts.files:
        return
    yield Text(words(f"report.verdict-{report.review.verdict}"))
    if findings:
        yield Heading(2, words("report.heading-findings"))
        yield table(group_by_cause(findings), words)


def detail_blocks(
    findings: Iterable[Finding], report: Report, words: Catalog, *, seen: bool = False
) -> Iterator[Block]:
    """Each finding under a heading of its own; `seen` says again what the table says.

    What explains a finding, and what to do about it, is said once for all that it fits.
    """
    said: set[str] = set()
    for finding in findings:
        yield heading(finding, words)
        for block in detail(finding, report.review.change, words, seen=seen):
            if not (isinstance(block, Text) and block.text in said):
                yield block
        said.update(explanations(finding, words))


def convention_blocks(report: Report, words: Catalog) -> Iterator[Block]:
    """What the project's own rules for pull requests ask for, with text to paste."""
    findings = [f for f in report.review.findings if f.severity is Severity.CONVENTION]
    if not findings and not report.facts.files:
        return
    if not findings:
        known = report.review.change.pull.known
        yield Text(words("report.convention-kept" if known else "report.convention-unknown"))
        return
    yield Heading(2, words("report.heading-convention"))
    yield Items(tuple(_convention(finding, words) for finding in findings))
    yield from _titles(findings, report, words)
    for body in _proposed_texts(findings, "body", words):
        lines = tuple(body.rstrip("\n").split("\n"))
        yield Folded(words("report.paste-body"), (Code(lines, "markdown"),))


def _titles(findings: Sequence[Finding], report: Report, words: Catalog) -> Iterator[Block]:
    """The author's words with the tags mended, and a title that says what the change does."""
    mended = _proposed_texts(findings, "title", words)
    telling = [
        content_title(finding, report.headline) for finding in findings if finding.rule == title.ID
    ]
    for text in mended:
        yield Text(words("report.paste-title"))
        yield Code((text,))
    for text in filter(None, telling):
        yield Text(words("report.paste-content-title"))
        yield Code((text,))


def _proposed_texts(findings: Iterable[Finding], key: str, words: Catalog) -> list[str]:
    """What the findings propose as title or body, each text once."""
    texts: dict[str, None] = {}
    for finding in findings:
        proposed = finding.message.args.get(key)
        if proposed:
            texts[paste_text(proposed, words)] = None
    return list(texts)


def _convention(finding: Finding, words: Catalog) -> str:
    """One finding as a line: what it says, its place, its rule."""
    sentences = [
        words.message(finding.rule, finding.message),
        words.advice(finding.rule, finding.message),
    ]
    text = "".join(_with_stop(sentence, words) for sentence in sentences if sentence)
    parts = [text.rstrip()]
    if finding.location.start_line:
        parts.append(words.style.code(place(finding.location)))
    parts.append(words.style.code(finding.rule))
    return " ".join(parts)


def _with_stop(sentence: str, words: Catalog) -> str:
    """The sentence with a full stop of its language, and the blank that English has after it."""
    stop = words("report.stop")
    if not sentence.endswith(_STOPS):
        return sentence + stop
    return f"{sentence} " if stop.endswith(" ") else sentence


def background_blocks(report: Report, words: Catalog) -> Iterator[Block]:
    """Folded: what changed file by file, and which rules ran without finding anything."""
    changes = tuple(change_blocks(report, words))
    if changes:
        yield Folded(words("report.what-changed"), changes)
    if report.page:
        yield Text(words.style.link(words("report.page"), report.page))
    quiet = _quiet_rules(report)
    if quiet and report.facts.files:
        blocks = (Text(words("report.quiet", rules=quiet)),)
        yield Folded(words("report.heading-quiet", count=len(quiet)), blocks)


def _quiet_rules(report: Report) -> list[str]:
    """The rules that had something to look at and found nothing.

    Conventions look at the pull request, device rules at what executed code did.
    """
    change = report.review.change
    blind = []
    if not change.pull.known:
        blind.append("convention.")
    if not change.observations:
        blind.append("device.")
    loud = {finding.rule for finding in report.review.findings}
    return [rule for rule in report.rules if rule not in loud and not rule.startswith(tuple(blind))]


def closing_blocks(report: Report, words: Catalog) -> Iterator[Block]:
    """What was not looked at, and remarks on the run."""
    lines = []
    for path, reason in report.review.not_analysed:
        lines.append(words("report.not-analysed", path=path) + words(f"report.reason-{reason}"))
    if lines:
        yield Heading(2, words("report.heading-not-analysed"))
        yield Items(tuple(lines))
    if report.notes:
        yield Heading(2, words("report.heading-notes"))
        yield Items(tuple(words(f"notes.{note.key}", **note.args) for note in report.notes))
