"""A Python file without the insides of its functions.

`ast` makes an object of every node, and most of them stand in functions that nobody asks about. Where the text alone
shows that the inside of a function defines nothing that is seen from outside, it is left out, at its own lines.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

_TRIPLE = (
    r'"""[^"\\]*+(?:(?:\\.|"{1,2}+(?!"))[^"\\]*+)*+"""'
    r"|'''[^'\\]*+(?:(?:\\.|'{1,2}+(?!'))[^'\\]*+)*+'''"
)
# One that does not end is its three quotes, or the rest of its line.
_TOKEN = (
    rf"{_TRIPLE}|\"\"\"|'''"
    r'|"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"?'
    r"|'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'?"
    r"|#[^\n]*+"
)
_TOKENS = re.compile(_TOKEN, re.DOTALL)
# What stands around functions is read token by token, so that no `def` in a string counts. Each form begins with a
# plain character (a line with the end of the one before it): only then are others stepped over at a search's speed.
_PARTS = re.compile(
    rf"{_TOKEN}"
    r"|\n(?P<indent> *+)(?:async +)?def +\w+ *"
    # to the first line that can end the parameters
    r"(?P<head>\((?:[^\n]*\) *(?:->[^\n]*)?|[^\n]*+\n(?:(?P=indent) [^\n]*+\n| *+\n)*?"
    r"(?P=indent)(?: [^\n]*)?\) *(?:->[^\n]*)?): *(?:#[^\n]*)?\n)",
    re.DOTALL,
)
_FIRST = re.compile(r"(?: *(?:#[^\n]*)?\n)* *")
_DOC = re.compile(
    rf"[rRuU]?(?:{_TRIPLE}|\"[^\"\\\n]+\"|'[^'\\\n]+') *(?:#[^\n]*)?(?:\n|\Z)",
    re.DOTALL,
)
_TEXT = re.compile(r"[A-Za-z]{0,2}[\"']")
_WORDS = ("def ", "class ", "import")
# At the start of a statement, behind what ends the one before it.
_DEFINES = re.compile(r"[\n:;] *(?:def|class|async|import|from)\b")


def outline(text: str, wanted: Sequence[int] = ()) -> str:
    """`text`, with the insides that show nothing replaced by a `0` on their last lines; docstrings stay, and so does a
    function in whose lines one of the places `wanted` is, which are in order."""
    return text if "\t" in text or "\f" in text else _outlined(f"\n{text}", wanted)[1:]


def _outlined(text: str, wanted: Sequence[int]) -> str:
    """The outline of lines that each have a line's end before them, which `wanted` does not count."""
    parts: list[str] = []
    at = done = 0
    while part := _PARTS.search(text, at):
        at = part.end()
        if part["indent"] is None:
            continue
        after = _margin(len(part["indent"])).search(text, at - 1)
        start, at = at, after.start() if after else len(text)
        code = _code(text[start:at])
        hollow = None if _open(part["head"]) else _hollow(code)
        if hollow is None:
            return text
        end = start + len(code)
        if bisect_left(wanted, part.start()) == bisect_left(wanted, end - 1):
            parts += (text[done:start], hollow)
            done = end
    return "".join((*parts, text[done:]))


@cache
def _margin(indent: int) -> re.Pattern[str]:
    """The end of the line before one that stands out at least as far as `indent`."""
    return re.compile(rf"\n {{0,{indent}}}[^ #\n]")


def _code(inside: str) -> str:
    """Without the blank lines and comments at the end, which belong to nothing."""
    code = inside.rstrip()
    while (last := code.rfind("\n") + 1) and code[last:].lstrip().startswith("#"):
        code = code[:last].rstrip()
    return code


def _hollow(code: str) -> str | None:
    """The lines of a function's inside without what need not be seen; None where it goes on behind them."""
    first = _FIRST.match(code)
    start = first.end() if first else 0
    doc = _DOC.match(code, start)
    indent = code[code.rfind("\n", 0, start) + 1 : start]
    kept = doc.end() if doc else start - len(indent)
    rest = code[kept:]
    if rest.endswith("\\") or _open(rest):
        return None
    if not rest or (not doc and _TEXT.match(code, start)):
        return code
    return code[:kept] + (_defining(rest, indent) if _defines(rest) else _nothing(rest, indent))


def _defines(code: str) -> bool:
    return any(word in code for word in _WORDS) and _DEFINES.search(f"\n{code}") is not None


def _nothing(code: str, indent: str) -> str:
    """As many lines as `code` has, and the last of them a statement."""
    tail = "\n" if code.endswith("\n") else ""
    return "".join(("\n" * (code.count("\n") - len(tail)), indent, "0", tail))


def _defining(code: str, indent: str) -> str:
    """The statements of a function that define something, nothing in place of the others, and the outlines of the
    functions among them. What looks like the start of a statement, but lies between brackets, leaves a part behind
    that does not parse."""
    if '"""' in code or "'''" in code or "\\\n" in code:
        return code
    starts = [0, *[m.start() + 1 for m in _statement(indent).finditer(code)], len(code)]
    spots = [m.start() for m in _DEFINES.finditer(f"\n{code}")]
    parts: list[str] = []
    done = 0
    for start, end in pairwise(starts):
        if code.startswith("@", start + len(indent)) or bisect_left(spots, start) < bisect_left(
            spots, end
        ):
            if done < start:
                parts.append(_nothing(code[done:start], indent))
            parts.append(outline(code[start:end]))
            done = end
    if done < len(code):
        parts.append(_nothing(code[done:], indent))
    return "".join(parts)


@cache
def _statement(indent: str) -> re.Pattern[str]:
    """The line's end before a statement that stands at `indent` and does not go on with the one before it."""
    return re.compile(rf"\n{indent}(?![ #)\]}}\n]|(?:else|elif|except|finally)\b)")


def _open(text: str) -> bool:
    """Whether a string over several lines may begin in `text` and not end there."""
    return ('"""' in text or "'''" in text) and not {'"""', "'''"}.isdisjoint(_TOKENS.findall(text))
