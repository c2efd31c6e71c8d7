"""Expressions on symbols: numbers become linear forms, and buffers become places."""

from __future__ import annotations

from checks.eval.symbolic.affine import Linear, constant_form, multiply, symbol_form
from checks.eval.symbolic.places import shift_place
from checks.eval.symbolic.run import SymbolicRun
from checks.eval.symbolic.values import BufferTable, LocalAddress, PathState, Pointer, SymbolicValue
from checks.lang.ir.expr import (
    Attr,
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Index,
    Mapping,
    Name,
    Unary,
    Unknown,
    children,
    dotted,
)

_COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})


def evaluate(run: SymbolicRun, expr: Expr | None, state: PathState) -> SymbolicValue:
    """What `expr` is; reads on the way are recorded."""
    match expr:
        case None:
            return None
        case Const(value=value):
            return constant_form(int(value)) if isinstance(value, int) else None
        case Name() | Attr():
            return run.named(expr, state)
        case Index():
            return run.element(expr, state)
        case Call():
            return run.call(expr, state)
        case Cast(operand=operand):
            return run.value(operand, state)
        case Unary(op="&", operand=operand):
            return _take_address(run, operand, state)
        case Unary():
            return _evaluate_unary(run, expr, state)
        case Binary():
            return _evaluate_binary(run, expr, state)
        case Unknown():
            name = postfix_variable(expr)
            return state.env.get(name) if name else None
        case Mapping(items=items):
            return _evaluate_mapping(run, items, state)
        case _:
            for child in children(expr):
                run.value(child, state)
            return symbol_form("opaque", f"{type(expr).__name__}:{expr.line}")


def look_up_name(run: SymbolicRun, expr: Name | Attr, state: PathState) -> SymbolicValue:
    """The local `expr` (dotted names too), the entry of a dict, or an unknown that has its name."""
    name = dotted(expr)
    if name is not None and name in state.env:
        return state.env[name]
    if isinstance(expr, Name):
        return symbol_form("opaque", expr.id)
    base = run.value(expr.base, state)
    if isinstance(base, BufferTable):
        return base.get(expr.name)
    return symbol_form("opaque", name or f"{expr.name}:{expr.line}")


def postfix_variable(expr: Unknown) -> str | None:
    """The variable of a conditional `count++`, which the front end leaves unlowered."""
    text = expr.text.strip()
    variable, operator = text[:-2], text[-2:]
    if operator in ("++", "--") and variable.isidentifier():
        return variable
    return None


def _take_address(run: SymbolicRun, operand: Expr, state: PathState) -> SymbolicValue:
    if isinstance(operand, Name) and not isinstance(state.env.get(operand.id), Pointer):
        return LocalAddress(operand.id)
    return run.place(operand, state)


def _evaluate_unary(run: SymbolicRun, expr: Unary, state: PathState) -> SymbolicValue:
    operand = run.value(expr.operand, state)
    match expr.op:
        case "*":
            if isinstance(operand, Pointer):
                return run.load(operand, expr.line, state)
            return None
        case "+":
            return run.number(operand, state)
        case "-":
            form = run.number(operand, state)
            return None if form is None else form.times(-1)
        case op:
            return symbol_form("opaque", f"{op}({operand})")


def _evaluate_mapping(
    run: SymbolicRun, items: tuple[tuple[Expr | None, Expr], ...], state: PathState
) -> BufferTable:
    entries: list[tuple[str, SymbolicValue]] = []
    for key, expr in items:
        if not isinstance(key, Const):
            continue
        value = run.value(expr, state)
        if isinstance(key.value, str):
            entries.append((key.value, value))
    return BufferTable(tuple(entries))


def _evaluate_binary(run: SymbolicRun, expr: Binary, state: PathState) -> SymbolicValue:
    left = run.value(expr.left, state)
    right = run.value(expr.right, state)
    if expr.op in _COMPARISONS:
        _record_comparison(run, left, right, expr.line, state)
    return combine(run, expr.op, left, right, expr.line, state)


def _record_comparison(
    run: SymbolicRun, left: SymbolicValue, right: SymbolicValue, line: int, state: PathState
) -> None:
    """Note a comparison of the index with one load: that is a limit of the index."""
    left_number = run.number(left, state)
    right_number = run.number(right, state)
    if left_number is None or right_number is None:
        return
    for moving, limit in ((left_number, right_number), (right_number, left_number)):
        loads = limit.symbols("load")
        is_one_load = len(limit.terms) == 1 and len(loads) == 1
        if is_one_load and moving.index() is not None:
            run.record("compare", loads[0].source, moving, moving, line, state)


def combine(
    run: SymbolicRun,
    op: str,
    left: SymbolicValue,
    right: SymbolicValue,
    line: int,
    state: PathState,
) -> SymbolicValue:
    """`left op right`; None where nothing can be said."""
    if not run.python and isinstance(left, Pointer) and op in ("+", "-"):
        return _move_pointer(run, op, left, right, line, state)
    if not run.python and isinstance(right, Pointer) and op == "+":
        return combine(run, op, right, left, line, state)
    left_number = run.number(left, state)
    right_number = run.number(right, state)
    if left_number is None or right_number is None:
        return None
    match op:
        case "+":
            return left_number + right_number
        case "-":
            return left_number - right_number
        case "*":
            return multiply(left_number, right_number)
        case _:
            return symbol_form("opaque", f"({left_number}) {op} ({right_number})")


def _move_pointer(
    run: SymbolicRun,
    op: str,
    pointer: Pointer,
    distance: SymbolicValue,
    line: int,
    state: PathState,
) -> Pointer | None:
    """C++'s `pointer + distance` and `pointer - distance`."""
    shift = run.number(distance, state)
    if shift is None:
        return None
    if op == "-":
        shift = shift.times(-1)
    return shift_place(run, pointer, shift, line)


def convert_to_number(
    run: SymbolicRun, value: SymbolicValue, state: PathState | None
) -> Linear | None:
    """`value` as a number: a Python element or array stands for what is loaded from it."""
    if isinstance(value, Linear):
        return value
    if not run.python or not isinstance(value, Pointer):
        return None
    if state is not None and value.buffer in state.cells:
        return state.cells[value.buffer]
    return symbol_form("load", value.buffer, value.buffer)
