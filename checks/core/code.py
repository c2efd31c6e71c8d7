"""Code compared and searched: without its comments, equal whatever its lines, the names in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

from checks.core.words import word_regex
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, GuardedStmt, Jump, Raise

_CPP_COMMENT_OR_STRING = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.S)
_PYTHON_COMMENT_OR_STRING = re.compile(
    r"#[^\n]*"
    r'|"""(?:[^\\]|\\.)*?"""'
    r"|\'\'\'(?:[^\\]|\\.)*?\'\'\'"
    r'|"(?:[^"\\\n]|\\.)*+"'
    r"|\'(?:[^\'\\\n]|\\.)*+\'",
    re.S,
)
_STRING_PREFIX = re.compile(r"(?<!\w)(?:[bB][rR]?|[rR][bBfF]?|[fF][rR]?|[uU])?\Z")
_BRACKET = re.compile(r"[()]")
# Where a statement or an expression stands, which is no part of what it says.
_POSITION_FIELDS = ("line", "end_line")


def code_without_comments(unit: SourceFile, function: Function) -> str:
    """The source of `function` without comments and without strings that hold no code."""
    text = unit.text_of(function)
    if unit.language == "python":
        return _python_code(text)
    return _CPP_COMMENT_OR_STRING.sub(" ", text)


def _python_code(text: str) -> str:
    """`text` without comments and strings; f-strings stay, because they hold expressions."""
    pieces: list[str] = []
    end = 0
    for match in _PYTHON_COMMENT_OR_STRING.finditer(text):
        start = match.start()
        if text[start] != "#":
            # A prefix is two letters at most. None of them stands before `return"x"`.
            prefix = _STRING_PREFIX.search(text, max(start - 2, 0), start)
            if prefix is not None and "f" in prefix[0].lower():
                continue
            if prefix is not None:
                start = prefix.start()
        pieces.append(text[end:start])
        end = match.end()
    return " ".join([*pieces, text[end:]])


def body_code(function: Function, code: str) -> str:
    """`code` of the function without its head: what follows the list of its parameters."""
    name = re.search(rf"{word_regex(function.name)}\s*\(", code)
    if name is None:
        return code
    depth = 0
    for bracket in _BRACKET.finditer(code, name.end() - 1):
        depth += 1 if bracket[0] == "(" else -1
        if depth == 0:
            return code[bracket.end() :]
    return code


def is_ready_for(exception: str, text: str) -> bool:
    """Whether Python code catches an exception of this name, or a test in it expects one.

    Who raises it is not ready for it.
    """
    caught = rf"\b(?:except|raises|suppress)\b[^:#]*\b{exception}\b"
    return re.search(caught, text) is not None


def is_stub(function: Function) -> bool:
    """A declaration in the shape of a definition: nothing inside but a constant, `pass`, `...`, or
    an error."""
    if any("abstract" in mark for mark in function.marks):
        return True
    for stmt in function.body:
        value = getattr(stmt, "value", None)
        is_constant = isinstance(value, E.Const) or value == E.Name("...")
        if not is_constant and not isinstance(stmt, Raise | Jump):
            return False
    return True


def equal_code(a: Any, b: Any) -> bool:
    """Whether two statements or expressions (or tuples of them) are equal whatever their lines."""
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(equal_code, a, b))
    if not is_dataclass(a):
        return bool(a == b)
    for field in fields(a):
        if field.name in _POSITION_FIELDS:
            continue
        if not equal_code(getattr(a, field.name), getattr(b, field.name)):
            return False
    return True


def local_assignments(statements: list[GuardedStmt]) -> Iterator[tuple[str, E.Expr]]:
    """(name, value) of every assignment to a plain name, in order."""
    for guarded in statements:
        stmt = guarded.stmt
        if isinstance(stmt, Assign) and isinstance(stmt.target, E.Name) and stmt.value is not None:
            yield stmt.target.id, stmt.value


def names_in(expr: E.Expr | None) -> set[str]:
    """Plain names, attribute names and string keys in `expr`; none in None."""
    names: set[str] = set()
    if expr is None:
        return names
    for part in E.walk(expr):
        match part:
            case E.Name(id=name) | E.Attr(name=name):
                names.add(name)
            case E.Const(value=str() as key):
                names.add(key)
    return names
