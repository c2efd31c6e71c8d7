"""Changes of how code is written and not of what it does: layout, comments, exchanged names."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction
from checks.core.config import Config
from checks.lang.ir.source_file import Function
from checks.summary.changes.pairs import altered_functions

_STRING_OR_COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/', re.S)
_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\w+|[^\s\w]')


def find_relaid_functions(change: ChangeSet, config: Config) -> list[Function]:
    """Functions of which the change wrote lines and altered nothing but layout and comments."""
    deltas = [delta for delta, _, _ in altered_functions(change, config)]
    return [delta.head for delta in deltas if _is_only_layout(delta)]


def _is_only_layout(delta: ChangedFunction) -> bool:
    return same_code(delta.base_text, delta.text, python=delta.python)


def same_code(before: str, now: str, *, python: bool) -> bool:
    """Whether two definitions differ in layout and comments alone; False where one is no code."""
    if not python:
        return _cpp_tokens(before) == _cpp_tokens(now)
    try:
        return _same_tree(_parse(before), _parse(now))
    except SyntaxError:
        return False


def _parse(text: str) -> ast.Module:
    return ast.parse(textwrap.dedent(text))


def _same_tree(a: ast.Module, b: ast.Module) -> bool:
    """Whether two syntax trees are equal but for their line numbers."""
    return ast.dump(a) == ast.dump(b)


def _cpp_tokens(text: str) -> list[str]:
    """The tokens of C++ without its comments; a string is one token."""
    code = _STRING_OR_COMMENT.sub(lambda match: match[1] or " ", text)
    return _TOKEN.findall(code)


def only_renamed(old: str, new: str, exchanged: Iterable[tuple[str, str]]) -> bool:
    """Whether `new` is `old` with the `exchanged` names (old, new) put in.

    Then a sentence about the exchange has said everything already.
    """
    for old_name, new_name in exchanged:
        old = re.sub(rf"\b{re.escape(old_name)}\b", new_name, old)
    return old == new
