"""What changes how code is written and nothing that it does: layout, comments, names that were exchanged everywhere."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction
from checks.core.config import Config
from checks.domain.ops import statement_expressions
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function
from checks.summary.pairs import paired

_STRING_OR_NOTE = re.compile(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|/\*.*?\*/', re.S)
_NAMED = (E.Name, E.Attr)
_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\w+|[^\s\w]')


def laid_out(change: ChangeSet, config: Config) -> tuple[Function, ...]:
    """Functions of which the change wrote lines and altered nothing but layout and comments."""
    return change.memo(
        ("analysis.laid-out", config.paths.tests),
        lambda: tuple(d.head for d in paired(change, config) if _only_layout(d)),
    )


def _only_layout(delta: ChangedFunction) -> bool:
    if delta.base is None or delta.base_unit is None:
        return False
    before, now = delta.base_text, delta.text
    if not delta.python:
        return _dense(delta.base_code) == _dense(delta.code) and _cpp_tokens(before) == _cpp_tokens(
            now
        )
    try:
        return _names(delta.base) == _names(delta.head) and _alike(_tree(before), _tree(now))
    except SyntaxError:
        return False


def _dense(code: str) -> str:
    return "".join(code.split())


def _names(function: Function) -> list[str]:
    """The names in what a function does: they soon tell two apart, and are at hand."""
    inside = (e for _, expressions in statement_expressions(function.body) for e in expressions)
    return [e.id if isinstance(e, E.Name) else e.name for e in inside if isinstance(e, _NAMED)]


def _tree(text: str) -> ast.Module:
    return ast.parse(textwrap.dedent(text))


def _alike(a: object, b: object) -> bool:
    """Whether two syntax trees are one, wherever they stand."""
    if isinstance(a, ast.AST):
        return type(a) is type(b) and all(
            _alike(getattr(a, n, None), getattr(b, n, None)) for n in a._fields
        )
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_alike, a, b))
    return repr(a) == repr(b)


def _cpp_tokens(text: str) -> list[str]:
    return _TOKEN.findall(_STRING_OR_NOTE.sub(lambda m: m[1] or " ", text))


def only_renamed(old: str, new: str, exchanged: Iterable[tuple[str, str]]) -> bool:
    """Whether `new` is `old` with names exchanged: then nothing is told that the exchange does not tell."""
    for before, after in exchanged:
        old = re.sub(rf"\b{re.escape(before)}\b", after, old)
    return old == new
