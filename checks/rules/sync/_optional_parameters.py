"""Parameters that may be None and are used without a look: a caller who leaves them out gets an exception."""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity, Side
from checks.domain.call_targets import Target, Targets, called
from checks.domain.ops import arguments, calls_of, expressions_of, statement_expressions
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, For, GuardedStmt

_ITERATES = frozenset(
    {"any", "all", "len", "sum", "max", "min", "sorted", "list", "enumerate", "zip", "tuple"}
)


def newly_needed(old: Function, new: Function) -> bool:
    """Whether `new` uses an optional parameter without a check where `old` did not."""
    return bool(needed(new) - needed(old))


def passed_on(function: Function, unit: SourceFile, change: ChangeSet) -> bool:
    """Whether a line of the change hands an optional parameter of `function` to another call."""
    optional = {E.Name(p.name) for p in function.params if p.default == E.Const(None)}
    if not optional:
        return False
    return any(
        change.touches(unit.path, call.line, call.line)
        and any(v in optional for v in (*call.args, *(v for _, v in call.keywords)))
        for call, _ in calls_of(function.body)
    )


def needed(function: Function) -> set[str]:
    """Parameters with a default of None that `function` certainly uses as if they were something."""
    optional = {
        p.name
        for p in function.params
        if isinstance(p.default, E.Const) and p.default.value is None
    }
    return {name for name in optional if use(function, name) is not None}


def use(function: Function, name: str) -> int | None:
    """The first line on which `name` is opened, indexed or iterated, whatever the arguments; None if it never is.

    Any earlier mention in a condition or a new value ends the search: the code has looked at it.
    """
    for guarded, asked, held in _mentions(function):
        stmt = guarded.stmt
        if name in asked or guarded.loops:
            return None
        if any(_of_an_option(g) for g in guarded.guards):
            continue
        if isinstance(stmt, Assign) and isinstance(stmt.target, E.Name) and stmt.target.id == name:
            return None
        for top in expressions_of(stmt) if name in held else ():
            verdict = _opened(top, name)
            if verdict is False:
                return None
            if verdict:
                return stmt.line
        if isinstance(stmt, For) and isinstance(stmt.iterable, E.Name) and stmt.iterable.id == name:
            return stmt.line
    return None


def _mentions(function: Function) -> list[tuple[GuardedStmt, frozenset[str], frozenset[str]]]:
    """Every statement with the names in its guards and those that it holds itself: asked for one parameter after
    another."""

    def make() -> list[tuple[GuardedStmt, frozenset[str], frozenset[str]]]:
        found: list[tuple[GuardedStmt, frozenset[str], frozenset[str]]] = []
        asked: dict[int, set[str]] = {}  # the same guards stand before many statements
        for guarded, inside in statement_expressions(function.body):
            for guard in guarded.guards:
                if id(guard) not in asked:
                    asked[id(guard)] = E.names(guard)
            over = frozenset().union(*(asked[id(g)] for g in guarded.guards))
            found.append(
                (guarded, over, frozenset([e.id for e in inside if e.__class__ is E.Name]))
            )
        return found

    return function.body.memo(_mentions, make)


def _opened(top: E.Expr, name: str) -> bool | None:
    """True where `name` is used as a value that is not None, False where it is looked at, None where it is not used."""
    for e in E.walk(top):
        match e:
            case E.Attr(base=E.Name(id=base)) | E.Index(base=E.Name(id=base)) if base == name:
                return True
            case E.Comprehension(clauses=clauses) if any(i == E.Name(name) for _, i, _ in clauses):
                return True
            case E.Call(func=E.Name(id=function), args=args) if (
                function in _ITERATES and E.Name(name) in args
            ):
                return True
            case E.Binary(op="is" | "is-not" | "==" | "!=" | "and" | "or") | E.Ternary() if (
                name in E.names(e)
            ):
                return False
            case E.Unary(op="not", operand=E.Name(id=base)) if base == name:
                return False
    return None


