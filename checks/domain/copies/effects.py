"""What a Python function does, one effect at a time.

Copies of a function on other hardware are compared effect by effect, so that what stands around an
effect does not matter. The same for C++, where casts and types are left out, is `_device_effects`.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from dataclasses import dataclass

from checks.domain.ops import statement_expressions
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, For, GuardedStmt, If, Return, Stmt

BUILTINS = frozenset(dir(builtins))
_LOGGERS = frozenset({"logger", "logging", "log", "warnings", "console_logger", "llm_logger"})
_METHODS_OF_BUILTINS = frozenset(name for kind in (dict, list, str, set) for name in dir(kind))


@dataclass(frozen=True, slots=True)
class EnumTest:
    """A value is one of `members` of an enum (or of some words), or none of them."""

    is_member: bool
    members: frozenset[E.Expr]

    def member_names(self) -> set[str]:
        return {_member_name(member) for member in self.members}


@dataclass(frozen=True, slots=True)
class Effect:
    """One thing that a function does; `key` is what it is about, and `form` how it is done.

    `kind` is one of:
    - `assign`: the place `key` gets the value `form`;
    - `call`: the function `key` is called, `form` is the whole call;
    - `branch`: the condition `form` decides, `key` is empty;
    - `enum`: the members of the enum called `key` are told apart, by the test `form`.

    `guards` are the conditions around it, `line` is its own, and `start`..`end` are the lines of
    the statement without the statements inside it.
    """

    kind: str
    key: E.Expr | str
    form: E.Expr | EnumTest
    guards: tuple[E.Expr, ...]
    line: int
    start: int
    end: int

    @property
    def identity(self) -> tuple[object, ...]:
        """What two effects that do the same have in common."""
        return self.kind, self.key, self.form


def effects(function: Function, unit: SourceFile) -> list[Effect]:
    """Every effect of `function`, in source order; logging and nested functions left out."""
    # Asked again for each alteration that a copy is compared with.
    return function.body.memo(effects, lambda: list(_effects(function, unit)))


def _effects(function: Function, unit: SourceFile) -> Iterator[Effect]:
    # `import torch` binds the name of a library; `from x import f` binds a function of our own.
    libraries = {(i.alias or i.module).split(".")[0] for i in unit.imports if not i.name}
    for guarded, expressions in statement_expressions(function.body):
        yield from _effects_of(guarded, expressions, libraries)


def _effects_of(
    guarded: GuardedStmt, expressions: list[E.Expr], libraries: set[str]
) -> Iterator[Effect]:
    """The effects of one statement, outer expressions first."""
    stmt = guarded.stmt
    start, end = stmt.line, _header_end(stmt)

    def effect(kind: str, key: E.Expr | str, form: E.Expr | EnumTest, line: int) -> Effect:
        return Effect(kind, key, form, guarded.guards, line, start, end)

    match stmt:
        case Assign(target=target, op=op, value=value) if value is not None:
            form = value if op == "=" else E.Binary(op, target, value)
            yield effect("assign", target, form, stmt.line)
        case If(test=condition):
            yield effect("branch", "", condition, condition.line or stmt.line)
        case _:
            pass
    for e in expressions:
        if isinstance(e, E.Call) and _is_own_call(e, libraries):
            yield effect("call", e.func, e, e.line or stmt.line)
        elif isinstance(e, E.Binary) and not _is_answer(e, stmt):
            named_test = _enum_test(e)
            if named_test is not None:
                enum, test = named_test
                yield effect("enum", enum, test, e.line or stmt.line)


def _is_answer(test: E.Expr, stmt: Stmt) -> bool:
    """Whether a function answers with the test alone: it says what this hardware supports, and
    decides nothing."""
    return isinstance(stmt, Return) and stmt.value is test


def _header_end(stmt: Stmt) -> int:
    """The last line of a statement without the statements inside it."""
    match stmt:
        case If(then=inner) | For(body=inner) if inner:
            return max(stmt.line, inner[0].line - 1)
        case _:
            return stmt.end_line


def _is_own_call(call: E.Call, libraries: set[str]) -> bool:
    """Whether a call is the project's own.

    Log lines, builtins, methods of dicts and functions of libraries are not.
    """
    name = E.root(call.func)
    if isinstance(call.func, E.Name):
        return name not in BUILTINS
    if name is None or name in _LOGGERS or name in libraries:
        return False
    return E.callee(call) not in _METHODS_OF_BUILTINS


def _enum_test(e: E.Binary) -> tuple[str, EnumTest] | None:
    """(name of the enum, test) of `x == E.A`, `x in [E.A, E.B]`, `x not in ("a", "b")`.

    Words have no enum of their own: the name of what they are compared with stands for it. What a
    call gives (`mode.widest() != Mode.NONE`) is another value than the one that others compare.
    """
    if isinstance(e.left, E.Call):
        return None
    members: tuple[E.Expr, ...] = ()
    if e.op in ("==", "!="):
        members = (e.right,)
    elif e.op in ("in", "not-in") and isinstance(e.right, E.Sequence):
        members = e.right.items
    enums = {_enum_of(member) for member in members}
    if len(enums) != 1:
        return None
    enum = enums.pop()
    if enum == "" and isinstance(e.left, E.Attr | E.Name):
        enum = (E.dotted(e.left) or "").rsplit(".", 1)[-1]
    if not enum:
        return None
    return enum, EnumTest(e.op in ("==", "in"), frozenset(members))


def _enum_of(member: E.Expr) -> str | None:
    """The enum that `member` is of, empty for a word, None for anything else."""
    match member:
        case E.Attr(base=E.Name(id=name)) if name[:1].isupper():
            return name
        case E.Const(value=str()):
            return ""
        case _:
            return None


def _member_name(member: E.Expr) -> str:
    """`NGRAM` for `SpecMethod.NGRAM`, `mtp` for `"mtp"`."""
    match member:
        case E.Attr(name=name):
            return name
        case E.Const(value=value):
            return str(value)
        case _:
            return ""
