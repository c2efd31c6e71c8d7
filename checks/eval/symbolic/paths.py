"""Joins the states of several paths into one: what is known after any of them."""

from __future__ import annotations

from dataclasses import replace

from checks.eval.symbolic.affine import Linear, symbol_form
from checks.eval.symbolic.run import SymbolicRun
from checks.eval.symbolic.values import PathState, PendingWrite, Pointer, SymbolicValue


def unset_value(name: str) -> Linear:
    """What a local holds that was declared without a value."""
    return symbol_form("opaque", f"unset {name}")


def join_states(run: SymbolicRun, state: PathState, live: list[PathState]) -> None:
    """Make `state` what is known after any one of `live`, which is not empty."""
    state.writes = _join_writes(live)
    state.limits = _common_limits(live)
    names: set[str] = set()
    for path in live:
        names.update(path.env)
    state.env = {name: _join_local(run, name, live) for name in sorted(names)}
    for index in live[0].cells:
        state.cells[index] = _join_cell(run, index, live)


def _join_writes(live: list[PathState]) -> list[PendingWrite]:
    """The writes of all paths, each once, in order."""
    writes: dict[PendingWrite, None] = {}
    for path in live:
        writes.update(dict.fromkeys(path.writes))
    return list(writes)


def _common_limits(live: list[PathState]) -> list[Linear]:
    """The limits that hold on every path."""
    first, *others = live
    common = first.limits
    for path in others:
        common = [limit for limit in common if limit in path.limits]
    return list(common)


def _join_cell(run: SymbolicRun, index: str, live: list[PathState]) -> Linear:
    """The value of an index that all paths agree on, else a later one."""
    values = {path.cells[index] for path in live if index in path.cells}
    if len(values) == 1:
        return values.pop()
    return run.later(index)


def _join_local(run: SymbolicRun, name: str, live: list[PathState]) -> SymbolicValue:
    """What the local `name` is after paths that gave it several values.

    A path that declared it without a value says nothing.
    """
    unset = unset_value(name)
    values = [path.env.get(name) for path in live]
    # C++ declares `int at;` and sets it in every arm that matters.
    values = [value for value in values if value != unset] or values
    first = values[0]
    if all(value == first for value in values):
        return first
    pointers = [value for value in values if isinstance(value, Pointer)]
    if len(pointers) == len(values):
        return _join_pointers(run, name, pointers)
    forms = [value for value in values if isinstance(value, Linear)]
    if len(forms) == len(values):
        return _join_forms(run, name, forms)
    return None


def _join_pointers(run: SymbolicRun, name: str, pointers: list[Pointer]) -> Pointer | None:
    """A place in the one buffer that all point into, at an unknown position."""
    rows = {(pointer.buffer, pointer.row) for pointer in pointers}
    if len(rows) > 1:
        return None
    return replace(pointers[0], offset=run.unknown(name))


def _join_forms(run: SymbolicRun, name: str, forms: list[Linear]) -> Linear:
    """A later value of the one index that any of `forms` moves with, else an unknown."""
    sources: set[str] = set()
    for form in forms:
        index = form.index()
        if index is not None:
            sources.add(index.source)
    if len(sources) == 1:
        return run.later(sources.pop())
    return run.unknown(name)
