"""Where C++ code puts a value: the variable, the member and the index behind pointers and short-lived locals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import Assign, GuardedStmt, guarded_statements

_MOST_NODES = 80


@dataclass(frozen=True, slots=True)
class Place:
    """`msg.rows[i].tokens[j]` is root `msg`, path `rows tokens`, indices `None i j`: the root's own index comes first.

    An index is in elements, and None where nothing is indexed. `element` is T where the root is a tensor that was
    opened with `data<T>()`.
    """

    root: str
    path: tuple[str, ...]
    indices: tuple[E.Expr | None, ...]
    element: str = ""

    @property
    def member(self) -> str:
        return ".".join(self.path)

    @property
    def index(self) -> E.Expr | None:
        """The innermost index."""
        return self.indices[-1]


@dataclass(frozen=True, slots=True)
class Move:
    """`target = value` in `guarded`, with the locals that were set before it put back in. `source` is the place that
    the value is read from, None where it is computed."""

    target: Place
    value: E.Expr
    source: Place | None
    guarded: GuardedStmt

    @property
    def line(self) -> int:
        return self.guarded.stmt.line


def moves(function: Function) -> Iterator[Move]:
    """Every plain store of `function` into a variable's element or member, in source order."""
    for guarded, target, value in resolved(function):
        at = place(target)
        if at is not None and (at.path or at.indices[0] is not None):
            yield Move(at, value, place(value), guarded)


def resolved(function: Function) -> Iterator[tuple[GuardedStmt, E.Expr, E.Expr]]:
    """(statement, target, value) of every assignment with `=`, locals replaced by what they were set to before.

    A local that is set again on another branch than its declaration is not replaced any more.
    """
    known: dict[str, E.Expr] = {}
    declared: dict[str, tuple[E.Expr, ...]] = {}
    params = {p.name for p in function.params}
    for guarded in guarded_statements(function.body):
        stmt = guarded.stmt
        if not isinstance(stmt, Assign):
            continue
        value = (
            E.substitute(stmt.value, lambda e: _known(e, known)) if stmt.value is not None else None
        )
        if isinstance(stmt.target, E.Name):
            name = stmt.target.id
            known.pop(name, None)
            if stmt.declares is not None:
                declared[name] = guarded.guards
            same_branch = declared.get(name) == guarded.guards and (
                stmt.declares is not None or not guarded.loops
            )
            if (
                value is not None
                and stmt.op == "="
                and same_branch
                and name not in params
                and _small(value)
            ):
                known[name] = value
        elif value is not None and stmt.op == "=":
            yield guarded, E.substitute(stmt.target, lambda e: _known(e, known)), value


def _known(expr: E.Expr, known: dict[str, E.Expr]) -> E.Expr | None:
    return known.get(expr.id) if isinstance(expr, E.Name) else None


def _small(expr: E.Expr) -> bool:
    return len(list(islice(E.walk(expr), _MOST_NODES))) < _MOST_NODES


def place(expr: E.Expr) -> Place | None:
    """The place that `expr` names, through casts, `&`, `*` and pointer sums; None for what is no place."""
    match expr:
        case E.Name(id=name):
            return Place(name, (), (None,))
        case E.Cast(operand=operand) | E.Unary(op="&" | "*", operand=operand):
            return place(operand)
        case E.Call(func=E.Name(id=name), args=(operand,)) if name.endswith("_cast"):
            return place(operand)
        case E.Call(func=E.Attr(base=base, name="data"), args=(), template=element):
            at = place(base)
            return Place(at.root, at.path, at.indices, element) if at is not None else None
        case E.Attr(base=base, name=name):
            at = place(base)
            return (
                Place(at.root, (*at.path, name), (*at.indices, None), at.element)
                if at is not None
                else None
            )
        case E.Index(base=base, indices=(index,)) if not isinstance(base, E.Index):
            return _moved(place(base), index)
        case E.Binary(op="+", left=left, right=right) if _points(left):
            return _moved(place(left), right)
        case _:
            return None


def _points(expr: E.Expr) -> bool:
    """Whether `expr` is surely an address: opened tensor data, `&x`, a pointer cast, or a sum that starts with one."""
    match expr:
        case E.Unary(op="&") | E.Call(func=E.Attr(name="data")):
            return True
        case E.Cast(type=kind, operand=operand):
            return kind.rstrip().endswith("*") or _points(operand)
        case E.Binary(op="+", left=left):
            return _points(left)
        case _:
            return False


def _moved(at: Place | None, by: E.Expr) -> Place | None:
    if at is None:
        return None
    last = at.index
    index = by if last is None else E.Binary("+", last, by, line=by.line)
    return Place(at.root, at.path, (*at.indices[:-1], index), at.element)
