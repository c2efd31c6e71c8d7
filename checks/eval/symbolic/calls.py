"""Calls: casts and views, algorithms over ranges, and helpers or kernels that are stepped into."""

from __future__ import annotations

import re

from checks.eval.symbolic.affine import Linear, constant_form, symbol_form
from checks.eval.symbolic.copies import copy_block, find_copy_arguments
from checks.eval.symbolic.paths import join_states
from checks.eval.symbolic.run import SymbolicRun
from checks.eval.symbolic.values import PathState, Pointer, SymbolicValue
from checks.lang.ir.expr import Attr, Call, Name, callee, dotted
from checks.lang.ir.source_file import Function

# Methods that give the same elements again: another view, type or place of them.
SAME_ELEMENT_METHODS = frozenset(
    {
        *("data", "data_ptr", "get", "cuda", "cpu", "to", "clone", "copy", "copy_to", "contiguous"),
        *("detach", "numpy", "ravel", "reshape", "flatten", "squeeze", "view", "astype", "cast"),
        "tolist",
    }
)
_CASTS = frozenset({"int", "float", "long", "size_t", "int32_t", "int64_t", "np.int32", "np.int64"})
# Algorithms over `[first, last)`: (read or write, argument where it starts, argument `first`;
# `last` is the next one).
_RANGE_ALGORITHMS: dict[str, tuple[tuple[str, int, int], ...]] = {
    "std::equal": (("read", 0, 0), ("read", 2, 0)),
    "std::mismatch": (("read", 0, 0), ("read", 2, 0)),
    "std::search": (("read", 0, 0), ("read", 2, 2)),
    "std::find": (("read", 0, 0),),
    "std::fill": (("write", 0, 0),),
    "std::copy": (("read", 0, 0), ("write", 2, 0)),
}
_DEEPEST_CALL = 8
_INTEGER_TEMPLATE_PARAMETER = re.compile(r"(?:int|size_t|unsigned|int64_t|uint32_t)\s+(\w+)")


def evaluate_call(run: SymbolicRun, expr: Call, state: PathState) -> SymbolicValue:
    """What a call gives; what it reads and writes is recorded."""
    name = callee(expr)
    if isinstance(expr.func, Attr):
        base = run.value(expr.func.base, state)
        if isinstance(base, Pointer):
            return _call_array_method(run, base, expr.func.name, expr.line, state)
    copy_arguments = find_copy_arguments(name)
    if copy_arguments is not None and len(expr.args) >= 2:
        copy_block(run, expr, copy_arguments, state)
        return None
    args = [run.value(arg, state) for arg in expr.args]
    words = {keyword: run.value(value, state) for keyword, value in expr.keywords}
    if isinstance(expr.func, Name) and expr.func.id in _RANGE_ALGORITHMS:
        _record_ranges(run, expr.func.id, args, expr.line, state)
    if dotted(expr.func) in _CASTS and len(args) == 1:
        return run.number(args[0], state)
    function = _find_function(run, name, args, words, state)
    if function is not None:
        return _step_into(run, function, args, words, expr.template, state)
    return symbol_form("opaque", f"{name}({', '.join(map(str, args))})")


def _call_array_method(
    run: SymbolicRun, array: Pointer, method: str, line: int, state: PathState
) -> SymbolicValue:
    if method == "item":
        return run.load(array, line, state)
    if method in SAME_ELEMENT_METHODS:
        return array
    return symbol_form("opaque", f"{array.buffer}.{method}()")


def moves_with_index(
    args: list[SymbolicValue], words: dict[str, SymbolicValue], state: PathState
) -> bool:
    """Whether a call gets the index, or a place or number that moves with it."""
    for value in [*args, *words.values()]:
        if isinstance(value, Pointer):
            if value.buffer in state.cells or value.offset.symbols("index"):
                return True
        elif isinstance(value, Linear) and value.symbols("index"):
            return True
    return False


def _record_ranges(
    run: SymbolicRun, algorithm: str, args: list[SymbolicValue], line: int, state: PathState
) -> None:
    """Note what an algorithm over `[first, last)` reads and writes."""
    for kind, start, length in _RANGE_ALGORITHMS[algorithm]:
        if len(args) <= max(start, length + 1):
            continue
        place, first, last = args[start], args[length], args[length + 1]
        if not isinstance(place, Pointer):
            continue
        if not isinstance(first, Pointer) or not isinstance(last, Pointer):
            continue
        if first.buffer != last.buffer:
            continue
        size = last.offset - first.offset
        end = (place.offset + size).plus(-1)
        run.record(kind, place.buffer, place.offset, end, line, state, place.where)


def _find_function(
    run: SymbolicRun,
    name: str,
    args: list[SymbolicValue],
    words: dict[str, SymbolicValue],
    state: PathState,
) -> Function | None:
    """The function to step into.

    None where the call has nothing to do with the index, or where recursion begins.
    """
    if not name or not run.relevant(args, words, state):
        return None
    function = run.find(name, run.path, len(args) + len(words))
    if function in run.stack or len(run.stack) >= _DEEPEST_CALL:
        return None
    return function


def _step_into(
    run: SymbolicRun,
    function: Function,
    args: list[SymbolicValue],
    words: dict[str, SymbolicValue],
    template: str,
    state: PathState,
) -> SymbolicValue:
    """Run `function` on these arguments, in this state.

    Gives its result, where every way out gives the same, else an unknown.
    """
    # The function has its own locals, and writes to the same buffers.
    inner = PathState({}, state.cells, state.writes, list(state.limits))
    inner.env.update(bind_parameters(function, args, words, template))
    for param in function.params:
        if param.name not in inner.env:
            inner.env[param.name] = run.value(param.default, state) if param.default else None
    exits = run.call_body(function, inner)
    # It raises on every path.
    if not exits:
        state.left = True
        return None
    merged = PathState()
    ends = [PathState({}, end.cells, end.writes, state.limits) for end, _ in exits]
    join_states(run, merged, ends)
    state.cells = merged.cells
    state.writes = merged.writes
    result = exits[0][1]
    if all(value == result for _, value in exits):
        return result
    return run.unknown(function.name)


def bind_parameters(
    function: Function, args: list[SymbolicValue], words: dict[str, SymbolicValue], template: str
) -> dict[str, SymbolicValue]:
    """The parameters of `function` with these arguments; integer template arguments too."""
    params = [p.name for p in function.params if p.name not in ("self", "cls")]
    bound = dict(zip(params, args, strict=False))
    for keyword, value in words.items():
        if keyword in params:
            bound[keyword] = value
    heads = [mark for mark in function.marks if mark.startswith("template")]
    if not template or not heads:
        return bound
    template_params = _INTEGER_TEMPLATE_PARAMETER.findall(heads[0])
    for name, text in zip(template_params, template.split(","), strict=False):
        if text.strip().isdigit():
            bound[name] = constant_form(int(text))
    return bound
