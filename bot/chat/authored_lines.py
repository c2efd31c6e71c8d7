"""Which lines of a comment are its author's own words: not quoted, not code, not hidden.

Two readings are taken, and a line counts only where both agree: Markdown's own, and a wider one
that also sees fences behind list marks, quote marks and any indentation. What a reader might take
for code or a quotation is no command.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from bot.chat.html_lines import lines_in_html
from bot.chat.link_lines import lines_in_links

_END = re.compile(r"\r\n|\n|\r")
_STRICT = re.compile(r" {0,3}(`{3,}(?!.*`)|~{3,})(.*)")
_WIDE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t>]+)*(`{3,}(?!.*`)|~{3,})(.*)")
_QUOTE = re.compile(r"[ \t]*>")
_COMMENT, _COMMENT_END = "<!--", "-->"
_TICKS = re.compile(r"`+")


def authored_lines(body: str) -> list[str]:
    """The lines that count, in order. Lines end as Markdown's do: U+2028 and a form feed end
    none."""
    lines = _END.split(body)
    quoted = set(_quoted(lines))
    excluded: set[int] = set()
    for opening in (_STRICT, _WIDE):
        fenced = set(_fenced(lines, opening))
        blocks = quoted | fenced
        excluded |= blocks
        excluded |= set(lines_in_html(lines, fenced))
        for paragraph in _paragraphs(lines, blocks):
            excluded |= set(_spans(lines, paragraph))
            excluded |= set(lines_in_links(lines, paragraph))
    return [line for number, line in enumerate(lines) if number not in excluded]


def _fenced(lines: Iterable[str], opening: re.Pattern[str]) -> Iterator[int]:
    """Lines in a fenced block, or in an HTML comment that begins a line.

    What is not closed goes on to the end.
    """
    fence = ""
    hidden = False
    for number, line in enumerate(lines):
        if fence:
            yield number
            if _closes(opening.fullmatch(line), fence):
                fence = ""
        elif hidden:
            yield number
            hidden = _COMMENT_END not in line
        elif match := opening.fullmatch(line):
            yield number
            fence = match[1]
        elif line.lstrip(" ").startswith(_COMMENT):
            yield number
            hidden = _COMMENT_END not in line[line.index(_COMMENT) + len(_COMMENT) :]


def _closes(match: re.Match[str] | None, fence: str) -> bool:
    """Whether a line ends the block that `fence` began: a fence as long, and nothing after it."""
    return match is not None and match[1].startswith(fence) and not match[2].strip()


def _quoted(lines: Iterable[str]) -> Iterator[int]:
    """Quoted lines with those that follow without a blank one, which Markdown takes into the
    quotation."""
    inside = False
    for number, line in enumerate(lines):
        continues = inside and line.strip() != ""
        inside = continues or _QUOTE.match(line) is not None
        if inside:
            yield number


def _paragraphs(lines: list[str], excluded: set[int]) -> Iterator[list[int]]:
    """The numbers of lines that follow each other without a blank one."""
    paragraph: list[int] = []
    for number, line in enumerate(lines):
        if line.strip() and number not in excluded:
            paragraph.append(number)
        else:
            yield paragraph
            paragraph = []
    yield paragraph


def _spans(lines: list[str], paragraph: list[int]) -> Iterator[int]:
    """The paragraph's lines that begin within a code span: between two runs of as many
    backticks."""
    runs = [
        (number, len(match[0])) for number in paragraph for match in _TICKS.finditer(lines[number])
    ]
    # The indices of the runs of each length that are still to come, the next one last.
    later: dict[int, list[int]] = {}
    for index in reversed(range(len(runs))):
        later.setdefault(runs[index][1], []).append(index)
    index = 0
    while index < len(runs):
        number, length = runs[index]
        same_length = later[length]
        while same_length and same_length[-1] <= index:
            same_length.pop()
        if same_length:
            closing = same_length[-1]
            yield from range(number + 1, runs[closing][0] + 1)
            index = closing
        index += 1
