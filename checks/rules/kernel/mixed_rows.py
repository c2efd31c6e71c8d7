"""A buffer with rows for the largest case is combined with rows of the running batch.

## What it does

Two ways in which a change lets padding into an operation on all rows: `a[:n] & share["b"]`, where
one side has the rows of the batch and the other is the whole buffer; and a shared tensor of one row
that becomes one of `max_*` rows and is still combined as it was.

## Why it matters

PaddlePaddle/FastDeploy#4069 combined a mask of `max_num_seqs` rows with the sampled tokens of the
batch.

## Example

```python
idle = share["stop_flags"][:real_bsz] & share["is_idle"]     # max_num_seqs rows
```

## Known limits

Buffers are known by the name under which they are shared, and upper bounds by theirs (`max_...`).
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.code import equal_code, local_assignments, names_in
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity, Side
from checks.domain.tensors import (
    TensorAllocation,
    allocation_of,
    allocations_of,
    is_upper_bound,
    key_of,
    sliced_tensor,
)
from checks.lang.ir import expr as E
from checks.lang.ir.render import source_of
from checks.lang.ir.stmt import Assign, GuardedStmt
from checks.rules.kernel._code_walks import expressions_in

ID = "kernel.mixed-rows"

_ELEMENTWISE = frozenset({"&", "|", "^", "+", "-", "*", "/", "==", "!=", "<", "<=", ">", ">="})
# How many places of the base are asked for the size of a buffer.
_MOST_PLACES = 8


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if changed.python:
            yield from _cut_with_whole(changed, change)
    yield from _widened_buffers(change, config)


def _cut_with_whole(changed: ChangedFunction, change: ChangeSet) -> Iterator[Finding]:
    """`a[:n] & share["b"]`: the rows of the batch with the rows of a whole buffer."""
    for guarded, operation in _elementwise_operations(changed):
        if not changed.touched(guarded.stmt.line, guarded.stmt.end_line):
            continue
        for first_rows, whole in _both_ways(operation):
            buffer = _buffer_of_same_size(first_rows, whole, change)
            if buffer is not None:
                yield _mixed_finding(first_rows, whole, buffer, operation, changed)


def _elementwise_operations(
    changed: ChangedFunction,
) -> Iterator[tuple[GuardedStmt, E.Binary]]:
    for guarded, e in expressions_in(changed.statements):
        if isinstance(e, E.Binary) and e.op in _ELEMENTWISE:
            yield guarded, e


def _both_ways(operation: E.Binary) -> tuple[tuple[E.Expr, E.Expr], tuple[E.Expr, E.Expr]]:
    left, right = operation.left, operation.right
    return (left, right), (right, left)


def _buffer_of_same_size(
    first_rows: E.Expr, whole: E.Expr, change: ChangeSet
) -> TensorAllocation | None:
    """Where `whole` is made, if it is as large as the buffer that the other side is cut from."""
    source, key = sliced_tensor(first_rows), key_of(whole)
    if source is None or key is None:
        return None
    source_key = key_of(source)
    if source_key is None or source_key == key:
        return None
    buffer = _largest_buffer(key, change)
    source_buffer = _largest_buffer(source_key, change)
    if buffer is None or source_buffer is None:
        return None
    return buffer if equal_code(buffer.rows, source_buffer.rows) else None


def _largest_buffer(key: str, change: ChangeSet) -> TensorAllocation | None:
    """Where the shared buffer `key` is made, if its rows are an upper bound."""
    for buffer in allocations_of(key, change, most=1):
        if is_upper_bound(buffer.rows, {}):
            return buffer
    return None


def _mixed_finding(
    first_rows: E.Expr,
    whole: E.Expr,
    buffer: TensorAllocation,
    operation: E.Binary,
    changed: ChangedFunction,
) -> Finding:
    text, key = source_of(first_rows), key_of(whole)
    args = {"one": text, "name": key, "at": Location(buffer.path, buffer.line)}
    return Finding(
        rule=ID,
        severity=Severity.QUESTION,
        confidence=Confidence.HIGH,
        location=Location(changed.unit.path, operation.line),
        message=Message("mixed", args),
        symbol=changed.head.qualname,
        subject=f"{text} {key}",
    )


def _widened_buffers(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """A shared tensor of one row became one of `max_*` rows, and is combined as it was."""
    widened = _made_for_largest_case(change, config)
    for key in sorted(widened):
        before = allocations_of(key, change, Side.BASE, most=_MOST_PLACES)
        if any(isinstance(b.rows, E.Const) and b.rows.value == 1 for b in before):
            yield from _combined(key, widened[key], change, config)


def _made_for_largest_case(change: ChangeSet, config: Config) -> dict[str, Location]:
    """The shared tensors that the change makes with an upper bound, by their names."""
    found: dict[str, Location] = {}
    for changed in changed_functions(change, config):
        if not changed.python or changed.base is None:
            continue
        for guarded in changed.statements:
            stmt = guarded.stmt
            if not isinstance(stmt, Assign):
                continue
            shape, key = allocation_of(stmt.value), key_of(stmt.target)
            if shape is None or not key or not changed.touched(stmt.line, stmt.end_line):
                continue
            if is_upper_bound(shape[0], {}):
                found.setdefault(key, Location(changed.unit.path, stmt.line))
    return found


def _combined(key: str, made_at: Location, change: ChangeSet, config: Config) -> Iterator[Finding]:
    """The first place in each changed function where the whole tensor meets another one."""
    for changed in changed_functions(change, config):
        # A name that stands in quotes alone (`share["mask"]`) does not count.
        if not changed.python or key not in changed.code:
            continue
        operands = _first_operands(key, changed)
        if operands is None:
            continue
        operation, other = operands
        args = {"name": key, "other": source_of(other), "at": made_at}
        yield Finding(
            rule=ID,
            severity=Severity.QUESTION,
            confidence=Confidence.MEDIUM,
            location=Location(changed.unit.path, operation.line),
            message=Message("widened", args),
            symbol=changed.head.qualname,
            subject=key,
        )


def _first_operands(key: str, changed: ChangedFunction) -> tuple[E.Binary, E.Expr] | None:
    """The first operation that combines the whole tensor with another, and the other."""
    local = dict(local_assignments(changed.statements))
    aliases = {name for name, value in local.items() if key_of(value) == key}
    for _, operation in _elementwise_operations(changed):
        for tensor, other in _both_ways(operation):
            if not _is_tensor(tensor, key, aliases) or isinstance(other, E.Const):
                continue
            # Combined with a number or with itself, the rows fit.
            if names_in(other) - {key}:
                return operation, other
    return None


def _is_tensor(expr: E.Expr, key: str, aliases: set[str]) -> bool:
    """Whether an expression is the tensor as a whole, under its name or a local one."""
    if key_of(expr) == key:
        return True
    return isinstance(expr, E.Name) and expr.id in aliases
