"""One thread writes a shared variable and others read it, with no barrier in between.

## What it does

In kernels that the change wrote or touched: a `__shared__` variable that one thread writes, under a
condition such as `threadIdx.x == 0`, and that is read outside that condition before the threads
of the block meet.

## Why it matters

A missing barrier gives another result from run to run, mostly on larger batches than the tests
have.

## Example

```cuda
if (threadIdx.x == 0) total = sum;
out[threadIdx.x] = total;            // no __syncthreads() in between
```

## Known limits

Block-wide helpers are known by their names and taken to hold a barrier, and so is what a function
gets as a parameter and calls. Kernels launched with one
warp need fewer barriers; what is reported is a question.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity
from checks.domain.ops import expressions_of
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign, For, GuardedStmt
from checks.rules.kernel._thread_divergence import (
    differs_between_threads,
    is_barrier,
    is_device,
    reads_of,
    shared_variables,
    thread_locals,
)

ID = "kernel.missing-barrier"


@dataclass(frozen=True, slots=True)
class SharedRace:
    """A value of the shared variable `name` that goes from one thread to others unprotected."""

    name: str
    write_line: int
    read_line: int


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if changed.python or not is_device(changed.head) or not changed.head.clean:
            continue
        given = {param.name for param in changed.head.params}
        race = _first_race(changed.statements, given)
        if race is None:
            continue
        old = _first_race(changed.base_statements, given)
        if old is None or old.name != race.name:
            yield _finding(race, changed)


def _first_race(statements: list[GuardedStmt], given: set[str]) -> SharedRace | None:
    """The first read, outside its condition, of what one thread wrote since the last barrier.

    What the function is given (`given`) and calls may be a barrier.
    """
    names = shared_variables(statements)
    if not names:
        return None
    per_thread = thread_locals(statements)
    written: dict[str, GuardedStmt] = {}
    for guarded in statements:
        if _is_meeting_point(guarded, given):
            written.clear()
            continue
        for name, write in written.items():
            if _is_outside(guarded, write, per_thread) and _reads(guarded, name):
                return SharedRace(name, write.stmt.line, guarded.stmt.line)
        target = _written_variable(guarded)
        if target in names and not guarded.loops and _is_single(guarded, per_thread):
            written[target] = guarded
    return None


def _is_meeting_point(guarded: GuardedStmt, given: set[str]) -> bool:
    """Whether the statement holds a barrier, or a call that most likely holds one."""
    for top in expressions_of(guarded.stmt):
        for e in E.walk(top):
            if is_barrier(e) or _is_collective(e):
                return True
            if isinstance(e, E.Call) and isinstance(e.func, E.Name) and e.func.id in given:
                return True
    return False


def _is_collective(e: E.Expr) -> bool:
    """Block-wide helpers, of which most meet in a barrier of their own."""
    if not isinstance(e, E.Call):
        return False
    return any(word in E.callee(e) for word in ("Block", "block", "Sync"))


def _is_outside(guarded: GuardedStmt, write: GuardedStmt, per_thread: set[str]) -> bool:
    """Whether the statement is outside the condition that lets one thread through to `write`."""
    single = [_is_one_thread(guard, per_thread) for guard in write.guards]
    alone = write.guards[: single.index(True) + 1]
    return guarded.guards[: len(alone)] != alone


def _reads(guarded: GuardedStmt, name: str) -> bool:
    """Whether the statement reads the variable; the head of a loop is not looked at."""
    stmt = guarded.stmt
    if isinstance(stmt, For):
        return False
    values = [stmt.value] if isinstance(stmt, Assign) else expressions_of(stmt)
    return any(list(reads_of(name, value)) for value in values if value is not None)


def _written_variable(guarded: GuardedStmt) -> str:
    stmt = guarded.stmt
    if not isinstance(stmt, Assign) or stmt.value is None:
        return ""
    return E.root(stmt.target) or ""


def _is_single(guarded: GuardedStmt, per_thread: set[str]) -> bool:
    return any(_is_one_thread(guard, per_thread) for guard in guarded.guards)


def _is_one_thread(guard: E.Expr, per_thread: set[str]) -> bool:
    """`threadIdx.x == 0`."""
    if not isinstance(guard, E.Binary) or guard.op != "==":
        return False
    return differs_between_threads(guard, per_thread)


def _finding(race: SharedRace, changed: ChangedFunction) -> Finding:
    return Finding(
        rule=ID,
        severity=Severity.QUESTION,
        confidence=Confidence.MEDIUM,
        location=Location(changed.unit.path, race.read_line),
        message=Message("missing", {"name": race.name, "line": race.write_line}),
        symbol=changed.head.qualname,
        subject=race.name,
    )
