"""Where C++ code puts a value: the variable, the member and the index behind pointers and
short-lived locals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import Assign, GuardedStmt, guarded_statements

# A local with a larger value is not put back in: the expressions would grow without end.
_MOST_NODES = 80


@dataclass(frozen=True, slots=True)
class CppPlace:
    """`msg.rows[i].tokens[j]` is root `msg`, path `rows tokens`, indices `None i j`: the root's own
    index comes first.

    An index is in elements, and None where nothing is indexed. `element` is T where the root is a
    tensor that was opened with `data<T>()`.
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

    def in_member(self, name: str) -> CppPlace:
        """The place of the member `name`."""
        return CppPlace(self.root, (*self.path, name), (*self.indices, None), self.element)

    def moved_by(self, offset: E.Expr) -> CppPlace:
        """The place `offset` elements further on."""
        index = offset
        if self.index is not None:
            index = E.Binary("+", self.index, offset, line=offset.line)
        return CppPlace(self.root, self.path, (*self.indices[:-1], index), self.element)


@dataclass(frozen=True, slots=True)
class Move:
    """`target = value` in `guarded`, with the locals that were set before it put back in.

    `source` is the place that the value is read from, None where it is computed.
    """

    target: CppPlace
    value: E.Expr
    source: CppPlace | None
    guarded: GuardedStmt

    @property
    def line(self) -> int:
        return self.guarded.stmt.line


def moves(function: Function) -> Iterator[Move]:
    """Every plain store of `function` into a variable's element or member, in source order."""
    for guarded, target, value in _resolved_stores(function):
        at = place(target)
        if at is not None and (at.path or at.indices[0] is not None):
            yield Move(at, value, place(value), guarded)


def _resolved_stores(function: Function) -> Iterator[tuple[GuardedStmt, E.Expr, E.Expr]]:
    """(statement, target, value) of every store with `=`, locals replaced by what they were set to
    before."""
    local_values: dict[str, E.Expr] = {}
    declared_under: dict[str, tuple[E.Expr, ...]] = {}
    params = {param.name for param in function.params}

    def value_of(expr: E.Expr) -> E.Expr | None:
        return local_values.get(expr.id) if isinstance(expr, E.Name) else None

    for guarded in guarded_statements(function.body):
        stmt = guarded.stmt
        if not isinstance(stmt, Assign):
            continue
        value = E.substitute(stmt.value, value_of) if stmt.value is not None else None
        if not isinstance(stmt.target, E.Name):
            if value is not None and stmt.op == "=":
                yield guarded, E.substitute(stmt.target, value_of), value
            continue
        name = stmt.target.id
        local_values.pop(name, None)
        if stmt.declares is not None:
            declared_under[name] = guarded.guards
        if value is None or stmt.op != "=" or name in params or not _is_small(value):
            continue
        # Set on another branch than its declaration, or again in a loop, it has several values.
        is_same_branch = declared_under.get(name) == guarded.guards
        if is_same_branch and (stmt.declares is not None or not guarded.loops):
            local_values[name] = value


def _is_small(expr: E.Expr) -> bool:
    return len(list(islice(E.walk(expr), _MOST_NODES))) < _MOST_NODES


def place(expr: E.Expr) -> CppPlace | None:
    """The place that `expr` names, through casts, `&`, `*` and pointer sums; None for what is no
    place."""
    match expr:
        case E.Name(id=name):
            return CppPlace(name, (), (None,))
        case E.Cast(operand=operand) | E.Unary(op="&" | "*", operand=operand):
            return place(operand)
        case E.Call(func=E.Name(id=name), args=(operand,)) if name.endswith("_cast"):
            return place(operand)
        case E.Call(func=E.Attr(base=base, name="data"), args=(), template=element):
            at = place(base)
            return None if at is None else CppPlace(at.root, at.path, at.indices, element)
        case E.Attr(base=base, name=name):
            at = place(base)
            return None if at is None else at.in_member(name)
        case E.Index(base=base, indices=(index,)) if not isinstance(base, E.Index):
            at = place(base)
            return None if at is None else at.moved_by(index)
        case E.Binary(op="+", left=left, right=right) if _is_address(left):
            at = place(left)
            return None if at is None else at.moved_by(right)
        case _:
            return None


def _is_address(expr: E.Expr) -> bool:
    """Whether `expr` is surely an address: opened tensor data, `&x`, a pointer cast, or a sum that
    starts with one."""
    match expr:
        case E.Unary(op="&") | E.Call(func=E.Attr(name="data")):
            return True
        case E.Cast(type=type_, operand=operand):
            return type_.rstrip().endswith("*") or _is_address(operand)
        case E.Binary(op="+", left=left):
            return _is_address(left)
        case _:
            return False
