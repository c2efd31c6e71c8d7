"""A list is made of one element many times over, and then its elements are changed one by one.

## What it does

Finds `[[]] * n` (also with a `dict`, a `set`, and lists in the list) that the change wrote and that
the same function later changes element by element: `rows[i].append(x)`, `rows[i][j] = x`.

## Why it matters

The multiplication does not copy: each place of the list is the same object.
`PaddlePaddle/FastDeploy#2974` collected the token ids of several answers this way, and each answer
had those of all, until #3618.

## Example

```python
tokens = [[]] * answers
tokens[index].extend(delta)      # extends every one of them
```

## Known limits

A list that another function changes is not followed, and neither is one that was stored elsewhere.
Where an element is replaced as a whole anywhere in the function nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.code import equal_code
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Related, Severity
from checks.domain.ops import expressions_of
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign
from checks.rules.semantics._containers import CHANGING_METHODS, is_new_container

ID = "semantics.shared-element"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if changed.python:
            yield from _shared_elements(changed)


def _shared_elements(changed: ChangedFunction) -> Iterator[Finding]:
    for guarded in changed.statements:
        stmt = guarded.stmt
        if not isinstance(stmt, Assign) or not _repeats_one(stmt.value):
            continue
        changes = list(_element_changes(stmt, changed))
        touched = any(changed.touched(line) for line in (stmt.line, *changes))
        if changes and touched and not _replaces_element(stmt, changed):
            yield _finding(stmt, changes[0], changed)


def _repeats_one(value: E.Expr | None) -> bool:
    """Whether the value is a list of one new container, repeated."""
    match value:
        case E.Binary(op="*", left=E.Sequence(kind="list", items=items), right=times):
            return times != E.Const(1) and any(is_new_container(item) for item in items)
        case E.Binary(op="*", left=times, right=E.Sequence(kind="list", items=items)):
            return times != E.Const(1) and any(is_new_container(item) for item in items)
        case _:
            return False


def _element_changes(made: Assign, changed: ChangedFunction) -> Iterator[int]:
    """The lines after `made` that change an element of its list in place."""
    for guarded in changed.statements:
        stmt = guarded.stmt
        if stmt.line <= made.end_line:
            continue
        if isinstance(stmt, Assign) and _is_inside_element(stmt.target, made.target):
            yield stmt.line
        if isinstance(stmt, Assign) and stmt.op != "=" and _is_element(stmt.target, made.target):
            yield stmt.line
        for expr in expressions_of(stmt):
            for part in E.walk(expr):
                if _changes_element(part, made.target):
                    yield stmt.line


def _changes_element(expr: E.Expr, container: E.Expr) -> bool:
    """`rows[i].append(x)`, and also `rows[i][j].append(x)`."""
    match expr:
        case E.Call(func=E.Attr(base=base, name=name)) if name in CHANGING_METHODS:
            return _is_element(base, container) or _is_inside_element(base, container)
        case _:
            return False


def _is_element(expr: E.Expr, container: E.Expr) -> bool:
    """`rows[i]`, one element, for the container `rows`."""
    match expr:
        case E.Index(base=base, indices=(index,)):
            return equal_code(base, container) and not isinstance(index, E.Slice)
        case _:
            return False


def _is_inside_element(expr: E.Expr, container: E.Expr) -> bool:
    """`rows[i][j]`, or deeper."""
    match expr:
        case E.Index(base=base):
            return _is_element(base, container) or _is_inside_element(base, container)
        case _:
            return False


def _replaces_element(made: Assign, changed: ChangedFunction) -> bool:
    """Whether an element gets a value of its own somewhere in the function."""
    for guarded in changed.statements:
        stmt = guarded.stmt
        if isinstance(stmt, Assign) and stmt.op == "=" and _is_element(stmt.target, made.target):
            return True
    return False


def _finding(made: Assign, change_line: int, changed: ChangedFunction) -> Finding:
    place = Location(changed.unit.path, change_line)
    name = E.dotted(made.target) or changed.unit.excerpt(made.line).partition("=")[0].strip()
    return Finding(
        rule=ID,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=Location(changed.unit.path, made.line, made.end_line),
        message=Message("shared", {"name": name, "at": place}),
        symbol=changed.head.qualname,
        subject=name,
        related=(Related(place, Message("changed-here", {})),),
    )
