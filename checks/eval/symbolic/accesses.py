"""Keeps the uses of buffers that a run meets, each measured against the watched index."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from checks.eval.symbolic.affine import Bounds, Linear, Symbol, offset_of
from checks.eval.symbolic.values import BufferAccess, PathState, PendingWrite, UseSite


@dataclass(frozen=True, slots=True)
class BufferUse:
    """The positions `low`..`high` of `buffer`, both included, used at `site`.

    An end is None where it is not known.
    """

    kind: str
    buffer: str
    low: Linear | None
    high: Linear | None
    site: UseSite


class AccessRecorder:
    """The accesses of one run, and the bounds of its loops.

    Reads and comparisons are complete when they are met. A write waits in its state until the
    function ends, because it is measured against the index as the function leaves it.
    """

    def __init__(self) -> None:
        self.bounds = Bounds()
        self.accesses: list[BufferAccess] = []

    def record(self, use: BufferUse, state: PathState) -> None:
        """Note `use` for every index that its positions move with."""
        if use.high is None or not state.cells:
            return
        top = largest_value(use.high, self.bounds, state.limits)
        index_symbol = use.high.index()
        if index_symbol is None and top is not None:
            index_symbol = top.index()
        if index_symbol is None:
            return
        moves = use.low is not None and use.low.index() is not None
        lag = _subtracted_loads(use.high)
        for index, cell in state.cells.items():
            current = cell.index()
            if current is None or current.source != index_symbol.source:
                continue
            access = BufferAccess(use.kind, use.buffer, index, None, moves, lag, *use.site)
            relative = None if top is None else top - cell
            if use.kind == "write":
                state.writes.append(PendingWrite(access, relative))
            else:
                self.accesses.append(replace(access, high=offset_of(relative)))

    def finish_writes(self, writes: Iterable[PendingWrite]) -> None:
        """Note writes that have reached the end of the function."""
        for write in writes:
            self.accesses.append(replace(write.access, high=offset_of(write.high)))


def _subtracted_loads(form: Linear) -> tuple[tuple[str, int], ...]:
    return tuple((s.source, c) for s, c in form.terms if s.kind == "load" and c < 0)


def largest_value(form: Linear, bounds: Bounds, limits: list[Linear]) -> Linear | None:
    """The largest value of `form`: the smallest of what its loops and the conditions that hold
    allow.

    `limits` are forms that are at most 0 on this path. None where nothing bounds `form`.
    """
    steps = bounds.steps(form, top=True)
    candidates: list[Linear] = []
    for step in steps:
        candidates += _bounded_by_limits(step, limits)
    last = steps[-1]
    # A condition says more than the bounds of a loop do, where the two cannot be compared.
    condition_is_better = bool(candidates and _open_terms(last))
    if not last.symbols("loop") and not condition_is_better:
        candidates.insert(0, last)
    return _smallest(candidates)


def _bounded_by_limits(form: Linear, limits: list[Linear]) -> list[Linear]:
    """What each of `limits` allows `form` to be at most, where the result has one value."""
    open_terms = _open_terms(form)
    bounded: list[Linear] = []
    for limit in limits:
        # A limit that shares no open term with the form says nothing about it.
        if not open_terms & set(limit.terms):
            continue
        allowed = form - limit
        if not _open_terms(allowed):
            bounded.append(allowed)
    return bounded


def _smallest(candidates: list[Linear]) -> Linear | None:
    """The smallest of `candidates`; of two that cannot be compared, the later one."""
    if not candidates:
        return None
    least = candidates[0]
    for candidate in candidates[1:]:
        gap = (candidate - least).number
        if gap is None or gap < 0:
            least = candidate
    return least


def _open_terms(form: Linear) -> set[tuple[Symbol, int]]:
    """The terms of `form` that have no one value."""
    return {term for term in form.terms if term[0].kind in ("loop", "opaque")}
