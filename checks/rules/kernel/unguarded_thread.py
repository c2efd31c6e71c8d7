"""Threads beyond the last element write as the others do.

## What it does

In CUDA kernels that the change wrote: a write at `blockIdx * blockDim + threadIdx` under no
condition, where a launch in the same file rounds its grid up.

## Why it matters

A grid that is rounded up has more threads than there are elements. Those of the last block write
behind the tensor, into whatever lies there.

## Example

```cuda
int i = blockIdx.x * blockDim.x + threadIdx.x;
out[i] = in[i];               // launched on (n + 255) / 256 blocks; no `if (i < n)`
```

## Known limits

Whether a launch rounds up is told from the text of the function that launches. A host that makes
`n` a multiple of the block is not seen, so this is a question.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.code import local_assignments, names_in
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity
from checks.domain.ops import expressions_of
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign, For
from checks.rules.kernel._code_walks import calls_in_file

ID = "kernel.unguarded-thread"
_GLOBAL_INDEX = {"blockIdx.x", "blockDim.x", "threadIdx.x"}
_ROUNDS_UP = ("- 1) /", "-1)/", "- 1)/", "ceildiv", "ceil_div", "cdiv")


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if "__global__" in changed.head.marks:
            yield from _unguarded_write(changed)


def _unguarded_write(changed: ChangedFunction) -> Iterator[Finding]:
    """The first write at the index of the thread, where nothing compares that index."""
    index = _thread_index(changed)
    if index is None or not _is_launch_rounded_up(changed) or _is_compared(index, changed):
        return
    params = {p.name for p in changed.head.params}
    for guarded in changed.statements:
        stmt = guarded.stmt
        match stmt:
            case Assign(target=E.Index(base=E.Name(id=out), indices=(E.Name(id=at),))):
                # Another index may be bounded in its own way.
                if at != index:
                    continue
                if out in params and changed.touched(stmt.line):
                    yield _finding(out, index, stmt, changed)
                return


def _thread_index(changed: ChangedFunction) -> str | None:
    """The local that holds `blockIdx.x * blockDim.x + threadIdx.x`."""
    for name, value in local_assignments(changed.statements):
        parts = {E.dotted(e) for e in E.walk(value) if isinstance(e, E.Attr)}
        if parts >= _GLOBAL_INDEX and isinstance(value, E.Binary):
            return name
    return None


def _is_compared(index: str, changed: ChangedFunction) -> bool:
    """Whether a condition or a loop names the index."""
    for guarded in changed.statements:
        if any(index in names_in(guard) for guard in guarded.guards):
            return True
        if isinstance(guarded.stmt, For):
            heads = expressions_of(guarded.stmt)
            if any(index in names_in(head) for head in heads):
                return True
    return False


def _is_launch_rounded_up(changed: ChangedFunction) -> bool:
    """Whether the first launch in the file divides up, as `(n + block - 1) / block` does."""
    unit = changed.unit
    for host, call, _ in calls_in_file(changed.head.name, unit):
        if call.launch:
            text = unit.text_of(host).lower()
            return any(word in text for word in _ROUNDS_UP)
    return False


def _finding(out: str, index: str, stmt: Assign, changed: ChangedFunction) -> Finding:
    return Finding(
        rule=ID,
        severity=Severity.QUESTION,
        confidence=Confidence.MEDIUM,
        location=Location(changed.unit.path, stmt.line),
        message=Message("thread", {"out": out, "index": index}),
        symbol=changed.head.qualname,
        subject=changed.unit.text(stmt.line),
    )