def missing(
    call: E.Call,
    function: Function,
    unit: SourceFile,
    target: Target,
    targets: Targets,
    change: ChangeSet,
    rule: str,
) -> Iterator[Finding]:
    """A call that leaves out an optional parameter which the callee, or what it passes it to, uses unchecked."""
    if E.starred(call):
        return
    names = tuple(p.name for p in target.params)
    passed = arguments(call, names)
    for parameter in target.params:
        if (
            parameter.name in passed
            or not isinstance(parameter.default, E.Const)
            or parameter.default.value is not None
        ):
            continue
        place = _use_through(target, parameter.name, targets)
        if place is None or not _new(place, parameter.name, target, change):
            continue
        args = {
            "name": called(target.function),
            "argument": parameter.name,
            "at": place,
            "given": 0,
            "wanted": 0,
        }
        excerpt = _excerpt(place, change)
        yield Finding(
            rule=rule,
            severity=Severity.BUG,
            confidence=Confidence.HIGH,
            location=Location(unit.path, call.line),
            message=Message("none", args),
            symbol=function.qualname,
            subject=f"{called(target.function)} {parameter.name}",
            evidence=(Definition(parameter.name, place, "None", excerpt),),
        )


def _new(place: Location, name: str, target: Target, change: ChangeSet) -> bool:
    """Whether the change wrote the use, or brought the parameter."""
    if change.touches(place.path, place.start_line, place.end_line):
        return True
    file = change.changed(target.unit.path)
    old = change.unit(file.base_path, Side.BASE) if file is not None and file.base_path else None
    before = old.named(target.function.qualname) if old is not None else []
    return bool(before) and all(name not in {p.name for p in f.params} for f in before)


def _use_through(target: Target, name: str, targets: Targets, depth: int = 2) -> Location | None:
    line = use(target.function, name)
    if line is not None:
        return Location(target.unit.path, line)
    for guarded, asked, held in _mentions(target.function) if depth else ():
        stmt = guarded.stmt
        if name in asked:
            return None
        if name not in held:
            continue
        rebound = (
            isinstance(stmt, Assign | For)
            and stmt.target is not None
            and name in E.names(stmt.target)
        )
        if rebound or any(_opened(top, name) is False for top in expressions_of(stmt)):
            return None
        if guarded.loops or any(_of_a_kind(g) or _of_an_option(g) for g in guarded.guards):
            continue
        for top in expressions_of(stmt):
            for e in E.walk(top):
                if isinstance(e, E.Call) and E.Name(name) in (*e.args, *(v for _, v in e.keywords)):
                    found = _passed_on(e, target, name, targets, depth)
                    if found is not None:
                        return found
    return None


def _of_a_kind(guard: E.Expr) -> bool:
    """`isinstance(output, Pooled)`: whether the caller's is one is not known."""
    return isinstance(guard, E.Call) and E.callee(guard) == "isinstance"


def _of_an_option(guard: E.Expr) -> bool:
    """`output.mask is not None`: something else that may be left out, and with it what is asked here."""
    match guard:
        case E.Binary(op="is-not", right=E.Const(value=None)):
            return True
        case E.Binary(op="and", left=left, right=right):
            return _of_an_option(left) or _of_an_option(right)
        case _:
            return False


def _passed_on(
    call: E.Call, target: Target, name: str, targets: Targets, depth: int
) -> Location | None:
    inner = targets.of(call, target.function, target.unit)
    if inner is None:
        return None
    for parameter, value in arguments(call, tuple(p.name for p in inner.params)).items():
        if value == E.Name(name):
            return _use_through(inner, parameter, targets, depth - 1)
    return None


def _excerpt(place: Location, change: ChangeSet) -> str:
    unit = change.unit(place.path)
    return unit.text(place.start_line).strip() if unit is not None else ""
