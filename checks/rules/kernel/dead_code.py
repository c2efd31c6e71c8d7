"""Statements that the change wrote, or cut off, and that nothing can reach.

## What it does

On lines of the change: statements behind a `return`, `raise`, `break` or `continue` of the same
block.

## Why it matters

What stands there was meant to happen. It is often a line that moved in a rebase, or a `return` that
was put in to try something out.

## Example

```python
if not rows:
    return None
    log("nothing to do")
```

## Known limits

`break` behind the `return` of a `switch` is a habit and not reported, nor is what makes a function
a generator, nor a call that only ends the process. A function in which as much was cut off before
is left alone. What stands behind `raise NotImplementedError` is for the pedantic persona.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity
from checks.core.words import has_word
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import Assign, ExprStmt, For, If, Jump, Raise, Return, Stmt, blocks

ID = "kernel.dead-code"

_EXITS = frozenset({"exit", "_exit", "quit", "abort"})


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if not changed.head.clean:
            continue
        # A label behind the `return` may be jumped to.
        if not changed.python and "goto" in changed.code:
            continue
        if changed.base is not None and _count_cuts(changed.head) <= _count_cuts(changed.base):
            continue
        for body in blocks(changed.head.body):
            yield from _unreachable(body, changed)


def _count_cuts(function: Function) -> int:
    """How many blocks of a function have something that nothing reaches."""
    return sum(_cut(body) is not None for body in blocks(function.body))


def _cut(body: tuple[Stmt, ...]) -> tuple[Stmt, Stmt] | None:
    """The first statement of a block that cuts off the one behind it, with that."""
    for leaving, behind in pairwise(body):
        # On one line, a macro may have hidden the condition.
        is_cut_off = leaves(leaving) and behind.line > leaving.end_line
        if is_cut_off and has_effect(behind) and not _only_exits(behind):
            return leaving, behind
    return None


def _unreachable(body: tuple[Stmt, ...], changed: ChangedFunction) -> Iterator[Finding]:
    """The first statement of a block that another one in front of it cuts off."""
    cut = _cut(body)
    if cut is None or _is_excused(cut[0], body, changed):
        return
    leaving, behind = cut
    end = body[-1].end_line
    if changed.touched(leaving.line, leaving.end_line) or changed.touched(behind.line, end):
        yield _finding(leaving, behind, end, changed)


def _only_exits(stmt: Stmt) -> bool:
    """Whether a statement ends the process: nothing is lost where it is not reached."""
    match stmt:
        case ExprStmt(value=E.Call() as call):
            return E.callee(call) in _EXITS
        case _:
            return False


def _is_excused(leaving: Stmt, body: tuple[Stmt, ...], changed: ChangedFunction) -> bool:
    """Whether the language gives what stands behind `leaving` a meaning."""
    if changed.python:
        return _makes_generator(changed, body)
    # Arms of a `switch` that come out of a macro leave only the default one to see.
    return isinstance(leaving, Raise) and "switch" in changed.code


def leaves(stmt: Stmt) -> bool:
    """Whether nothing behind the statement in its block is ever run."""
    if isinstance(stmt, Jump):
        return stmt.kind in ("break", "continue")
    return isinstance(stmt, Return | Raise)


def has_effect(stmt: Stmt) -> bool:
    """Whether a statement does something; `break` behind `return` of a `switch` is a habit."""
    if isinstance(stmt, ExprStmt):
        return not isinstance(stmt.value, E.Const)
    return isinstance(stmt, Assign | If | For)


def _makes_generator(changed: ChangedFunction, body: tuple[Stmt, ...]) -> bool:
    """Whether a `yield` stands in the block, which makes the function a generator."""
    return has_word(changed.unit.text(body[0].line, body[-1].end_line), "yield")


def _finding(leaving: Stmt, behind: Stmt, end: int, changed: ChangedFunction) -> Finding:
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=Location(changed.unit.path, behind.line, end),
        message=Message("unreachable", {"after": changed.unit.excerpt(leaving.line)}),
        symbol=changed.head.qualname,
        subject=changed.unit.text(behind.line),
        # What is not implemented yet was left standing for whoever does.
        pedantic="NotImplementedError" in changed.unit.text(leaving.line, leaving.end_line),
    )
