"""Block copies: `memcpy`, and Kunlun's moves between global, shared and local memory."""

from __future__ import annotations

import re

from checks.eval.symbolic.affine import Linear, constant_form, multiply, symbol_form
from checks.eval.symbolic.run import SymbolicRun
from checks.eval.symbolic.values import LocalAddress, PathState, Pointer, SymbolicValue
from checks.lang.ir.expr import Binary, Call, Expr, Name, Unknown, callee

# `GM2SM_ASYNC(source, destination, bytes)` and the like.
_KUNLUN_COPY = re.compile(r"(GM|SM|LM)2(?!\1)(GM|SM|LM)(_ASYNC)?")


def find_copy_arguments(name: str) -> tuple[int, int] | None:
    """Which arguments of the block copy `name` are source and destination.

    None where `name` is no block copy.
    """
    if name == "memcpy":
        return 1, 0
    if _KUNLUN_COPY.fullmatch(name):
        return 0, 1
    return None


def copy_block(run: SymbolicRun, expr: Call, arguments: tuple[int, int], state: PathState) -> None:
    """Run a block copy: it reads the source, and writes a local, an index or a buffer."""
    source_expr = expr.args[arguments[0]]
    target_expr = expr.args[arguments[1]]
    # Without a size, one element is copied.
    extent: Linear | None = constant_form(1)
    if len(expr.args) > 2:
        extent = _count_elements(run, expr.args[2], state)
    source = run.value(source_expr, state)
    target = run.value(target_expr, state)
    content = _read_block(run, source, extent, expr.line, state)
    if isinstance(target, Pointer):
        _write_block(run, target, content, extent, expr.line, state)
    elif isinstance(target_expr, Name) and isinstance(source, Pointer):
        # A local array is from now on the part of the buffer that was copied into it.
        state.env[target_expr.id] = source
    elif isinstance(target, LocalAddress):
        if content is None:
            content = run.unknown(target.name)
        state.env[target.name] = content


def _read_block(
    run: SymbolicRun, source: SymbolicValue, extent: Linear | None, line: int, state: PathState
) -> SymbolicValue:
    """The one value that a copy of `source` moves, where it is known."""
    if isinstance(source, LocalAddress):
        return state.env.get(source.name)
    if not isinstance(source, Pointer):
        return None
    if source.buffer in state.cells:
        return state.cells[source.buffer]
    last = _last_position(source, extent)
    run.record("read", source.buffer, source.offset, last, line, state)
    return symbol_form("load", f"{source.buffer}[{source.offset}]", source.buffer)


def _write_block(
    run: SymbolicRun,
    target: Pointer,
    content: SymbolicValue,
    extent: Linear | None,
    line: int,
    state: PathState,
) -> None:
    if target.buffer in state.cells:
        form = run.number(content, state)
        if form is None:
            form = run.later(target.buffer)
        state.set_cell(target.buffer, form)
        run.note_advance(target.buffer, line)
        return
    last = _last_position(target, extent)
    run.record("write", target.buffer, target.offset, last, line, state)


def _last_position(place: Pointer, extent: Linear | None) -> Linear | None:
    if extent is None:
        return None
    return (place.offset + extent).plus(-1)


def _count_elements(run: SymbolicRun, size: Expr, state: PathState) -> Linear | None:
    """How many elements `n * sizeof(T)` bytes are."""
    match size:
        case Call() if callee(size) == "sizeof":
            return constant_form(1)
        case Unknown(text=text) if text.startswith("sizeof"):
            return constant_form(1)
        case Binary(op="*", left=left, right=right):
            left_count = _count_elements(run, left, state)
            right_count = _count_elements(run, right, state)
            if left_count is None or right_count is None:
                return None
            return multiply(left_count, right_count)
        case _:
            return run.number_of(size, state)
