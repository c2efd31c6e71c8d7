"""What a change did to functions: pairs of before and after, and their code without comments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, cached_property
from operator import attrgetter
from typing import Any

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Side
from checks.core.tree import word_regex
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, GuardedStmt, guarded_statements

_NOISE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.S)
_PYTHON_NOISE = re.compile(
    r'#[^\n]*|"""(?:[^\\]|\\.)*?"""|\'\'\'(?:[^\\]|\\.)*?\'\'\'|"(?:[^"\\\n]|\\.)*+"|\'(?:[^\'\\\n]|\\.)*+\'',
    re.S,
)
_PREFIX = re.compile(r"(?<!\w)(?:[bB][rR]?|[rR][bBfF]?|[fF][rR]?|[uU])?\Z")
_BRACKET = re.compile(r"[()]")


@dataclass
class ChangedFunction:
    """A function that the change wrote or altered: `head` in `unit`, and what it was (`base`, None for a new one)."""

    head: Function
    unit: SourceFile
    base: Function | None
    base_unit: SourceFile | None
    change: ChangeSet

    @property
    def python(self) -> bool:
        return self.unit.language == "python"

    def touched(self, start: int, end: int = 0) -> bool:
        """Whether the change wrote any of these lines of the head."""
        return self.change.touches(self.unit.path, start, max(start, end))

    @cached_property
    def statements(self) -> list[GuardedStmt]:
        """The statements of the head, with their guards and loops."""
        return list(guarded_statements(self.head.body))

    @cached_property
    def base_statements(self) -> list[GuardedStmt]:
        return list(guarded_statements(self.base.body)) if self.base is not None else []

    @property
    def text(self) -> str:
        """The head's source, as written."""
        return self.unit.text(self.head.start_line, self.head.end_line)

    @property
    def base_text(self) -> str:
        """The base's source, as written; empty where there is none."""
        if self.base is None or self.base_unit is None:
            return ""
        return self.base_unit.text(self.base.start_line, self.base.end_line)

    @cached_property
    def code(self) -> str:
        """The head's source without comments and plain strings."""
        return code_without_comments(self.unit, self.head)

    def matches(self, pattern: re.Pattern[str]) -> bool:
        """Whether `pattern`, which spans no comment and no two words, is found in the code. Most often it is not in the
        text at all, and Python's code takes long to make of it."""
        return pattern.search(self.text) is not None and pattern.search(self.code) is not None

    @cached_property
    def base_code(self) -> str:
        return (
            code_without_comments(self.base_unit, self.base)
            if self.base is not None and self.base_unit is not None
            else ""
        )


def changed_functions(change: ChangeSet, config: Config) -> tuple[ChangedFunction, ...]:
    """Every function outside tests of which the change touched a line, and that still exists.

    A function that moved from one file of the change to another is paired with what it was there.
    """
    return change.memo(
        ("kernel.deltas", config.paths.tests), lambda: tuple(_changed_functions(change, config))
    )


def _changed_functions(change: ChangeSet, config: Config) -> Iterator[ChangedFunction]:
    pairs = list(change.changed_functions())
    gone = [old for old, new in pairs if old is not None and new is None]
    for old, head in pairs:
        if head is None or config.is_test(head.path):
            continue
        unit = change.unit(head.path)
        before = old or _moved(head, gone, change)
        if unit is not None:
            yield ChangedFunction(
                head, unit, before, change.unit(before.path, Side.BASE) if before else None, change
            )


def _moved(head: Function, gone: list[Function], change: ChangeSet) -> Function | None:
    """The one function that went away under this name: in the same file (it changed its namespace), else anywhere."""
    named = [f for f in gone if f.name == head.name]
    file = change.changed(head.path)
    here = [f for f in named if file is not None and f.path == file.base_path]
    found = here or named
    return found[0] if len(found) == 1 else None


def changed_files(
    change: ChangeSet, config: Config, language: str
) -> Iterator[tuple[SourceFile, SourceFile | None]]:
    """(head, base) of every changed source file of `language` outside tests."""
    for file in change.files:
        if file.head_path is None or config.is_test(file.head_path):
            continue
        unit = change.unit(file.head_path)
        if unit is not None and unit.language == language:
            yield unit, change.unit(file.base_path, Side.BASE) if file.base_path else None


def code_without_comments(unit: SourceFile, function: Function) -> str:
    """The source of `function` without comments and without strings that hold no code."""
    text = unit.text(function.start_line, function.end_line)
    return _python_code(text) if unit.language == "python" else _NOISE.sub(" ", text)


def _python_code(text: str) -> str:
    kept: list[str] = []
    end = 0
    for noise in _PYTHON_NOISE.finditer(text):
        start = noise.start()
        prefix = _PREFIX.search(text, max(start - 2, 0), start) if text[start] != "#" else None
        if prefix is None or not {*"fF"} & {*prefix[0]}:
            kept.append(text[end : prefix.start() if prefix is not None else start])
            end = noise.end()
    return " ".join([*kept, text[end:]])


def body_code(function: Function, code: str) -> str:
    """`code` of the function without its head: what follows the list of its parameters."""
    start = re.search(rf"{word_regex(function.name)}\s*\(", code)
    depth = 0
    for bracket in _BRACKET.finditer(code, start.end() - 1) if start is not None else ():
        depth += 1 if bracket[0] == "(" else -1
        if depth == 0:
            return code[bracket.end() :]
    return code


def has_word(code: str, name: str) -> bool:
    """Whether `name` stands in `code` as a whole word."""
    if not _is_word(name[-1:]):
        return name in code and re.search(rf"{word_regex(name)}\b", code) is not None
    # A pattern for each of hundreds of names takes longer to make than all of them to find.
    at = code.find(name)
    while at >= 0 and (
        _is_word(code[max(at - 1, 0) : at]) or _is_word(code[at + len(name) : at + len(name) + 1])
    ):
        at = code.find(name, at + 1)
    return at >= 0


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def equal_code(a: Any, b: Any) -> bool:
    """Whether two statements or expressions are equal whatever their lines."""
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(equal_code, a, b))
    compared = _compared(type(a))  # type: ignore[arg-type]  # a class, it says, has no hash
    return a == b if compared is None else equal_code(compared(a), compared(b))


@cache
def _compared(kind: type) -> Callable[[Any], Any] | None:
    """What gives the fields of a dataclass that are not about its place; None for any other class."""
    names = (
        [f.name for f in fields(kind) if f.name not in ("line", "end_line")]
        if is_dataclass(kind)
        else []
    )
    return attrgetter(*names) if names else None


def local_assignments(flat: list[GuardedStmt]) -> Iterator[tuple[str, E.Expr]]:
    """(name, value) of every assignment to a plain name, in order."""
    for guarded in flat:
        stmt = guarded.stmt
        if isinstance(stmt, Assign) and isinstance(stmt.target, E.Name) and stmt.value is not None:
            yield stmt.target.id, stmt.value


def names_in(expr: E.Expr | None) -> set[str]:
    """Plain names, attribute names and string keys in `expr`."""
    found: set[str] = set()
    for e in E.walk(expr) if expr is not None else ():
        match e:
            case E.Name(id=name) | E.Attr(name=name):
                found.add(name)
            case E.Const(value=str() as key):
                found.add(key)
    return found
