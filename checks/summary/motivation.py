"""Why a change was made, in its author's own words: sentences of the description, else of the commit message."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import PullRequest
from checks.summary.model import History

_MOST = 6
_COMMENT = re.compile(r"<!--.*?-->", re.S)
_HEADING = re.compile(r"^#{1,6}\s+(.*)")
_WHY = re.compile(
    r"motivation|summary|description|background|purpose|modification|what|why|动机|背景|目的|修改|描述",
    re.I,
)
_SKIP = re.compile(r"^\s*(?:[-*] \[[ x]\]|Co-authored-by:|Signed-off-by:|---+\s*$|\|)", re.I)
# What a template asks with and authors leave standing.
_PROMPT = re.compile(r"^(?:n/?a|none|no|无|tbd|todo|please .*|请.*)[.。]?$", re.I)


def motivation(pull: PullRequest, history: History) -> tuple[str, ...]:
    """Quotes, in order, at most six."""
    body = [*_told(pull.body)] if pull.known else []
    quotes = body or [*_lines(history.message.partition("\n")[2])]
    return tuple(dict.fromkeys(quotes))[:_MOST]


def _told(body: str) -> Iterator[str]:
    """The lines under the headings that say why; the whole text where it has no headings."""
    text = _COMMENT.sub("", body)
    headed = any(_HEADING.match(line) for line in text.split("\n"))
    telling = not headed
    for line in text.split("\n"):
        heading = _HEADING.match(line)
        if heading:
            telling = bool(_WHY.search(heading[1]))
        elif telling:
            yield from _lines(line)


def _lines(text: str) -> Iterator[str]:
    # A line that goes on where the one before it stopped: indented, without a mark of its own.
    for line in re.sub(r"\n[ \t]+(?![*+-]|\d+\.)", " ", text).split("\n"):
        said = re.sub(r"^\s*(?:[*+-]|\d+\.)\s+", "", line).strip()
        if (
            len(said) > 8
            and not _SKIP.match(line)
            and not _PROMPT.match(said)
            and not said.startswith("```")
        ):
            yield said
