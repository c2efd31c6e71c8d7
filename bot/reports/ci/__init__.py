"""The CI report in every output: terminal, markdown, json, html, and the comment for GitHub."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from bot.comment_text import utf16_length
from bot.i18n.catalog import Catalog
from bot.i18n.escape import Markdown, Plain
from bot.redact import redact
from bot.reports import html, json_v1, markdown, terminal
from bot.reports.blocks import Block, Heading
from bot.reports.ci.details import details
from bot.reports.ci.extras import coverage, notes, past, predictions, since
from bot.reports.ci.overview import opening, overview
from bot.reports.ci.phrasing import LEVELS, Level
from bot.reports.ci.tasks import tasks
from bot.reports.truncate import fit
from checks.ci.report import CIReport
from checks.ci.report_diff import ReportDiff

# What GitHub takes in a comment is 65,536 characters; some room is left for the marks of ours.
LARGEST = 65_000


@dataclass(frozen=True, slots=True)
class CIView:
    """A report, and what changed since the last one where that is known."""

    report: CIReport
    since: ReportDiff | None = None


def render(view: CIView, output: str, language: str) -> str:
    """The report with secrets removed.

    `output` is `terminal`, `markdown`, `json`, `html` or `github`, which is a comment's body.
    """
    if output == "json":
        return redact(_json(view, language))
    if output == "html":
        words = html.words_for(language)
        return redact(html.page(title(view, Catalog(language)), document(view, words), language))
    if output == "github":
        return comment(view, language)
    if output == "markdown":
        words = Catalog(language, Markdown())
        return redact(
            markdown.write_document([Heading(1, title(view, words)), *document(view, words)])
        )
    words = Catalog(language, Plain())
    return redact(
        terminal.write_for_terminal([Heading(2, title(view, words)), *document(view, words)])
    )


def _json(view: CIView, language: str) -> str:
    data = {
        "version": 1,
        "language": language,
        **json_v1.plain(view.report),
        "since": json_v1.plain(view.since),
    }
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


def comment(view: CIView, language: str) -> str:
    """The comment's body, within GitHub's size whatever the input.

    What matters least is shortened first.
    """
    words = Catalog(language, Markdown())
    heading = Heading(2, title(view, words))
    for level in LEVELS:
        text = _write_within_limit([heading], document(view, words, level))
        if text is not None:
            return text
    return redact(fit([heading, *document(view, words, LEVELS[-1])], LARGEST, words))


def _write_within_limit(heading: list[Block], blocks: Iterable[Block]) -> str | None:
    """The blocks as Markdown with secrets removed, or None as soon as they are too long."""
    parts: list[str] = []
    room = LARGEST
    for block in chain(heading, blocks):
        part = redact(markdown.write(block))
        parts.append(part)
        room -= utf16_length(part) + 2
        if room < 0:
            return None
    return markdown.join(parts)


def explanations(report: CIReport, language: str) -> list[dict[str, str]]:
    """What the report says of each failed job, as Markdown with secrets removed."""
    words = Catalog(language, Markdown())
    texts = []
    for failed in report.failed:
        # Without its heading: whoever asks has named the job.
        alone = replace(report, failed=(failed,))
        blocks = [block for block in details(alone, words, LEVELS[0])][1:]
        text = redact(fit(blocks, LARGEST, words))
        job = failed.job
        texts.append({"id": job.id, "name": job.name, "workflow": job.workflow, "text": text})
    return texts


def title(view: CIView, words: Catalog) -> str:
    """The title: the pull request's where there is one."""
    pull = view.report.run.pull
    if not pull.number:
        return words("ci.title")
    return words("ci.title-of", repo=pull.repo, number=pull.number, title=pull.title)


def document(view: CIView, words: Catalog, level: Level = LEVELS[0]) -> Iterator[Block]:
    """Every section, in reading order; `level` says how much of each."""
    report = view.report
    yield from opening(report, words)
    if view.since is not None:
        yield from since(view.since, words)
    yield from overview(report, words)
    yield from tasks(report, words, level)
    yield from details(report, words, level)
    yield from predictions(report, words)
    if report.coverage is not None and level.coverage:
        yield from coverage(report.coverage, words)
    if level.past:
        yield from past(report, words)
    yield from notes(report, words, shortened=level is not LEVELS[0])
