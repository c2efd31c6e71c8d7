"""A barrier or reduction that some threads of a block may not reach.

## What it does

In kernels that the change wrote or touched: `__syncthreads()` under a condition or in a loop that
depends on `threadIdx`; and a block's reduction or scan behind an early return that depends on it.
A barrier behind such a return waits for the threads that are left, and needs no more. Where the
other threads come to as many barriers of their own, all of them meet.

## Why it matters

A barrier that part of a block skips hangs the kernel or lets it go on with half the data, and a
reduction reads what threads that have left never wrote. It shows only where the number of rows is
no multiple of the block, which is mostly not what tests have.

## Example

```cuda
if (threadIdx.x < n) {
  sum += row[threadIdx.x];
  __syncthreads();               // threads from n on do not come here
}
```

## Known limits

Only names that come from `threadIdx` count as different between threads. A bound on `threadIdx.x`
that every launch of the kernel hands over just as it sets its threads is known to be met; another
one is not. A reduction is told by its name. What is reported is a question. That threads which
have left count as arrived holds since compute capability 7.0; older devices are not thought of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.code import equal_code
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity
from checks.domain.bitfields.packing import single_assignments
from checks.domain.ops import expressions_of
from checks.lang.ir import expr as E
from checks.lang.ir.render import source_of
from checks.lang.ir.stmt import For, GuardedStmt, If, Return, negate
from checks.rules.kernel._launches import every_thread_meets
from checks.rules.kernel._thread_divergence import (
    differs_between_threads,
    is_device,
    thread_locals,
)

ID = "kernel.barrier"

_BARRIER = re.compile("__syncthreads")
# Where each thread of a block takes what the others hand over. A warp is another matter: whole
# warps leave, mostly.
_EXCHANGE = re.compile(r"(Block|block_?)(All)?_?([Rr]educe|[Ss]can)")


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if changed.python or not is_device(changed.head) or not changed.head.clean:
            continue
        yield from _skipped_barrier(changed, change)


def _skipped_barrier(changed: ChangedFunction, change: ChangeSet) -> Iterator[Finding]:
    """The first barrier under a condition of which the base had none like it."""
    known = list(_divergent_conditions(changed.base_statements))
    for line, condition in _divergent_conditions(changed.statements):
        if any(equal_code(old, condition) for _, old in known):
            continue
        if every_thread_meets(condition, changed.head, changed.statements, change):
            continue
        if _others_wait_as_often(condition, changed.statements):
            continue
        yield _finding(line, condition, changed)
        return


def _others_wait_as_often(condition: E.Expr, statements: list[GuardedStmt]) -> bool:
    """Whether the threads for which `condition` does not hold come to as many barriers of their
    own: a group of threads that works apart (vllm-project/vllm@879ddb09c)."""
    other = _barriers_under(negate(condition), statements)
    return other > 0 and other == _barriers_under(condition, statements)


def _barriers_under(condition: E.Expr, statements: list[GuardedStmt]) -> int:
    count = 0
    for guarded in statements:
        is_under = any(equal_code(guard, condition) for guard in guarded.guards)
        if is_under and not guarded.loops and _calls(guarded, _BARRIER):
            count += 1
    return count


def _divergent_conditions(statements: list[GuardedStmt]) -> Iterator[tuple[int, E.Expr]]:
    """(line, condition) of what all threads of a block must meet in, under a condition that differs
    between them."""
    per_thread = thread_locals(statements)
    local = single_assignments(statements)
    returns = list(_conditions_after_return(statements))
    for guarded in statements:
        if not _calls(guarded, _BARRIER):
            # A thread that has left counts as arrived at a barrier, but hands nothing over.
            if not _calls(guarded, _EXCHANGE):
                continue
            guarded = replace(guarded, guards=_common(guarded.guards, returns), loops=())
        else:
            guarded = replace(guarded, guards=_others(guarded.guards, returns))
        condition = _divergent_condition(guarded, per_thread, local)
        if condition is not None:
            yield guarded.stmt.line, condition


def _conditions_after_return(statements: list[GuardedStmt]) -> Iterator[E.Expr]:
    """The conditions under which a function goes on behind each `if (c) return;`."""
    for guarded in statements:
        match guarded.stmt:
            case If(test=test, then=(*_, Return()), orelse=()):
                yield negate(test)
            case _:
                pass


def _common(guards: Iterable[E.Expr], returns: list[E.Expr]) -> tuple[E.Expr, ...]:
    return tuple(guard for guard in guards if any(equal_code(guard, one) for one in returns))


def _others(guards: Iterable[E.Expr], returns: list[E.Expr]) -> tuple[E.Expr, ...]:
    return tuple(guard for guard in guards if not any(equal_code(guard, one) for one in returns))


def _calls(guarded: GuardedStmt, name: re.Pattern[str]) -> bool:
    for top in expressions_of(guarded.stmt):
        for inner in E.walk(top):
            if isinstance(inner, E.Call) and any(name.match(part) for part in _names(inner)):
                return True
    return False


def _names(call: E.Call) -> Iterator[str]:
    """What a call calls, and what it makes the object of that it calls: both of `Sum` and
    `BlockReduce` in `BlockReduce(storage).Sum(x)`."""
    yield E.callee(call)
    match call.func:
        case E.Attr(base=E.Call() as made):
            yield E.callee(made)


def _divergent_condition(
    guarded: GuardedStmt, per_thread: set[str], local: Mapping[str, E.Expr]
) -> E.Expr | None:
    """A condition or a loop's bound around the statement that differs between threads."""
    for guard in guarded.guards:
        if any(_compares_rounds(guard, loop, local) for loop in guarded.loops):
            continue
        if differs_between_threads(guard, per_thread):
            return guard
    for loop in guarded.loops:
        if loop.stop is None or _goes_in_rounds(loop, local):
            continue
        for bound in (loop.start, loop.test):
            if bound is not None and differs_between_threads(bound, per_thread):
                return bound
    return None


def _goes_in_rounds(loop: For, local: Mapping[str, E.Expr]) -> bool:
    """Whether a loop of every thread over its own places ends in the same round for all: its end,
    as it stands or as a local was set to it, was rounded up to its step."""
    if loop.step is None or loop.stop is None:
        return False
    stop = local.get(loop.stop.id) if isinstance(loop.stop, E.Name) else loop.stop
    for part in E.walk(stop) if stop is not None else ():
        if isinstance(part, E.Call) and any(equal_code(arg, loop.step) for arg in part.args):
            return True
    return False


def _compares_rounds(condition: E.Expr, loop: For, local: Mapping[str, E.Expr]) -> bool:
    """Whether a condition asks in which round of such a loop a thread is: `i >= BLOCK`."""
    match condition:
        case E.Binary(op="<" | ">=", left=left, right=right) if loop.step is not None:
            is_place = loop.target is not None and equal_code(left, loop.target)
            return is_place and equal_code(right, loop.step) and _goes_in_rounds(loop, local)
        case _:
            return False


def _finding(line: int, condition: E.Expr, changed: ChangedFunction) -> Finding:
    text = source_of(condition)
    return Finding(
        rule=ID,
        severity=Severity.QUESTION,
        confidence=Confidence.MEDIUM,
        location=Location(changed.unit.path, line),
        message=Message("skipped", {"condition": text}),
        symbol=changed.head.qualname,
        subject=text,
    )
