"""Which rows of a tensor the C++ function behind an op reads."""

from __future__ import annotations

from dataclasses import dataclass

from checks.core.code import local_assignments
from checks.core.finding import Location
from checks.lang.ir import expr as E
from checks.lang.ir.render import source_of
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import For, GuardedStmt, guarded_statements
from checks.rules.kernel._code_walks import expressions_in

# Methods that give the same memory, or a copy of it.
_SAME_CONTENT = frozenset({"copy_to", "data", "data_ptr", "cpu", "contiguous", "to"})


@dataclass(frozen=True, slots=True)
class RowRead:
    """A read of `row` at `location`; `count` bounds it, and is empty where no offset does."""

    location: Location
    row: str
    count: str = ""


@dataclass(frozen=True, slots=True)
class _OffsetNames:
    """The locals that hold the offsets themselves, and those that were loaded from them."""

    arrays: set[str]
    loaded: set[str]

    def is_start(self, expr: E.Expr) -> bool:
        """Whether an expression is the first valid row of a request."""
        if isinstance(expr, E.Name):
            return expr.id in self.loaded
        return isinstance(expr, E.Index) and E.root(expr) in self.arrays


def first_row_read(function: Function, tensors: set[str], offsets: str) -> RowRead | None:
    """The first read of the parameters `tensors` that the parameter `offsets` does not bound.

    Else the first that it does; None where `function` reads none of them itself.
    """
    statements = list(guarded_statements(function.body))
    pointers = _same_content(tensors, statements)
    names = _offset_names(offsets, statements)
    reads: list[RowRead] = []
    for guarded, e in expressions_in(statements):
        if not isinstance(e, E.Index) or not isinstance(e.base, E.Name):
            continue
        if e.base.id in pointers:
            place = Location(function.path, e.line or guarded.stmt.line)
            reads.append(_row_read(e.indices[0], guarded, names, statements, place))
    for read in reads:
        if not read.count:
            return read
    return reads[0] if reads else None


def _offset_names(offsets: str, statements: list[GuardedStmt]) -> _OffsetNames:
    arrays = _same_content({offsets}, statements)
    loaded: set[str] = set()
    for name, value in local_assignments(statements):
        if any(isinstance(e, E.Index) and E.root(e) in arrays for e in E.walk(value)):
            loaded.add(name)
    return _OffsetNames(arrays, loaded)


def _same_content(names: set[str], statements: list[GuardedStmt]) -> set[str]:
    """`names`, and what holds the same memory or a copy: `p = t.copy_to(...)`, `t.data<T>()`."""
    found = set(names)
    for name, value in local_assignments(statements):
        source = _without_views(value)
        if isinstance(source, E.Name) and source.id in found:
            found.add(name)
    return found


def _without_views(value: E.Expr) -> E.Expr:
    while isinstance(value, E.Cast):
        value = value.operand
    while isinstance(value, E.Call) and isinstance(value.func, E.Attr):
        if value.func.name not in _SAME_CONTENT:
            break
        value = value.func.base
    return value


def _row_read(
    index: E.Expr,
    guarded: GuardedStmt,
    names: _OffsetNames,
    statements: list[GuardedStmt],
    place: Location,
) -> RowRead:
    """`offset + j`, with the count below which a loop keeps `j`."""
    for e in E.walk(index):
        if not isinstance(e, E.Binary) or e.op != "+":
            continue
        for start, step in ((e.left, e.right), (e.right, e.left)):
            if not names.is_start(start) or not isinstance(step, E.Name):
                continue
            only_first = E.Binary("==", step, E.Const(0)) in guarded.guards
            row = source_of(start) if only_first else source_of(e)
            count = _count_above(step.id, guarded.loops, statements, only_first=only_first)
            return RowRead(place, row, count)
    return RowRead(place, source_of(index))


def _count_above(
    counter: str, loops: tuple[For, ...], statements: list[GuardedStmt], *, only_first: bool
) -> str:
    """The loaded count that `counter` stays below; a count may be set to 0 instead.

    Where only the first row is read (`j == 0`), a bound that follows from a count will do.
    """
    for loop in loops:
        if loop.target != E.Name(counter) or loop.stop is None:
            continue
        stops = [loop.stop]
        if isinstance(loop.stop, E.Name):
            stops = _values_but_zero(loop.stop.id, statements)
        counts = [_loaded_count(stop, anywhere=only_first) for stop in stops]
        if counts and counts[0] is not None and None not in counts:
            return source_of(counts[0])
    return ""


def _values_but_zero(name: str, statements: list[GuardedStmt]) -> list[E.Expr]:
    assigned = [value for local, value in local_assignments(statements) if local == name]
    return [value for value in assigned if value != E.Const(0)]


def _loaded_count(stop: E.Expr, *, anywhere: bool) -> E.Expr | None:
    """The element that a bound is, or that it has `anywhere` in it."""
    for e in E.walk(stop):
        if isinstance(e, E.Index) and (anywhere or e is stop):
            return e
    return None
