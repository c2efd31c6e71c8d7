"""Which rows of a tensor the function behind an op reads: those below a count behind offsets, or others as well."""

from __future__ import annotations

from dataclasses import dataclass

from checks.core.changed import local_assignments
from checks.core.finding import Location
from checks.domain.bitfields.ranges import source_of
from checks.domain.ops import expressions_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import For, GuardedStmt, guarded_statements

_HANDS_ON = frozenset({"copy_to", "data", "data_ptr", "cpu", "contiguous", "to"})


@dataclass(frozen=True, slots=True)
class Rows:
    """A read at `location`: of `row`, which is below `count`; the count is empty for a read that no offset bounds."""

    location: Location
    row: str
    count: str = ""


def rows_read(function: Function, tensors: set[str], offsets: str) -> Rows | None:
    """The first read of the parameters `tensors` that the parameter `offsets` does not bound, else the first that it
    does; None where `function` reads none of them itself."""
    flat = list(guarded_statements(function.body))
    pointers, starts = _handed_on(tensors, flat), _handed_on({offsets}, flat)
    behind = {
        n
        for n, v in local_assignments(flat)
        if any(isinstance(e, E.Index) and E.root(e) in starts for e in E.walk(v))
    }
    found: list[Rows] = []
    for guarded in flat:
        for top in expressions_of(guarded.stmt):
            for e in E.walk(top):
                if isinstance(e, E.Index) and isinstance(e.base, E.Name) and e.base.id in pointers:
                    at = Location(function.path, e.line or guarded.stmt.line)
                    found.append(_row(e.indices[0], guarded, behind, starts, flat, at))
    return next((r for r in found if not r.count), found[0] if found else None)


def _handed_on(names: set[str], flat: list[GuardedStmt]) -> set[str]:
    """`names`, and what holds the same memory or a copy of it: `p = t.copy_to(...)`, `q = p.data<float>()`."""
    found = set(names)
    for name, value in local_assignments(flat):
        while isinstance(value, E.Cast):
            value = value.operand
        while (
            isinstance(value, E.Call)
            and isinstance(value.func, E.Attr)
            and value.func.name in _HANDS_ON
        ):
            value = value.func.base
        if isinstance(value, E.Name) and value.id in found:
            found.add(name)
    return found


def _row(
    index: E.Expr,
    guarded: GuardedStmt,
    behind: set[str],
    starts: set[str],
    flat: list[GuardedStmt],
    at: Location,
) -> Rows:
    """`offset + j`, with the count below which a loop keeps `j`."""
    for e in E.walk(index):
        if not isinstance(e, E.Binary) or e.op != "+":
            continue
        for start, step in ((e.left, e.right), (e.right, e.left)):
            known = (isinstance(start, E.Name) and start.id in behind) or (
                isinstance(start, E.Index) and E.root(start) in starts
            )
            if known and isinstance(step, E.Name):
                first = E.Binary("==", step, E.Const(0)) in guarded.guards
                return Rows(
                    at,
                    source_of(start) if first else source_of(e),
                    _count(step.id, guarded.loops, flat, first),
                )
    return Rows(at, source_of(index))


def _count(counter: str, loops: tuple[For, ...], flat: list[GuardedStmt], first: bool) -> str:
    """The loaded count that `counter` stays below; a count may be set to 0 instead. Where only the first row is read
    (`j == 0`), one that follows from a count will do."""
    for loop in loops:
        if loop.target != E.Name(counter) or loop.stop is None:
            continue
        stops = [loop.stop]
        if isinstance(loop.stop, E.Name):
            stops = [v for n, v in local_assignments(flat) if n == loop.stop.id and v != E.Const(0)]
        counts = [
            next((e for e in E.walk(v) if isinstance(e, E.Index) and (first or e is v)), None)
            for v in stops
        ]
        if counts and counts[0] is not None and None not in counts:
            return source_of(counts[0])
    return ""
