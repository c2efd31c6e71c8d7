"""Statements: branches, loops, `with` and `try`, and the exceptions that they raise."""

from __future__ import annotations

import re

from checks.eval.interpreter.assignments import run_assignment
from checks.eval.interpreter.builtins_model.dispatch import call_native
from checks.eval.interpreter.builtins_model.iteration import list_items
from checks.eval.interpreter.frames import (
    Interpretation,
    LoopJump,
    ReturnSignal,
)
from checks.eval.interpreter.patches import (
    apply_context_managers,
    apply_monkeypatch,
    target_of_patch,
)
from checks.eval.interpreter.values import (
    NO_ORIGINS,
    NONE_VALUE,
    UNKNOWN_VALUE,
    ClassRef,
    FuncRef,
    Native,
    SimulatedException,
    Value,
    ValueOrigin,
    truth,
)
from checks.lang.ir import expr as E
from checks.lang.ir import stmt as S

# `with` items under which an exception is expected.
_TOLERANT = re.compile(r"raises|assertRaises|suppress|warns|catch")


def run_statement(run: Interpretation, stmt: S.Stmt) -> None:
    """Run one statement. An exception gets the line of the innermost statement that raises it."""
    try:
        _run(run, stmt)
    except SimulatedException as raised:
        if raised.where is None:
            raised.where = ValueOrigin(run.frame.unit.path, stmt.line)
        raise


def _run(run: Interpretation, stmt: S.Stmt) -> None:
    match stmt:
        case S.Assign():
            run_assignment(run, stmt)
        case S.ExprStmt(value=value):
            _run_expression(run, value)
        case S.Return(value=value):
            raise ReturnSignal(NONE_VALUE if value is None else run.eval(value))
        case S.If():
            _run_if(run, stmt)
        case S.For():
            _run_for(run, stmt)
        case S.With():
            _run_with(run, stmt)
        case S.Assert():
            _run_assert(run, stmt)
        case S.Raise(value=value):
            raise SimulatedException(_exception_name(value), "", NO_ORIGINS)
        case S.Jump(kind="break" | "continue" as kind):
            raise LoopJump(kind)
        case S.Define(name=name):
            _run_definition(run, name)
        case S.Opaque(text=text) if "return" in text:
            run.frame.may_have_returned = True
        case _:
            pass


def _run_expression(run: Interpretation, expr: E.Expr) -> None:
    match expr:
        case E.Call(func=E.Attr(base=E.Name(id="monkeypatch"), name="setattr")):
            apply_monkeypatch(run, expr)
        case _:
            run.eval(expr)


def _run_assert(run: Interpretation, stmt: S.Assert) -> None:
    """Only the test's own assertions count."""
    if not run.frame.test:
        return
    value = run.eval(stmt.test)
    if truth(value) is False:
        text = run.frame.unit.excerpt(stmt.line)
        raise SimulatedException("AssertionError", text, value.origins)


def _exception_name(value: E.Expr | None) -> str:
    if isinstance(value, E.Call):
        value = value.func
    name = E.dotted(value) if value is not None else None
    return name or "Exception"


def _run_definition(run: Interpretation, name: str) -> None:
    """A nested function: it sees the names of the one around it."""
    frame = run.frame
    inner = [
        function
        for function in frame.unit.functions
        if function.name == name and frame.function.covers(function.start_line)
    ]
    if len(inner) == 1:
        frame.names[name] = Value(FuncRef(inner[0], frame.unit, None, frame.names))
    else:
        frame.names[name] = UNKNOWN_VALUE


def _run_if(run: Interpretation, stmt: S.If) -> None:
    known = truth(run.eval(stmt.test))
    if known is None or not run.is_certain:
        # In doubt both arms are run: what decides may be of an arm that did not run.
        _run_doubtfully(run, stmt.then)
        _run_doubtfully(run, stmt.orelse)
    else:
        run.block(stmt.then if known else stmt.orelse)


def _run_doubtfully(run: Interpretation, body: tuple[S.Stmt, ...]) -> None:
    """`body` may or may not run: what it writes becomes unknown, and so does what is written after
    it where it may have left the function or the loop."""
    frame = run.frame
    was_maybe, frame.maybe = frame.maybe, True
    was_test, frame.test = frame.test, False
    try:
        for stmt in body:
            try:
                run_statement(run, stmt)
            except SimulatedException:
                run.note_possible_exception()
    except (ReturnSignal, LoopJump) as signal:
        _note_possible_jump(run, signal)
    frame.maybe = was_maybe
    frame.test = was_test


