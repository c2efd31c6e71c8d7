"""A test compares a local with what it was set to: always true, or always false.

## What it does

In Python, on lines of the change: `if x == self.a`, where the only assignment of `x` is `x =
self.a` and nothing between the two could have changed either.

## Why it matters

PaddlePaddle/FastDeploy#4529 computes the width of a table and then compares another local with what
that was set to, so one of two layouts is never chosen (mended by #4638).

## Example

```python
width = self.head_dim
if width == self.head_dim:      # always
    layout = "full"
```

## Known limits

A call between assignment and test may set the attribute, so that nothing is said then.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.code import equal_code, names_in
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Related, Severity
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign, For, If

ID = "kernel.decided-test"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if not changed.python:
            continue
        for place, guarded in enumerate(changed.statements):
            stmt = guarded.stmt
            if not isinstance(stmt, If) or not changed.touched(stmt.line):
                continue
            compared = _compared(stmt.test)
            if compared is None:
                continue
            assignment = _only_assignment(*compared, place, changed)
            if assignment is not None:
                yield _finding(stmt, assignment, changed)


def _compared(test: E.Expr) -> tuple[str, E.Attr] | None:
    """The local and the attribute that a test compares for equality."""
    match test:
        case E.Binary(op="==" | "!=", left=E.Name(id=name), right=E.Attr() as value):
            return name, value
        case E.Binary(op="==" | "!=", left=E.Attr() as value, right=E.Name(id=name)):
            return name, value
    return None


def _only_assignment(
    name: str, value: E.Attr, place: int, changed: ChangedFunction
) -> Assign | None:
    """The only assignment of `name`, if it gives it `value` on every way to the test at `place`."""
    test = changed.statements[place]
    # A loop gives the local another value in each round.
    if any(name in names_in(loop.target) for loop in test.loops):
        return None
    binding = [
        number
        for number, guarded in enumerate(changed.statements)
        if isinstance(guarded.stmt, Assign | For) and name in names_in(guarded.stmt.target)
    ]
    if len(binding) != 1 or binding[0] >= place:
        return None
    first = changed.statements[binding[0]]
    stmt = first.stmt
    if not isinstance(stmt, Assign) or not isinstance(stmt.target, E.Name):
        return None
    if stmt.op != "=" or stmt.value is None or not equal_code(stmt.value, value):
        return None
    if first.loops != test.loops or first.guards != test.guards[: len(first.guards)]:
        return None
    if _may_change_between(stmt, test.stmt.line, value, changed):
        return None
    return stmt


def _may_change_between(
    assignment: Assign, test_line: int, value: E.Attr, changed: ChangedFunction
) -> bool:
    """Whether code between the assignment and the test calls something, or names the attribute."""
    start, end = assignment.end_line + 1, test_line - 1
    if end < start:
        return False
    between = changed.unit.text(start, end)
    return "(" in between or f".{value.name}" in between


def _finding(test: If, assignment: Assign, changed: ChangedFunction) -> Finding:
    place = Location(changed.unit.path, assignment.line, assignment.end_line)
    text = changed.unit.excerpt(test.line)
    args = {
        "name": E.dotted(assignment.target),
        "at": place,
        "test": text.rstrip(": "),
        "equal": isinstance(test.test, E.Binary) and test.test.op == "==",
    }
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=Location(changed.unit.path, test.line),
        message=Message("decided", args),
        symbol=changed.head.qualname,
        subject=text,
        related=(Related(place, Message("set-here", {})),),
    )
