"""Code as HTML, its keywords, comments, strings, numbers and definitions marked by Pygments."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, String, _TokenType

from checks.lang.source import language

_CLASSES = (
    (Comment, "hl-comment"),
    (Keyword, "hl-keyword"),
    (String, "hl-string"),
    (Number, "hl-number"),
    (Name.Function, "hl-name"),
    (Name.Class, "hl-name"),
)
# Characters. A stranger's lines may be as long as a file, and the lexers are regular expressions.
_LONGEST = 20_000


def code_lines(lines: Sequence[str], path: str) -> list[str]:
    """Each line as HTML, in the colours of the language that `path` is written in.

    Other languages, and what is very long, are escaped and nothing more.
    """
    lexer = _lexer(path)
    text = "\n".join(lines)
    if lexer is None or not lines or len(text) > _LONGEST:
        return [html.escape(line) for line in lines]
    return _marked_lines(lexer.get_tokens(text))


def _lexer(path: str) -> Lexer | None:
    # The names that Pygments has for the two languages are ours.
    name = language(path)
    return get_lexer_by_name(name, stripnl=False, ensurenl=False) if name else None


def _marked_lines(tokens: Iterable[tuple[_TokenType, str]]) -> list[str]:
    """A token that goes over several lines is marked on each."""
    lines = [""]
    for kind, text in tokens:
        first, *rest = text.split("\n")
        lines[-1] += _marked(kind, first)
        lines += [_marked(kind, piece) for piece in rest]
    return lines


def _marked(kind: _TokenType, text: str) -> str:
    escaped = html.escape(text)
    for group, css in _CLASSES:
        if kind[: len(group)] == group and text.strip():
            return f'<span class="{css}">{escaped}</span>'
    return escaped
