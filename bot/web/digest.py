"""The digest: what the reviews of the last days said, for who reads it once a week."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.i18n.catalog import Catalog
from bot.i18n.escape import Markdown
from bot.reports import markdown, terminal
from bot.reports.blocks import Block, Heading, Table, Text
from bot.web.page_store import PullRow

_COLUMNS = ("pull", "title", "verdict", "bugs", "suggestions", "questions")


def render(pulls: Sequence[PullRow], days: int, form: str, language: str) -> str:
    """The digest as `markdown` or `terminal`."""
    if form == "markdown":
        return markdown.write_document(_blocks(pulls, days, Catalog(language, Markdown())))
    return terminal.write_for_terminal(_blocks(pulls, days, Catalog(language)))


def _blocks(pulls: Sequence[PullRow], days: int, words: Catalog) -> Iterator[Block]:
    yield Heading(2, words("digest.title", days=days))
    quiet = sum(not (pull.bugs or pull.suggestions or pull.questions) for pull in pulls)
    bugs = sum(pull.bugs for pull in pulls)
    yield Text(words("digest.totals", pulls=len(pulls), quiet=quiet, bugs=bugs))
    worst_first = sorted(pulls, key=lambda pull: (-pull.bugs, -pull.suggestions, pull.number))
    rows = [_row(pull, words) for pull in worst_first]
    if rows:
        yield Table(tuple(words(f"digest.column-{name}") for name in _COLUMNS), tuple(rows))


def _row(pull: PullRow, words: Catalog) -> tuple[str, ...]:
    verdict = words(f"digest.verdict-{pull.verdict}") if pull.verdict else ""
    numbers = (str(pull.bugs), str(pull.suggestions), str(pull.questions))
    name = words("digest.pull", name=f"{pull.repository}#{pull.number}")
    return name, words("digest.pull-title", title=pull.title), verdict, *numbers
