"""Why a change was made, in its author's own words: quotes of the description or commit message."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.domain.pull_text.markdown import is_boilerplate
from checks.domain.pull_text.template import find_template
from checks.summary.model import ChangeHistory

_MOST_QUOTES = 6
_SHORTEST_QUOTE = 9
_COMMENT = re.compile(r"<!--.*?-->", re.S)
_HEADING = re.compile(r"^#{1,6}\s+(.*)")
_WHY = re.compile(
    r"motivation|summary|description|background|purpose|modification|what|why"
    r"|动机|背景|目的|修改|描述",
    re.I,
)
_SKIP = re.compile(r"^\s*(?:[-*] \[[ x]\]|Co-authored-by:|Signed-off-by:|---+\s*$|\|)", re.I)
# Text that a template asks its question with, and that authors leave standing.
_PROMPT = re.compile(r"^(?:n/?a|none|no|无|tbd|todo|please .*|请.*)[.。]?$", re.I)
# The next line continues this one where it is indented and is no list item of its own.
_CONTINUATION = re.compile(r"\n[ \t]+(?![*+-]|\d+\.)")
_LIST_MARK = re.compile(r"^\s*(?:>\s*)*(?:(?:[*+-]|\d+\.)\s+)?")


def quote_motivation(change: ChangeSet, config: Config, history: ChangeHistory) -> tuple[str, ...]:
    """At most six quotes in order: of the description, else of the body of the commit message.

    What stands in the repository's template is not the author's.
    """
    quotes: list[str] = []
    if change.pull.known:
        known = find_template(change.base, config, change.pull.body).boilerplate
        lines = change.pull.body.split("\n")
        own = [line for line in lines if _HEADING.match(line) or not is_boilerplate(line, known)]
        quotes = list(_quotes_of_description("\n".join(own)))
    if not quotes:
        commit_body = history.message.partition("\n")[2]
        quotes = list(_quotes_in(commit_body))
    return tuple(dict.fromkeys(quotes))[:_MOST_QUOTES]


def _quotes_of_description(body: str) -> Iterator[str]:
    """The lines under headings that ask for the reason; all lines where there are no headings."""
    lines = _COMMENT.sub("", body).split("\n")
    has_headings = any(_HEADING.match(line) for line in lines)
    explains_why = not has_headings
    for line in lines:
        heading = _HEADING.match(line)
        if heading:
            explains_why = _WHY.search(heading[1]) is not None
        elif explains_why:
            yield from _quotes_in(line)


def _quotes_in(text: str) -> Iterator[str]:
    for line in _CONTINUATION.sub(" ", text).split("\n"):
        quote = _LIST_MARK.sub("", line).strip()
        if len(quote) >= _SHORTEST_QUOTE and not _says_nothing(line, quote):
            yield quote


def _says_nothing(line: str, quote: str) -> bool:
    """Whether the line is a check box, a trailer, a table row, a prompt or a code fence."""
    if _SKIP.match(line) or _PROMPT.match(quote):
        return True
    return quote.startswith("```")
