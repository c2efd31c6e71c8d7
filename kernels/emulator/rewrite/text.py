"""Positions in C++ text: what is code, and where a bracket closes."""

from __future__ import annotations

import re

_NO_CODE = re.compile(
    r"//(?:\\\n|[^\n])*"
    r"|/\*.*?\*/"
    r'|R"(?P<delimiter>[^\s()\\]{0,16})\(.*?\)(?P=delimiter)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)
_NOT_NEWLINE = re.compile(r"[^\n]")
# 1'000'000 is a number, not a character.
_DIGIT_SEPARATOR = re.compile(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])")
_PAIRS = {"(": ")", "[": "]", "{": "}"}


class UnbalancedBracket(ValueError):
    """A bracket that is never closed: the text is not C++."""


def mask(text: str) -> str:
    """`text` with comments and the contents of literals as blanks: every position stays."""
    plain = _DIGIT_SEPARATOR.sub(" ", text)
    return _NO_CODE.sub(_blank, plain)


def _blank(match: re.Match[str]) -> str:
    literal = match[0]
    blank = _NOT_NEWLINE.sub(" ", literal)
    if literal.startswith("/"):
        return blank
    # A literal stays an operand.
    return '"' + blank[1:-1] + '"' if len(blank) > 1 else blank


def closing(code: str, position: int) -> int:
    """The position of the bracket that closes the one at `position` of masked text."""
    stack: list[str] = []
    for index in range(position, len(code)):
        character = code[index]
        if character in _PAIRS:
            stack.append(_PAIRS[character])
        elif stack and character == stack[-1]:
            stack.pop()
            if not stack:
                return index
    raise UnbalancedBracket(position)


def opening(code: str, position: int, pair: str) -> int:
    """The position of the bracket that the one at `position` closes; `pair` is like `()`."""
    depth = 0
    index = position
    while index >= 0:
        if code[index] == pair[1]:
            depth += 1
        elif code[index] == pair[0]:
            depth -= 1
            if depth == 0:
                return index
        elif code[index] == ")":
            # A comparison within parentheses is no angle bracket.
            index = opening(code, index, "()")
        index -= 1
    raise UnbalancedBracket(position)


def line_breaks(before: str, after: str) -> str:
    """The line breaks that `after` lacks in the place of `before`, in a macro's form in a macro."""
    missing = max(before.count("\n") - after.count("\n"), 0)
    return (" \\\n" if "\\\n" in before else "\n") * missing


def split_at_top(code: str, separator: str) -> list[tuple[int, int]]:
    """The spans between separators that stand in no bracket, angle brackets included."""
    spans = []
    depth = start = 0
    for index, character in enumerate(code):
        if character in "([{<":
            depth += 1
        elif character in ")]}>":
            depth -= 1
        elif character == separator and depth == 0:
            spans.append((start, index))
            start = index + 1
    spans.append((start, len(code)))
    return spans
