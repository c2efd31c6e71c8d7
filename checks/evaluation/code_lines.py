"""Which lines of a file are code: not blank, not a comment, not a docstring."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator

from checks.lang.source import language

_CPP_COMMENT_OR_STRING = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.S)
_CPP_INCLUDE = re.compile(r"\s*#\s*(?:include|pragma)\b|\s*using\s")
_PYTHON_IMPORT = re.compile(r"\s*(?:import|from)\s")
_LAYOUT = frozenset(
    [
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.COMMENT,
        tokenize.ENDMARKER,
    ]
)


def code_lines(path: str, text: str) -> set[int]:
    """The numbers of the lines of code, imports left out; none for what is not source."""
    kind = language(path)
    if kind == "python":
        return set(_python_code_lines(text))
    if kind == "cpp":
        return set(_cpp_code_lines(text))
    return set()


def _python_code_lines(text: str) -> Iterator[int]:
    for statement in _python_statements(text):
        first = statement[0]
        is_docstring = all(token.type == tokenize.STRING for token in statement)
        if is_docstring or _PYTHON_IMPORT.match(first.line):
            continue
        for token in statement:
            yield from range(token.start[0], token.end[0] + 1)


def _python_statements(text: str) -> Iterator[list[tokenize.TokenInfo]]:
    """The tokens of each statement, without layout; as far as the file can be read."""
    statement: list[tokenize.TokenInfo] = []
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    while True:
        try:
            token = next(tokens)
        except (StopIteration, tokenize.TokenError, SyntaxError):
            break
        if token.type not in _LAYOUT:
            statement.append(token)
        elif token.type == tokenize.NEWLINE and statement:
            yield statement
            statement = []
    if statement:
        yield statement


def _cpp_code_lines(text: str) -> Iterator[int]:
    without_comments = _CPP_COMMENT_OR_STRING.sub(_blank_comment, text)
    for number, line in enumerate(without_comments.split("\n"), 1):
        if line.strip() and not _CPP_INCLUDE.match(line):
            yield number


def _blank_comment(match: re.Match[str]) -> str:
    """The line ends of a comment; a string as it is."""
    if match[0].startswith('"'):
        return match[0]
    return "\n" * match[0].count("\n")
