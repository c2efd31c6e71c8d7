"""Which lines of a comment begin within HTML that shows them as code or as a quotation, or not at
all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

# Elements that GitHub shows as code or as a quotation, and those that it does not show.
_QUOTED = ("pre", "code", "samp", "kbd", "tt", "xmp", "blockquote")
_NOT_SHOWN = ("script", "style", "template", "textarea")
_ELEMENTS = (*_QUOTED, *_NOT_SHOWN)
_TEXT = "text"
_TAG = "tag"
# What begins each part, in lower case.
_ELEMENT_BEGINS = {name: rf"<{name}(?=[\s/>])" for name in _ELEMENTS}
_BEGINS = {
    "comment": r"<!--",
    "cdata": r"<!\[cdata\[",
    "declaration": r"<![a-z]",
    "program": r"<\?",
    **_ELEMENT_BEGINS,
    _TAG: r"</?[a-z]",
}
_QUOTES = {"double": '"', "single": "'"}


def _marks(end: str, begins: Mapping[str, str]) -> re.Pattern[str]:
    """What ends a part, or begins the one that the group is named after."""
    named = [f"(?P<{name}>{mark})" for name, mark in begins.items()]
    return re.compile("|".join([end, *named]))


# What looks like a tag or like a value in quotes may be none, so that others begin in it too.
_MARKS = {
    _TEXT: _marks(r"(?!)", _BEGINS),
    "comment": _marks(r"-->", {}),
    "cdata": _marks(r"\]\]>", {}),
    "declaration": _marks(r">", {}),
    "program": _marks(r"\?>", {}),
    _TAG: _marks(r">", _QUOTES | _BEGINS),
    **{name: _marks(mark, _ELEMENT_BEGINS) for name, mark in _QUOTES.items()},
    **{name: _marks(f"</{name}", _BEGINS) for name in _ELEMENTS},
}


def lines_in_html(lines: Sequence[str], skipped: set[int]) -> Iterator[int]:
    """The numbers of lines, but for the `skipped`, that begin within such a part.

    A part that is not closed goes on to the end; a tag to the next blank line, which ends it where
    it is none that Markdown knows.
    """
    parts: list[str] = []
    for number, line in enumerate(lines):
        while parts and parts[-1] == _TAG and not line.strip():
            parts.pop()
        if number in skipped:
            continue
        if parts:
            yield number
        _read(line.lower(), parts)


def _read(line: str, parts: list[str]) -> None:
    """Bring `parts`, those that are open, the innermost last, to the end of the line."""
    at = 0
    while mark := _MARKS[parts[-1] if parts else _TEXT].search(line, at):
        at = mark.end()
        if mark.lastgroup:
            parts.append(mark.lastgroup)
        else:
            parts.pop()
