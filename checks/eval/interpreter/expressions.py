"""Expressions: operators, displays and comprehensions."""

from __future__ import annotations

from checks.eval.interpreter import arrays
from checks.eval.interpreter.builtins_model.iteration import length_origins, list_items
from checks.eval.interpreter.builtins_model.operators import binary
from checks.eval.interpreter.calls import evaluate_call
from checks.eval.interpreter.frames import Interpretation
from checks.eval.interpreter.names import get_attribute, look_up_name
from checks.eval.interpreter.subscripts import get_item
from checks.eval.interpreter.values import (
    SCALARS,
    UNKNOWN_VALUE,
    PyDict,
    PyList,
    SimulatedException,
    Value,
    truth,
    unknown,
)
from checks.eval.python_operators import UNARY
from checks.lang.ir import expr as E


def evaluate(run: Interpretation, expr: E.Expr) -> Value:
    """The value of an expression; unknown for a form that is not modelled."""
    match expr:
        case E.Const(value=value):
            return Value(value)
        case E.Name(id=name):
            return look_up_name(run, name)
        case E.Attr(base=base, name=name):
            return get_attribute(run, run.eval(base), name)
        case E.Index(base=base, indices=indices):
            return get_item(run, run.eval(base), indices)
        case E.Call():
            return evaluate_call(run, expr)
        case E.Unary(op=op, operand=operand):
            return _evaluate_unary(op, run.eval(operand))
        case E.Binary(op="and" | "or"):
            return _evaluate_logic(run, expr)
        case E.Binary(op=op, left=left, right=right):
            return binary(op, run.eval(left), run.eval(right))
        case E.Ternary():
            return _evaluate_ternary(run, expr)
        case E.Sequence():
            return _evaluate_sequence(run, expr)
        case E.Mapping():
            return _evaluate_mapping(run, expr)
        case E.Comprehension():
            return _evaluate_comprehension(run, expr)
        case _:
            return UNKNOWN_VALUE


def _evaluate_unary(op: str, operand: Value) -> Value:
    value = arrays.scalar(operand)
    if op == "not":
        known = truth(value)
        return unknown(value) if known is None else Value(not known, value.origins)
    function = UNARY.get(op)
    if function is None or not isinstance(value.value, int | float):
        return unknown(value)
    if op == "~" and isinstance(value.value, float):
        return unknown(value)
    return Value(function(value.value), value.origins)


def _evaluate_logic(run: Interpretation, expr: E.Binary) -> Value:
    """`and`, `or`: of an unknown first operand, the second may still decide."""
    left = run.eval(expr.left)
    known = truth(left)
    if known is not None:
        return run.eval(expr.right) if known == (expr.op == "and") else left
    right = _evaluate_doubtfully(run, expr.right)
    decides = isinstance(right.value, bool) and right.value == (expr.op == "or")
    return right if decides else unknown(left, right)


def _evaluate_ternary(run: Interpretation, expr: E.Ternary) -> Value:
    known = truth(run.eval(expr.test))
    if known is None:
        _evaluate_doubtfully(run, expr.then)
        _evaluate_doubtfully(run, expr.orelse)
        return UNKNOWN_VALUE
    return run.eval(expr.then if known else expr.orelse)


def _evaluate_doubtfully(run: Interpretation, expr: E.Expr) -> Value:
    """The value of an expression that may not be evaluated: what it writes becomes unknown."""
    frame = run.frame
    was_maybe, frame.maybe = frame.maybe, True
    try:
        return run.eval(expr)
    except SimulatedException:
        run.note_possible_exception()
        return UNKNOWN_VALUE
    finally:
        frame.maybe = was_maybe


def _evaluate_sequence(run: Interpretation, expr: E.Sequence) -> Value:
    if any(_is_starred(item) for item in expr.items):
        return Value(PyList(None, kind=expr.kind))
    items = [run.eval(item) for item in expr.items]
    if expr.kind == "set":
        return Value(PyList(_distinct(items), kind="set"))
    return Value(PyList(items, kind=expr.kind))


def _distinct(items: list[Value]) -> list[Value] | None:
    """The elements of a set of them; None where it is not known which are the same."""
    if not all(isinstance(item.value, SCALARS) for item in items):
        return None
    return list({item.value: item for item in items}.values())


def _is_starred(expr: E.Expr) -> bool:
    return isinstance(expr, E.Unary) and expr.op == "*"


def _evaluate_mapping(run: Interpretation, expr: E.Mapping) -> Value:
    mapping = PyDict({})
    for key_expr, value_expr in expr.items:
        key = UNKNOWN_VALUE if key_expr is None else run.eval(key_expr)
        value = run.eval(value_expr)
        if isinstance(key.value, SCALARS):
            mapping.items[key.value] = value
        else:
            mapping.open = True
    return Value(mapping)


def _evaluate_comprehension(run: Interpretation, expr: E.Comprehension) -> Value:
    """A list or generator with one `for`; others are unknown."""
    if len(expr.clauses) != 1 or expr.kind not in ("list", "generator"):
        return UNKNOWN_VALUE
    target, iterable, conditions = expr.clauses[0]
    source = run.eval(iterable)
    items = list_items(source)
    if items is None:
        return unknown(source)
    frame = run.frame
    saved = dict(frame.names)
    elements: list[Value] = []
    try:
        for item in items:
            run.store(target, item)
            taken = _all_true(run, conditions)
            if taken is None:
                return unknown(source)
            if taken:
                elements.append(run.eval(expr.element))
    finally:
        # The names of a comprehension are its own.
        frame.names.clear()
        frame.names.update(saved)
    return Value(PyList(elements, length_origins(source)))


def _all_true(run: Interpretation, conditions: tuple[E.Expr, ...]) -> bool | None:
    """Whether all conditions hold; None where one is not known."""
    verdicts = [truth(run.eval(condition)) for condition in conditions]
    if None in verdicts:
        return None
    return all(verdicts)
