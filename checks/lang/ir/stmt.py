"""Statements of C++ and Python in one form: what a function does, in order.

Branches and loops hold the statements inside them; `guarded_statements` gives all of them in a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from checks.lang.ir.expr import Binary, Expr, Unary
from checks.lang.ir.memo import WithMemo


@dataclass(frozen=True, slots=True)
class StmtBase:
    """`line`..`end_line` in the file, from 1, both included."""

    line: int = field(kw_only=True)
    end_line: int = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class Assign(StmtBase):
    """`target op value`: op is `=` or `+=`, `|=`, ... (`x++` is `+= 1`).

    A declaration has its type in `declares`, and a value of None when it sets nothing; tuple
    targets are a `Sequence`. `static` marks C++'s `static`.
    """

    target: Expr
    op: str
    value: Expr | None
    declares: str | None = None
    static: bool = False


@dataclass(frozen=True, slots=True)
class ExprStmt(StmtBase):
    """An expression for what it does: a call, most often."""

    value: Expr


@dataclass(frozen=True, slots=True)
class Return(StmtBase):
    """`return`, with a value or without."""

    value: Expr | None


@dataclass(frozen=True, slots=True)
class Raise(StmtBase):
    """`raise`, `throw`."""

    value: Expr | None


@dataclass(frozen=True, slots=True)
class Assert(StmtBase):
    """`assert x`, `PD_CHECK(x)`, `PADDLE_ENFORCE...`: `test` holds after it.

    `how` is the name of the macro.
    """

    test: Expr
    how: str


@dataclass(frozen=True, slots=True)
class Jump(StmtBase):
    """`break`, `continue`, `goto`, `pass`."""

    kind: str


@dataclass(frozen=True, slots=True)
class If(StmtBase):
    """A branch. A `switch` is a chain of them, a `match` too where its cases are values."""

    test: Expr
    then: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...] = ()


@dataclass(frozen=True, slots=True)
class For(StmtBase):
    """A counted or iterating loop.

    `for (int i = a; i < b; i += c)` and `for i in range(a, b, c)` have `start`, `stop`, `step`
    (`stop` excluded; `<=` becomes `+ 1`); other loops have `iterable`, or only `test` (`while`).
    """

    target: Expr | None
    body: tuple[Stmt, ...]
    start: Expr | None = None
    stop: Expr | None = None
    step: Expr | None = None
    iterable: Expr | None = None
    test: Expr | None = None


@dataclass(frozen=True, slots=True)
class With(StmtBase):
    """Statements that belong together; `kind` says why.

    `with` (`items` are the contexts), `try` (`parts` are its handlers and, where `has_final`,
    `finally`; `items` the exceptions), `block` for a bare C++ block, `ifdef` for an arm of an `#if`
    (its directive is the item), `lambda` for the body of one (the call that takes it is the item).
    """

    kind: str
    body: tuple[Stmt, ...]
    parts: tuple[tuple[Stmt, ...], ...] = ()
    items: tuple[Expr, ...] = ()
    has_final: bool = False

    @property
    def handlers(self) -> tuple[tuple[Stmt, ...], ...]:
        """What runs when an exception was caught."""
        return self.parts[:-1] if self.has_final else self.parts

    @property
    def final(self) -> tuple[Stmt, ...]:
        """What runs in any case."""
        return self.parts[-1] if self.has_final else ()


@dataclass(frozen=True, slots=True)
class Define(StmtBase):
    """A nested function, lambda or class; `name` is looked up among the file's functions."""

    name: str


@dataclass(frozen=True, slots=True)
class Opaque(StmtBase):
    """A statement that was not understood; `text` is its source.

    What depends on it is not analysed.
    """

    text: str


Stmt = Assign | ExprStmt | Return | Raise | Assert | Jump | If | For | With | Define | Opaque


@dataclass(frozen=True, slots=True)
class GuardedStmt:
    """A statement with the conditions under which it runs (outer first) and the loops around it."""

    stmt: Stmt
    guards: tuple[Expr, ...]
    loops: tuple[For, ...]


class Body(WithMemo, tuple[Stmt, ...]):
    """The statements of a function, with what rules derived from them."""


def guarded_statements(body: tuple[Stmt, ...]) -> Iterator[GuardedStmt]:
    """Every statement in source order with its guards and loops.

    After `if (c) return;` (or `continue`, `raise`) the rest of the block runs under `not c`.
    """
    if isinstance(body, Body):
        return iter(body.memo(guarded_statements, lambda: list(_guarded_in(body, (), ()))))
    return _guarded_in(body, (), ())


def _guarded_in(
    block: tuple[Stmt, ...], guards: tuple[Expr, ...], loops: tuple[For, ...]
) -> Iterator[GuardedStmt]:
    for stmt in block:
        yield GuardedStmt(stmt, guards, loops)
        match stmt:
            case If(test=test, then=then, orelse=orelse):
                yield from _guarded_in(then, (*guards, test), loops)
                if orelse:
                    yield from _guarded_in(orelse, (*guards, negate(test)), loops)
                if leaves(then) and not leaves(orelse):
                    guards = (*guards, negate(test))
                elif leaves(orelse) and not leaves(then):
                    guards = (*guards, test)
            case For(body=inner):
                yield from _guarded_in(inner, guards, (*loops, stmt))
            case With(body=inner, parts=parts):
                for part in (inner, *parts):
                    yield from _guarded_in(part, guards, loops)


def blocks(body: tuple[Stmt, ...]) -> Iterator[tuple[Stmt, ...]]:
    """`body` and every block inside it."""
    yield body
    for stmt in body:
        match stmt:
            case If(then=then, orelse=orelse):
                yield from blocks(then)
                yield from blocks(orelse)
            case For(body=inner):
                yield from blocks(inner)
            case With(body=inner, parts=parts, kind="with" | "try" | "block" | "lambda"):
                yield from blocks(inner)
                for part in parts:
                    yield from blocks(part)


def leaves(body: tuple[Stmt, ...]) -> bool:
    """Whether control never runs off the end of `body`."""
    if not body:
        return False
    match body[-1]:
        case Return() | Raise() | Jump(kind="break" | "continue" | "goto"):
            return True
        case If(then=then, orelse=orelse):
            return leaves(then) and leaves(orelse)
        case With(kind="block", body=inner):
            return leaves(inner)
        case _:
            return False


def unreached(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """The statements behind one of the same block that control never gets past."""
    for number, stmt in enumerate(body, 1):
        match stmt:
            case If(then=then, orelse=orelse):
                yield from unreached(then)
                yield from unreached(orelse)
            case For(body=inner):
                yield from unreached(inner)
            case With(body=inner, parts=parts):
                for part in (inner, *parts):
                    yield from unreached(part)
        if leaves((stmt,)):
            yield from body[number:]
            return


_OPPOSITE = {
    "==": "!=",
    "!=": "==",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
    "in": "not-in",
    "not-in": "in",
}


def negate(test: Expr) -> Expr:
    """The opposite condition, without double negation."""
    match test:
        case Unary(op="not", operand=operand):
            return operand
        case Binary(op=op, left=left, right=right) if op in _OPPOSITE:
            return Binary(_OPPOSITE[op], left, right, line=test.line)
        case _:
            return Unary("not", test, line=test.line)