def _note_possible_jump(run: Interpretation, signal: ReturnSignal | LoopJump) -> None:
    if isinstance(signal, ReturnSignal):
        run.frame.may_have_returned = True
    else:
        run.frame.may_have_jumped = True


def _run_for(run: Interpretation, stmt: S.For) -> None:
    frame = run.frame
    had_jumped = frame.may_have_jumped
    _run_rounds(run, stmt)
    frame.may_have_jumped = had_jumped


def _run_rounds(run: Interpretation, stmt: S.For) -> None:
    items = _loop_items(run, stmt)
    if items is not None:
        # A round costs one, so that loops without expressions end too.
        run.budget -= len(items)
    if items is None or run.budget < 0 or not run.is_certain:
        if stmt.target is not None:
            run.store(stmt.target, UNKNOWN_VALUE)
        _run_doubtfully(run, stmt.body)
        return
    for item in items:
        if stmt.target is not None:
            run.store(stmt.target, item)
        try:
            run.block(stmt.body)
        except LoopJump as jump:
            if jump.kind == "break":
                return
        except SimulatedException:
            if not run.frame.may_have_jumped:
                raise
            run.note_possible_exception()
            return


def _loop_items(run: Interpretation, stmt: S.For) -> list[Value] | None:
    """What the loop goes through; None where that is not known, as for `while`."""
    if stmt.iterable is not None:
        return list_items(run.eval(stmt.iterable))
    if stmt.stop is None:
        return None
    start = Value(0) if stmt.start is None else run.eval(stmt.start)
    stop = run.eval(stmt.stop)
    step = Value(1) if stmt.step is None else run.eval(stmt.step)
    return list_items(call_native(Native("range"), [start, stop, step], {}))


def _run_with(run: Interpretation, stmt: S.With) -> None:
    if stmt.kind == "try":
        _run_try(run, stmt)
        return
    undo = apply_context_managers(run, stmt.items)
    try:
        if _is_tolerant(stmt) or any(_is_followed_by_nobody(run, item) for item in stmt.items):
            _run_handled(run, stmt.body, ())
        else:
            run.block(stmt.body)
    finally:
        for put_back in reversed(undo):
            put_back()


def _run_try(run: Interpretation, stmt: S.With) -> None:
    try:
        if stmt.handlers:
            _run_handled(run, stmt.body, stmt.handlers)
        else:
            run.block(stmt.body)
    finally:
        run.block(stmt.final)


def _is_followed_by_nobody(run: Interpretation, item: E.Expr) -> bool:
    """Whether the item is a context manager of the project: what it sets up before the body, and
    which exceptions it takes, is not followed."""
    if not isinstance(item, E.Call) or target_of_patch(run, item) is not None:
        return False
    match run.eval(item.func).value:
        case FuncRef() | ClassRef():
            return True
        case _:
            return False


def _is_tolerant(stmt: S.With) -> bool:
    """Whether exceptions of the body are expected."""
    for item in stmt.items:
        name = E.dotted(item.func) if isinstance(item, E.Call) else None
        if name and _TOLERANT.search(name):
            return True
    return False


def _run_handled(
    run: Interpretation, body: tuple[S.Stmt, ...], handlers: tuple[tuple[S.Stmt, ...], ...]
) -> None:
    """A body whose exceptions may be taken by one of `handlers`, or by a context manager.

    An unknown call may raise as well, so that a handler runs; what the body writes after one is
    believed all the same.
    """
    frame = run.frame
    # In here an exception is no failure of the test.
    was_test, frame.test = frame.test, False
    may_have_raised, unknowns = run.may_have_raised, run.unknowns
    signal: ReturnSignal | LoopJump | None = None
    run.handlers += 1
    try:
        run.block(body)
    except SimulatedException:
        run.note_possible_exception()
    except (ReturnSignal, LoopJump) as caught:
        signal = caught
    finally:
        run.handlers -= 1
        frame.test = was_test
    raised, run.may_have_raised = run.may_have_raised, may_have_raised
    if run.unknowns > unknowns:
        for handler in handlers:
            _run_doubtfully(run, handler)
    if raised:
        # Nobody may have taken it, or its handler raised another.
        run.note_possible_exception()
    if signal is not None:
        if not raised:
            raise signal
        _note_possible_jump(run, signal)
