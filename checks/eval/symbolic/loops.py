"""Loops: run once for all rounds, with bounded variables; what they change is forgotten."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, field, replace

from checks.eval.symbolic.affine import Linear, LoopRange, constant_form, symbol_form
from checks.eval.symbolic.expressions import postfix_variable
from checks.eval.symbolic.limits import limits_of
from checks.eval.symbolic.run import SymbolicRun
from checks.eval.symbolic.values import PathState, Pointer
from checks.lang.ir.expr import (
    Const,
    Expr,
    Index,
    Name,
    Sequence,
    Unary,
    Unknown,
    dotted,
    names,
    root,
    walk,
)
from checks.lang.ir.stmt import Assign, For, If, Jump, Raise, Return, Stmt, With


@dataclass(slots=True)
class Assignments:
    """Variables that statements assign (dotted names too), and places that they store to."""

    names: set[str] = field(default_factory=set)
    # `a[i]`, `*p`
    places: list[Expr] = field(default_factory=list)


def run_loop(run: SymbolicRun, stmt: For, state: PathState) -> None:
    """Run the body once, for any round; afterwards nothing is known of what it changes."""
    every_round = collect_assignments(stmt.body)
    carried = collect_assignments(stmt.body, carried=True).names
    changed = every_round.names | _find_postfixes(stmt.body)
    growing = {name for name in changed if _only_grows(name, stmt.body)}
    start = run.number_of(stmt.start, state)
    stop = run.number_of(stmt.stop, state)
    run.value(stmt.iterable, state)
    # In any round but the first, earlier rounds have changed these already.
    run.depth += 1
    _forget_locals(run, changed & (carried | growing), growing, state)
    _forget_cells(run, every_round.places, state)
    body = state.copy()
    _enter_body(run, stmt, body, start, stop)
    # The writes of every way out count, also of one that a `break` takes.
    run.breaks.append([])
    run.block(stmt.body, body)
    ends = run.breaks.pop()
    if not body.left:
        ends.append(body)
    run.depth -= 1
    # The loop may have run no round at all, so `state` itself is one of the ends.
    state.writes = list(dict.fromkeys(write for end in [*ends, state] for write in end.writes))
    _forget_locals(run, changed, set(), state)
    _forget_cells(run, every_round.places, state)
    name = dotted(stmt.target) if stmt.target is not None else None
    if name:
        state.env[name] = run.unknown(name)


def _enter_body(
    run: SymbolicRun, stmt: For, body: PathState, start: Linear | None, stop: Linear | None
) -> None:
    """Bind the loop variables, and what holds while the loop runs."""
    if stmt.test is not None:
        run.value(stmt.test, body)
        body.limits += limits_of(run, stmt.test, body, holds=True)
    if stmt.target is None:
        return
    for expr in walk(stmt.target):
        if isinstance(expr, Name):
            loop_range = _range_of(run, stmt, start, stop)
            body.env[expr.id] = _new_loop_symbol(run, expr.id, loop_range)


def _range_of(run: SymbolicRun, stmt: For, start: Linear | None, stop: Linear | None) -> LoopRange:
    """The bounds of the loop variable of `for (i = start; i < stop; i += step)`."""
    first = start
    if run.python and stmt.start is None and stmt.stop is not None:
        first = constant_form(0)
    if _is_negative(stmt.step):
        low = None if stop is None else stop.plus(1)
        return LoopRange(low, first, run.depth)
    high = None if stop is None else stop.plus(-1)
    return LoopRange(first, high, run.depth)


def _new_loop_symbol(run: SymbolicRun, name: str, loop_range: LoopRange) -> Linear:
    form = symbol_form("loop", f"{name}#{next(run.fresh)}")
    loop_symbol, _ = form.terms[0]
    run.recorder.bounds.ranges[loop_symbol] = loop_range
    return form


def _forget_locals(
    run: SymbolicRun, changed: set[str], growing: set[str], state: PathState
) -> None:
    """Replace locals that a loop changes by unknowns.

    One that only grows keeps its first value as lower bound.
    """
    for name in sorted(changed & state.env.keys()):
        old = state.env[name]
        if isinstance(old, Pointer):
            state.env[name] = replace(old, offset=run.unknown(name))
            continue
        if not isinstance(old, Linear):
            continue
        index = old.index()
        if index is not None:
            state.env[name] = run.later(index.source)
        elif name in growing:
            state.env[name] = _new_loop_symbol(run, name, LoopRange(old, None, run.depth))
        else:
            state.env[name] = run.unknown(name)


def _forget_cells(run: SymbolicRun, places: list[Expr], state: PathState) -> None:
    """Give every index that a loop stores to a later value."""
    for place in places:
        held = state.env.get(root(place) or "")
        if isinstance(held, Pointer) and held.buffer in state.cells:
            state.cells[held.buffer] = run.later(held.buffer)


def _is_negative(step: Expr | None) -> bool:
    match step:
        case Unary(op="-"):
            return True
        case Const(value=int(value)):
            return value < 0
        case _:
            return False


def collect_assignments(body: SequenceOf[Stmt], *, carried: bool = False) -> Assignments:
    """What `body` assigns.

    With `carried`, without what it assigns only on the way out (`n = 0; break;`).
    """
    assignments = Assignments()
    _add_assignments(body, assignments, carried=carried)
    return assignments


def _add_assignments(body: SequenceOf[Stmt], assignments: Assignments, *, carried: bool) -> None:
    if carried and body and _leaves_loop(body[-1]):
        return
    for stmt in body:
        match stmt:
            case Assign(target=Sequence(items=targets)):
                for target in targets:
                    _add_target(target, assignments)
            case Assign(target=target):
                _add_target(target, assignments)
            case If(then=then, orelse=orelse):
                _add_assignments(then, assignments, carried=carried)
                _add_assignments(orelse, assignments, carried=carried)
            case For(body=inner, target=loop_target):
                if loop_target is not None:
                    assignments.names |= names(loop_target)
                # A break in there leaves the inner loop only.
                _add_assignments(inner, assignments, carried=False)
            case With(body=inner, parts=parts):
                for block in (inner, *parts):
                    _add_assignments(block, assignments, carried=carried)
            case _:
                pass


def _add_target(target: Expr, assignments: Assignments) -> None:
    name = dotted(target)
    if name is not None:
        assignments.names.add(name)
    elif isinstance(target, Index | Unary):
        assignments.places.append(target)


def _leaves_loop(stmt: Stmt) -> bool:
    match stmt:
        case Return() | Raise() | Jump(kind="break"):
            return True
        case _:
            return False


def _find_postfixes(body: SequenceOf[Stmt]) -> set[str]:
    """The variables that expressions in `body` count up or down, see `postfix_variable`."""
    variables: set[str] = set()
    for stmt in body:
        for attribute in ("test", "value", "target"):
            expr = getattr(stmt, attribute, None)
            if expr is not None:
                variables |= _postfixes_in(expr)
        for attribute in ("body", "then", "orelse"):
            variables |= _find_postfixes(getattr(stmt, attribute, ()))
    return variables


def _postfixes_in(expr: Expr) -> set[str]:
    variables: set[str] = set()
    for inner in walk(expr):
        variable = postfix_variable(inner) if isinstance(inner, Unknown) else None
        if variable:
            variables.add(variable)
    return variables


def _only_grows(name: str, body: SequenceOf[Stmt]) -> bool:
    """Whether every assignment to `name` in `body` adds a number that is not negative."""
    for stmt in body:
        match stmt:
            case Assign(target=Name(id=target), op=op, value=value) if target == name:
                if op != "+=" or not _is_count(value):
                    return False
            case If(then=then, orelse=orelse):
                if not _only_grows(name, then) or not _only_grows(name, orelse):
                    return False
            case For(body=inner) | With(body=inner):
                if not _only_grows(name, inner):
                    return False
            case _:
                pass
    return True


def _is_count(value: Expr | None) -> bool:
    return isinstance(value, Const) and isinstance(value.value, int) and value.value >= 0
