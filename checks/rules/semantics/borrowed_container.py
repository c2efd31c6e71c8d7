"""A container that may belong to another object is changed as if it were the function's own.

## What it does

Finds locals that are either an attribute of another object or a new container (`x = a.items or
[]`), on lines that the change wrote, and that the function then changes in place (`x.append(y)`, `x
+= ys`).

## Why it matters

The new container shows that the local is meant to be changed; where the attribute is there, its
owner is changed too. `sgl-project/sglang#7167` added the stop words of one request to those of the
template that all requests share, until #7347.

## Example

```python
stop = template.stop or []
stop.extend(request.stop)        # the template's own list
```

## Known limits

An attribute that the function sets to the local again, or changes in place by its own name, is
meant to change. What is passed to another
function, and changed there, is not followed. What a request holds is for the pedantic persona: it
is made anew for each call.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Related, Severity
from checks.domain.ops import expressions_of
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign, Stmt

ID = "semantics.borrowed-container"

_CHANGING_METHODS = frozenset(
    {"append", "extend", "insert", "remove", "clear", "update", "add", "setdefault", "discard"}
    | {"pop", "popleft", "appendleft", "sort", "reverse"}
)
_MAKERS = frozenset({"list", "dict", "set", "defaultdict", "deque", "OrderedDict"})


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if changed.python:
            yield from _borrowed_containers(changed)


def _borrowed_containers(changed: ChangedFunction) -> Iterator[Finding]:
    for guarded in changed.statements:
        stmt = guarded.stmt
        if not isinstance(stmt, Assign) or not isinstance(stmt.target, E.Name):
            continue
        owner = _borrowed_from(stmt.value)
        if owner is None or _is_given_back(owner, stmt.target, changed):
            continue
        line = _first_change(stmt, changed)
        if line and (changed.touched(stmt.line, stmt.end_line) or changed.touched(line)):
            yield _finding(stmt, stmt.target.id, owner, line, changed)


def _borrowed_from(value: E.Expr | None) -> E.Attr | None:
    """The attribute that a value may be, where it may be a new container instead."""
    ways = list(_ways(value))
    attributes = [way for way in ways if isinstance(way, E.Attr)]
    if len(attributes) == 1 and any(_is_new_container(way) for way in ways):
        return attributes[0]
    return None


def _ways(value: E.Expr | None) -> Iterator[E.Expr]:
    """What a value of `or` and `if ... else` may be."""
    match value:
        case E.Binary(op="or", left=left, right=right):
            yield from _ways(left)
            yield from _ways(right)
        case E.Ternary(then=then, orelse=orelse):
            yield from _ways(then)
            yield from _ways(orelse)
        case None:
            return
        case _:
            yield value


def _is_new_container(value: E.Expr) -> bool:
    """Whether each evaluation of `value` makes a list, dict or set of its own."""
    match value:
        case E.Sequence(kind="list" | "set") | E.Mapping() | E.Comprehension():
            return True
        case E.Call(func=E.Name(id=name)):
            return name in _MAKERS
        case _:
            return False


def _is_given_back(owner: E.Attr, local: E.Name, changed: ChangedFunction) -> bool:
    """Whether the function sets the attribute, or changes it in place by its own name: its owner is
    meant to change.

    PygmalionAI/aphrodite-engine@7df7b8ca5 takes an object from a cache, clears its lists, and fills
    them under other names.
    """
    for guarded in changed.statements:
        stmt = guarded.stmt
        if _changes(stmt, owner):
            return True
        match stmt:
            case Assign(target=E.Attr(name=name), value=value):
                if name == owner.name and value == local:
                    return True
    return False


def _first_change(made: Assign, changed: ChangedFunction) -> int:
    """The first line after `made` that changes its local in place; 0 where the local is made anew
    before that, or where there is none."""
    for guarded in changed.statements:
        stmt = guarded.stmt
        if stmt.line <= made.end_line:
            continue
        if isinstance(stmt, Assign) and stmt.target == made.target:
            return stmt.line if stmt.op == "+=" else 0
        if _changes(stmt, made.target):
            return stmt.line
    return 0


def _changes(stmt: Stmt, local: E.Expr) -> bool:
    if isinstance(stmt, Assign) and isinstance(stmt.target, E.Index) and stmt.target.base == local:
        return True
    for expr in expressions_of(stmt):
        for part in E.walk(expr):
            match part:
                case E.Call(func=E.Attr(base=base, name=name)):
                    if base == local and name in _CHANGING_METHODS:
                        return True
    return False


def _is_request(owner: E.Attr) -> bool:
    name = (E.dotted(owner.base) or "").rsplit(".", 1)[-1]
    return "request" in name.lower() or name.lower() in ("req", "body")


def _finding(
    made: Assign, name: str, owner: E.Attr, line: int, changed: ChangedFunction
) -> Finding:
    place = Location(changed.unit.path, line)
    args = {"name": name, "owner": E.dotted(owner) or owner.name, "at": place}
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.MEDIUM,
        location=Location(changed.unit.path, made.line, made.end_line),
        message=Message("borrowed", args),
        symbol=changed.head.qualname,
        subject=name,
        # A request is made anew for each call, and seldom looked at again.
        pedantic=_is_request(owner),
        related=(Related(place, Message("changed-here", {})),),
    )
