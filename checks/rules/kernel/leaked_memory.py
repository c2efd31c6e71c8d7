"""Memory that a function allocates at every call and never gives back.

## What it does

On lines of the change: device memory from `cudaMalloc` that goes to a local pointer and is neither
freed nor handed on; a context made with `new` that nothing deletes.

## Why it matters

An op is called at every step. An earlier version of PaddlePaddle/FastDeploy's logprob op leaked two
allocations at every call.

## Example

```cpp
void* room = nullptr;
cudaMalloc(&room, bytes);
scan(room, bytes, rows, n);      // no cudaFree(room)
```

## Known limits

A context made with `new` and never deleted is for the pedantic persona: many ops keep it so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity
from checks.core.words import has_word
from checks.domain.ops import calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign

ID = "kernel.leaked-memory"
_ALLOCATIONS = ("cudaMalloc", "cudaMallocAsync")
_NEW_CONTEXT = re.compile(r"\b(\w+)\s*=\s*new\s+([\w:]*Context)\b")


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if not changed.python:
            yield from _leaked_allocations(changed)
            yield from _leaked_context(changed)


def _leaked_allocations(changed: ChangedFunction) -> Iterator[Finding]:
    local = _local_pointers(changed)
    for call, _ in calls_of(changed.head.body):
        if E.callee(call) not in _ALLOCATIONS or not call.args or not changed.touched(call.line):
            continue
        name = _destination(call.args[0])
        if name not in local or _is_given_back(name, changed.code):
            continue
        yield Finding(
            rule=ID,
            severity=Severity.SUGGESTION,
            confidence=Confidence.HIGH,
            location=Location(changed.unit.path, call.line),
            message=Message("leaked", {"name": name, "function": changed.head.name}),
            symbol=changed.head.qualname,
            subject=name,
        )


def _local_pointers(changed: ChangedFunction) -> set[str]:
    """Pointers that are declared in the function and do not outlive it."""
    found: set[str] = set()
    for guarded in changed.statements:
        stmt = guarded.stmt
        # A static pointer is allocated once and kept.
        if not isinstance(stmt, Assign) or stmt.static:
            continue
        if isinstance(stmt.target, E.Name) and "*" in (stmt.declares or ""):
            found.add(stmt.target.id)
    return found


def _destination(argument: E.Expr) -> str:
    """The pointer of `&p`, `(void**)&p` or `p`."""
    name = E.root(argument)
    if not name and isinstance(argument, E.Unary | E.Cast):
        name = E.root(argument.operand)
    return name or ""


def _is_given_back(name: str, code: str) -> bool:
    """Whether the function frees the pointer, returns it, or stores it elsewhere."""
    word = re.escape(name)
    if re.search(rf"cudaFree\w*\(\s*{word}\b|return\s+{word}\b", code):
        return True
    return re.search(rf"[\w\])]\s*=\s*{word}\s*;", code) is not None


def _leaked_context(changed: ChangedFunction) -> Iterator[Finding]:
    """`ctx = new api::Context(kCPU)` that nothing deletes; one finding a function."""
    if "delete" in changed.code or "unique_ptr" in changed.code:
        return
    if has_word(changed.base_code, "new") or _NEW_CONTEXT.search(changed.code) is None:
        return
    for number in range(changed.head.start_line, changed.head.end_line + 1):
        made = _NEW_CONTEXT.search(changed.unit.text(number))
        if made is None or not changed.touched(number):
            continue
        yield Finding(
            rule=ID,
            severity=Severity.SUGGESTION,
            confidence=Confidence.MEDIUM,
            location=Location(changed.unit.path, number),
            message=Message("leaked", {"name": made.group(1), "function": changed.head.name}),
            symbol=changed.head.qualname,
            subject=made.group(0),
            pedantic=True,
        )
        return
