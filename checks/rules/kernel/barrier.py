"""A barrier that some threads of a block may not reach, or that is missing between a write and a read.

## What it does

In kernels that the change wrote or touched: `__syncthreads()` under a condition, in a loop, or behind an early return
that depends on `threadIdx`; and a shared variable that one thread writes and others read with no barrier in between.

## Why it matters

A barrier that part of a block skips hangs the kernel or lets it go on with half the data. A missing one gives another
result from run to run, mostly on larger batches than the tests have.

## Example

```cuda
if (threadIdx.x == 0) total = sum;
out[threadIdx.x] = total;            // no __syncthreads() in between
```

## Known limits

Only names that come from `threadIdx` count as different between threads. Kernels launched with one warp need fewer
barriers; what is reported is a question.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions, equal_code
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity
from checks.domain.bitfields.ranges import source_of
from checks.domain.ops import expressions_of
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign, For, GuardedStmt
from checks.rules.kernel._thread_divergence import (
    barrier,
    depends,
    is_device,
    per_thread,
    reads,
    shared,
)

ID = "kernel.barrier"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for delta in changed_functions(change, config):
        if delta.python or not is_device(delta.head) or not delta.head.clean:
            continue
        if "__syncthreads" in delta.code:
            yield from _skipped(delta)
        if "__shared__" in delta.code:
            yield from _missing(delta)


def _skipped(delta: ChangedFunction) -> Iterator[Finding]:
    threads = per_thread(delta.statements)
    old = [
        _condition(g, per_thread(delta.base_statements)) for g in delta.base_statements if _meets(g)
    ]
    for guarded in delta.statements:
        condition = _condition(guarded, threads) if _meets(guarded) else None
        if condition is None or any(o is not None and equal_code(o, condition) for o in old):
            continue
        yield _finding(
            "skipped",
            {"condition": source_of(condition)},
            guarded.stmt.line,
            source_of(condition),
            delta,
        )
        return


def _meets(guarded: GuardedStmt) -> bool:
    return any(
        isinstance(top, E.Call) and E.callee(top).startswith("__syncthreads")
        for top in expressions_of(guarded.stmt)
    )


def _condition(guarded: GuardedStmt, threads: set[str]) -> E.Expr | None:
    """A condition or loop around the barrier that differs between threads."""
    for guard in guarded.guards:
        if depends(guard, threads):
            return guard
    for loop in guarded.loops:
        for bound in (loop.start, loop.test):
            if bound is not None and depends(bound, threads) and loop.stop is not None:
                return bound
    return None


def _missing(delta: ChangedFunction) -> Iterator[Finding]:
    race = _race(delta.statements)
    if race is None:
        return
    name, write, read = race
    old = _race(delta.base_statements)
    if old is not None and old[0] == name:
        return
    yield _finding("missing", {"name": name, "line": write}, read, name, delta)


def _race(flat: list[GuardedStmt]) -> tuple[str, int, int] | None:
    """(variable, line of the write, line of the read) of a value that goes from one thread to others unprotected.

    Only a variable that one thread writes (under a condition on `threadIdx`) and that is read outside that condition.
    """
    names = shared(flat)
    if not names:
        return None
    threads = per_thread(flat)
    written: dict[str, GuardedStmt] = {}
    for guarded in flat:
        stmt = guarded.stmt
        if not written and not (isinstance(stmt, Assign) and E.root(stmt.target) in names):
            continue
        tops = list(expressions_of(stmt))
        if any(barrier(e) or _collective(e) for top in tops for e in E.walk(top)):
            written.clear()
            continue
        for name, at in list(written.items()):
            values = (
                [stmt.value] if isinstance(stmt, Assign) else [] if isinstance(stmt, For) else tops
            )
            alone = at.guards[
                : 1 + next(n for n, g in enumerate(at.guards) if _one_thread(g, threads))
            ]
            outside = guarded.guards[: len(alone)] != alone
            if outside and any(True for v in values if v is not None for _ in reads(v, name)):
                return name, at.stmt.line, stmt.line
        if (
            isinstance(stmt, Assign)
            and (name := E.root(stmt.target) or "") in names
            and stmt.value is not None
        ):
            single = any(_one_thread(g, threads) for g in guarded.guards)
            if single and not guarded.loops:
                written[name] = guarded
    return None


def _one_thread(guard: E.Expr, threads: set[str]) -> bool:
    """`threadIdx.x == 0`."""
    return isinstance(guard, E.Binary) and guard.op == "==" and depends(guard, threads)


def _collective(e: E.Expr) -> bool:
    """Block-wide helpers of which most meet in a barrier of their own."""
    return isinstance(e, E.Call) and (
        "Block" in E.callee(e) or "block" in E.callee(e) or "Sync" in E.callee(e)
    )


def _finding(
    key: str, args: dict[str, object], line: int, subject: str, delta: ChangedFunction
) -> Finding:
    keys = {"skipped": "skipped", "missing": "missing"}
    return Finding(
        rule=ID,
        severity=Severity.QUESTION,
        confidence=Confidence.MEDIUM,
        location=Location(delta.unit.path, line),
        message=Message(keys[key], args),
        symbol=delta.head.qualname,
        subject=subject,
    )
