"""Uses of parameters that may be None as if they were something."""

from __future__ import annotations

from typing import Literal

from checks.core.change import ChangeSet
from checks.core.finding import Location
from checks.domain.calls.targets import CallTarget, CallTargets
from checks.domain.ops import arguments, calls_of, expressions_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, For, GuardedStmt, Stmt, guarded_statements

_ITERATING = frozenset(
    {"any", "all", "len", "sum", "max", "min", "sorted", "list", "enumerate", "zip", "tuple"}
)
# How many calls a parameter is followed through.
_MOST_CALLS = 2


def optional_parameters(function: Function) -> set[str]:
    """The parameters whose default is None."""
    return {p.name for p in function.params if p.default == E.Const(None)}


def needs_new_parameter(base: Function, head: Function) -> bool:
    """Whether `head` uses an optional parameter without a check where `base` did not."""
    return bool(_needed_parameters(head) - _needed_parameters(base))


def _needed_parameters(function: Function) -> set[str]:
    """The optional parameters that `function` certainly uses as if they were something."""
    optional = optional_parameters(function)
    return {name for name in optional if unchecked_use(function, name) is not None}


def passes_optional_on(function: Function, unit: SourceFile, change: ChangeSet) -> bool:
    """Whether a line of the change hands an optional parameter of `function` to another call."""
    optional = {E.Name(name) for name in optional_parameters(function)}
    if not optional:
        return False
    for call, _ in calls_of(function.body):
        if not change.touches(unit.path, call.line, call.line):
            continue
        if any(value in optional for value in _passed_values(call)):
            return True
    return False


def _passed_values(call: E.Call) -> list[E.Expr]:
    return [*call.args, *[value for _, value in call.keywords]]


def unchecked_use(function: Function, name: str) -> int | None:
    """The first line on which the parameter is opened, indexed or iterated, whatever the arguments
    are.

    None where there is none, or where an earlier condition or assignment mentions the parameter:
    the code has looked at it.
    """
    for guarded in guarded_statements(function.body):
        stmt = guarded.stmt
        # A loop may run no times at all.
        if guarded.loops or _is_asked_about(name, guarded):
            return None
        # Some callers never come here.
        if any(_may_leave_out(guard) for guard in guarded.guards):
            continue
        if isinstance(stmt, Assign) and stmt.target == E.Name(name):
            return None
        use = _first_use(name, stmt)
        if use == "check":
            return None
        if use == "value":
            return stmt.line
    return None


def opens_field(function: Function, name: str) -> bool:
    """Whether the function, whatever the arguments are, opens the field in which it keeps the
    parameter: `self.size = size`, then `self.size.rows`."""
    field: E.Expr | None = None
    for guarded in guarded_statements(function.body):
        stmt = guarded.stmt
        if guarded.loops or guarded.guards:
            continue
        if isinstance(stmt, Assign) and stmt.value == E.Name(name):
            field = stmt.target
        elif field is not None:
            parts = [part for top in expressions_of(stmt) for part in E.walk(top)]
            if any(isinstance(part, E.Attr) and part.base == field for part in parts):
                return True
    return False


def _is_asked_about(name: str, guarded: GuardedStmt) -> bool:
    return any(name in E.names(guard) for guard in guarded.guards)


def _first_use(name: str, stmt: Stmt) -> Literal["value", "check"] | None:
    """What a statement does first with the name: open it as a value, or check it.

    None where neither.
    """
    for expr in expressions_of(stmt):
        for e in E.walk(expr):
            if _opens(e, name):
                return "value"
            if _checks(e, name):
                return "check"
    if isinstance(stmt, For) and stmt.iterable == E.Name(name):
        return "value"
    return None


def _opens(e: E.Expr, name: str) -> bool:
    """Whether an expression fails where `name` is None.

    That is `name.x`, `name[i]`, `len(name)`, `for x in name`.
    """
    match e:
        case E.Attr(base=base) | E.Index(base=base):
            return base == E.Name(name)
        case E.Comprehension(clauses=clauses):
            return any(iterable == E.Name(name) for _, iterable, _ in clauses)
        case E.Call(func=E.Name(id=function), args=args):
            return function in _ITERATING and E.Name(name) in args
        case _:
            return False


def _checks(e: E.Expr, name: str) -> bool:
    """Whether an expression may ask if `name` is None."""
    match e:
        case E.Binary(op="is" | "is-not" | "==" | "!=" | "and" | "or") | E.Ternary():
            return name in E.names(e)
        case E.Unary(op="not", operand=operand):
            return operand == E.Name(name)
        case _:
            return False


def unchecked_use_through_calls(
    target: CallTarget, name: str, targets: CallTargets, most_calls: int = _MOST_CALLS
) -> Location | None:
    """Where `target`, or a function that it passes the parameter to, uses it without a check."""
    line = unchecked_use(target.function, name)
    if line is not None:
        return Location(target.unit.path, line)
    if not most_calls:
        return None
    for guarded in guarded_statements(target.function.body):
        if _is_asked_about(name, guarded) or _settles(name, guarded.stmt):
            return None
        if guarded.loops or any(_may_leave_out(guard) for guard in guarded.guards):
            continue
        for call in _calls_passing(name, guarded.stmt):
            place = _use_in_callee(call, name, target, targets, most_calls - 1)
            if place is not None:
                return place
    return None


def _settles(name: str, stmt: Stmt) -> bool:
    """Whether a statement binds the name again or looks at it: from here on it may be something."""
    target = stmt.target if isinstance(stmt, Assign | For) else None
    if target is not None and name in E.names(target):
        return True
    return any(_is_checked_first(name, expr) for expr in expressions_of(stmt))


def _is_checked_first(name: str, expr: E.Expr) -> bool:
    for e in E.walk(expr):
        if _opens(e, name):
            return False
        if _checks(e, name):
            return True
    return False


def _may_leave_out(guard: E.Expr) -> bool:
    """Whether a condition asks for a kind of value, another option or a state.

    Some callers never get to what is done under it: `if self.ranks > 1` may be false for them.
    """
    asks_kind = isinstance(guard, E.Call) and E.callee(guard) == "isinstance"
    reads_state = any(isinstance(part, E.Attr) for part in E.walk(guard))
    return asks_kind or reads_state or _asks_for_other_option(guard)


def _asks_for_other_option(guard: E.Expr) -> bool:
    """`output.mask is not None`: who leaves that out does not need what is asked here either."""
    match guard:
        case E.Binary(op="is-not", right=E.Const(value=None)):
            return True
        case E.Binary(op="and", left=left, right=right):
            return _asks_for_other_option(left) or _asks_for_other_option(right)
        case _:
            return False


def _calls_passing(name: str, stmt: Stmt) -> list[E.Call]:
    """The calls of a statement that get the name itself as an argument."""
    calls: list[E.Call] = []
    for expr in expressions_of(stmt):
        for e in E.walk(expr):
            if isinstance(e, E.Call) and E.Name(name) in _passed_values(e):
                calls.append(e)
    return calls


def _use_in_callee(
    call: E.Call, name: str, target: CallTarget, targets: CallTargets, most_calls: int
) -> Location | None:
    """Where the function that `call` reaches uses what it gets for `name`.

    The first parameter decides.
    """
    callee = targets.of(call, target.function, target.unit)
    if callee is None:
        return None
    params = tuple(p.name for p in callee.params)
    for parameter, value in arguments(call, params).items():
        if value == E.Name(name):
            return unchecked_use_through_calls(callee, parameter, targets, most_calls)
    return None
