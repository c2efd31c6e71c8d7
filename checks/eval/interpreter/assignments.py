"""Assignments: what a statement writes, to names, attributes and elements."""

from __future__ import annotations

from checks.eval.interpreter.builtins_model.iteration import length_origins, list_items
from checks.eval.interpreter.builtins_model.operators import binary
from checks.eval.interpreter.frames import WROTE_ATTRIBUTE, WROTE_ELEMENT, Interpretation
from checks.eval.interpreter.subscripts import set_item
from checks.eval.interpreter.values import (
    UNKNOWN_VALUE,
    Instance,
    ModuleRef,
    SimulatedException,
    Value,
    ValueOrigin,
)
from checks.lang.ir import expr as E
from checks.lang.ir import stmt as S


def run_assignment(run: Interpretation, stmt: S.Assign) -> None:
    """`target = value` and `target += value`; a declaration without a value does nothing."""
    if stmt.value is None:
        return
    value = run.eval(stmt.value)
    if stmt.op != "=":
        value = binary(stmt.op.removesuffix("="), run.eval(stmt.target), value)
    run.store(stmt.target, _mark(run, value, stmt))


def _mark(run: Interpretation, value: Value, stmt: S.Assign) -> Value:
    """`value` with this statement as origin, if it stands in a test or on an altered line."""
    frame = run.frame
    origin = ValueOrigin(frame.unit.path, stmt.line)
    if frame.fixture:
        return value.with_origin(origin)
    if not frame.altered or not run.changed(frame.unit.path, stmt.line, stmt.end_line):
        return value
    if isinstance(value.value, int):
        text = " ".join(frame.unit.text(stmt.line, stmt.end_line).split())
        run.trace.append((origin, text, repr(value.value)))
    return value.with_origin(origin)


def store_value(run: Interpretation, target: E.Expr, value: Value) -> None:
    """`target = value`; a write that may not happen leaves something unknown."""
    if not run.is_certain:
        value = UNKNOWN_VALUE
    match target:
        case E.Name(id=name):
            run.frame.names[name] = value
        case E.Attr(base=base, name=name):
            _set_attribute(run, run.eval(base), name, value)
            _note_store(run, target, WROTE_ATTRIBUTE)
        case E.Index(base=base, indices=indices):
            set_item(run, run.eval(base), indices, value)
            _note_store(run, target, WROTE_ELEMENT)
        case E.Sequence(items=items):
            _unpack(run, items, value)


def _set_attribute(run: Interpretation, owner: Value, name: str, value: Value) -> None:
    match owner.value:
        case Instance() as instance:
            instance.attrs[name] = value
        case ModuleRef(unit=unit) if unit is not None:
            run.program.replace((unit.path, name), value)


def _note_store(run: Interpretation, target: E.Expr, kind: int) -> None:
    """Remember that a line of a test file wrote; the last write comes last in the dict."""
    if not run.frame.fixture:
        return
    origin = ValueOrigin(run.frame.unit.path, target.line)
    earlier = run.stores.pop(origin, 0)
    run.stores[origin] = max(kind, earlier)


def _unpack(run: Interpretation, targets: tuple[E.Expr, ...], value: Value) -> None:
    """`a, b = value`. Raises a ValueError where the lengths certainly differ."""
    items = list_items(value)
    starred = any(isinstance(target, E.Unary) for target in targets)
    if items is None or starred:
        items = [UNKNOWN_VALUE] * len(targets)
    if len(items) != len(targets):
        detail = f"expected {len(targets)} values, got {len(items)}"
        raise SimulatedException("ValueError", detail, length_origins(value))
    for target, item in zip(targets, items, strict=True):
        run.store(target, item)
