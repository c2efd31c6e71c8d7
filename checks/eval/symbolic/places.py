"""Places in buffers: pointers, subscripts and slices of C++ and Python, and what is read there."""

from __future__ import annotations

from dataclasses import replace

from checks.eval.symbolic.affine import Linear, constant_form, symbol_form
from checks.eval.symbolic.run import SymbolicRun
from checks.eval.symbolic.values import BufferTable, PathState, Pointer, SymbolicValue
from checks.lang.ir.expr import Cast, Const, Expr, Index, Slice, Unary, dotted


def shift_place(run: SymbolicRun, place: Pointer, shift: Linear, line: int) -> Pointer:
    """`place` moved by `shift`; where that brings the index in, the line is remembered."""
    where = place.where
    if shift.symbols("index") and run.stack:
        where = run.site(line)
    return replace(place, offset=place.offset + shift, where=where)


def find_place(run: SymbolicRun, expr: Expr, state: PathState) -> Pointer | None:
    """Where `expr` lies in a buffer, without reading it."""
    match expr:
        case Index(base=base, indices=indices):
            held = run.value(base, state)
            if not isinstance(held, Pointer):
                return None
            return move_by_indices(run, held, indices, state)
        case Unary(op="*", operand=operand) | Cast(operand=operand):
            held = run.value(operand, state)
        case _:
            held = run.value(expr, state)
    return held if isinstance(held, Pointer) else None


def move_by_indices(
    run: SymbolicRun, held: Pointer, indices: tuple[Expr, ...], state: PathState
) -> Pointer | None:
    """`held[indices]` as a place; in Python the first index of a whole array chooses the row."""
    parts = list(indices)
    if run.python and not held.row:
        # Which row it is does not matter: positions are counted from its start.
        run.value(parts.pop(0), state)
        held = replace(held, row=True)
    if not parts:
        return held
    part = parts[-1]
    low = _first_position(run, part, state)
    if low is None:
        return None
    return shift_place(run, held, low, part.line)


def _first_position(run: SymbolicRun, index: Expr, state: PathState) -> Linear | None:
    if not isinstance(index, Slice):
        return run.number_of(index, state)
    if index.lower is None:
        return constant_form(0)
    return run.number_of(index.lower, state)


def find_span(
    run: SymbolicRun, expr: Expr, place: Pointer, state: PathState
) -> tuple[Linear, Linear | None]:
    """The first and last position of `expr`: a slice has two, anything else one."""
    if not isinstance(expr, Index) or not isinstance(expr.indices[-1], Slice):
        return place.offset, place.offset
    part = expr.indices[-1]
    base = run.value(expr.base, state)
    upper = None
    if part.upper is not None:
        upper = run.number_of(part.upper, state)
    if upper is None or not isinstance(base, Pointer):
        return place.offset, None
    return place.offset, (base.offset + upper).plus(-1)


def read_element(run: SymbolicRun, expr: Index, state: PathState) -> SymbolicValue:
    """What `base[indices]` is: an entry of a dict, an element, a row, or a slice of a row."""
    base = run.value(expr.base, state)
    if isinstance(base, BufferTable):
        return _read_entry(base, expr.indices[0])
    if not isinstance(base, Pointer):
        for index in expr.indices:
            run.value(index, state)
        return symbol_form("opaque", f"{dotted(expr.base) or 'element'}[{expr.line}]")
    place = move_by_indices(run, base, expr.indices, state)
    if place is None:
        return symbol_form("load", base.buffer, base.buffer)
    return _read_place(run, expr, base, place, state)


def _read_entry(table: BufferTable, key: Expr) -> SymbolicValue:
    if isinstance(key, Const) and isinstance(key.value, str):
        return table.get(key.value)
    return None


def _read_place(
    run: SymbolicRun, expr: Index, base: Pointer, place: Pointer, state: PathState
) -> SymbolicValue:
    """What the subscript `expr` of `base`, which leads to `place`, gives."""
    is_slice = isinstance(expr.indices[-1], Slice)
    is_whole_row = run.python and not base.row and len(expr.indices) == 1
    if not is_whole_row and not is_slice:
        return run.load(place, expr.line, state)
    low, high = find_span(run, expr, place, state)
    if is_slice and not is_whole_row and high is not None:
        run.record("read", base.buffer, low, high, expr.line, state, place.where)
    if is_whole_row and is_slice:
        return replace(base, row=True)
    return place


def load_element(run: SymbolicRun, place: Pointer, line: int, state: PathState) -> Linear:
    """The element at `place`: an index cell's value, or an unknown number of that buffer."""
    if place.buffer in state.cells:
        return state.cells[place.buffer]
    run.record("read", place.buffer, place.offset, place.offset, line, state, place.where)
    return symbol_form("load", f"{place.buffer}[{place.offset}]", place.buffer)
