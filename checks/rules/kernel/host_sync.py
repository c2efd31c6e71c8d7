"""The change makes the host wait for the device inside a step.

## What it does

Finds `.item()`, `.tolist()`, `.numpy()`, `.cpu()` on device tensors that the change adds to functions on the path of
every step (sampling, proposing, post-processing, the runner's execution), where the function did without them before.
On the device side, `cudaMalloc`, `cudaFree` and synchronising copies added to an op.

## Why it matters

Overlap scheduling launches step n + 1 while step n still runs. One `.item()` waits for the device and gives the overlap
up: PaddlePaddle/FastDeploy#7406 took the number of tokens that way, and #7600 had to take it out again.

## Example

```python
tokens = accept_num.sum().item()      # waits
return logprobs[:tokens]
```

## Known limits

A tensor is taken for one on the host by its name (`_cpu`, `_host`, `_np`, `_list`) or where the function makes it so.
Which functions run at every step is known from their names and files. New functions are for the pedantic persona: there
is no "before", and a proposer that works on the host is made so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity
from checks.domain.bitfields.ranges import source_of
from checks.domain.hardware_reach import brought_by_change
from checks.domain.ops import expressions_of
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign, For, GuardedStmt

ID = "kernel.host-sync"

# What makes the host wait for a tensor.
WAITS = frozenset({"item", "tolist", "numpy", "cpu"})
_WAITING = re.compile(rf"\.[\s\\]*(?:{'|'.join(sorted(WAITS))})\s*\(")
_STEP = re.compile(
    r"sampl|verif|propos|post_?process|pre_?process|execute|forward|logprob|logits|run$|_run|predict|generate|accept"
    r"|penalt|draft|propose|decode|^step|_step|save_output"
)
_ONCE = re.compile(
    r"init|load|warm|profil|capture|dummy|insert|debug|dump|check|clear|reset|prompt|register|config|build_model"
    r"|preempt|prefill|swap|export|weight|test|vision|image|mm_|_mm|vit|log_|loop|async|thread"
)
_FILES = re.compile(
    r"sampl|spec_decode|propos|model_runner|post_process|pre_and_post|logprob|attention|worker"
)
_HOST = re.compile(
    r"(^|_)(cpu|host|np|numpy|list|ids?_list|lens?_list|json|msg|dict|config)(_|$)|pinned"
)
_DEVICE_CALLS = frozenset(
    {"cudaMalloc", "cudaFree", "cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaMemcpy"}
)


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for delta in changed_functions(change, config):
        if delta.python and _every_step(delta):
            yield from _python(delta, change)
        elif not delta.python and "cuda" in delta.code:
            yield from _device(delta)


def _every_step(delta: ChangedFunction) -> bool:
    path, name = delta.unit.path, delta.head.name
    if not _FILES.search(path) or not _STEP.search(name) or _ONCE.search(name):
        return False
    return _WAITING.search(delta.text) is not None


def _python(delta: ChangedFunction, change: ChangeSet) -> Iterator[Finding]:
    before = Counter(
        c.func.name for _, c, _ in _waits(delta.base_statements) if isinstance(c.func, E.Attr)
    )
    host = _on_host(delta)
    for line, call, guards in _waits(delta.statements):
        if (
            not isinstance(call.func, E.Attr)
            or not delta.touched(line)
            or brought_by_change(guards, change)
        ):
            continue
        how, tensor = call.func.name, call.func.base
        if before[how] or _is_host(tensor, host) or isinstance(tensor, E.Const):
            continue
        yield Finding(
            rule=ID,
            severity=Severity.QUESTION,
            confidence=Confidence.HIGH if how == "item" else Confidence.MEDIUM,
            location=Location(delta.unit.path, line),
            message=Message(
                "waits", {"call": f"{source_of(tensor)}.{how}()", "function": delta.head.name}
            ),
            symbol=delta.head.qualname,
            subject=f"{source_of(tensor)}.{how}",
            pedantic=delta.base is None,
        )
        return


def _waits(flat: list[GuardedStmt]) -> Iterator[tuple[int, E.Call, tuple[E.Expr, ...]]]:
    """(line, call, conditions) of what may wait; what runs through a comprehension is of a kind that is not known."""
    for guarded in flat:
        if any(_other_hardware(g) for g in guarded.guards):
            continue
        for top in expressions_of(guarded.stmt):
            inner: set[int] = set()
            running = {
                n
                for c in E.walk(top)
                if isinstance(c, E.Comprehension)
                for t, _, _ in c.clauses
                for n in E.names(t)
            }
            for e in E.walk(top):
                if (
                    isinstance(e, E.Call)
                    and isinstance(e.func, E.Attr)
                    and e.func.name in WAITS
                    and not e.args
                ):
                    if id(e) not in inner and E.root(e.func.base) not in running:
                        yield e.line or guarded.stmt.line, e, guarded.guards
                    inner |= {id(x) for x in E.walk(e.func.base)}


def _other_hardware(guard: E.Expr) -> bool:
    """The `else` of `if platform.is_cuda()`: where there is no overlap to lose."""
    return (
        isinstance(guard, E.Unary)
        and isinstance(guard.operand, E.Call)
        and E.callee(guard.operand) == "is_cuda"
    )


def _on_host(delta: ChangedFunction) -> set[str]:
    """Locals that are on the host: made there, or brought there on a line that the change did not write."""
    found: set[str] = set()
    for guarded in delta.statements:
        stmt = guarded.stmt
        if isinstance(stmt, Assign) and isinstance(stmt.target, E.Name) and stmt.value is not None:
            calls = [e for e in E.walk(stmt.value) if isinstance(e, E.Call)]
            names = {E.dotted(c.func) or E.callee(c) for c in calls}
            if any(
                n.startswith(("np.", "numpy.", "json.")) or n in ("len", "list", "dict")
                for n in names
            ):
                found.add(stmt.target.id)
            if any(E.callee(c) in WAITS for c in calls) or E.names(stmt.value) & found:
                found.add(stmt.target.id)
        if isinstance(stmt, For) and stmt.iterable is not None and E.names(stmt.iterable) & found:
            found |= E.names(stmt.target) if stmt.target is not None else set()
    return found


def _is_host(tensor: E.Expr, host: set[str]) -> bool:
    if E.root(tensor) in host:
        return True
    for e in E.walk(tensor):
        match e:
            case E.Name(id=name) | E.Attr(name=name) | E.Const(value=str() as name):
                if _HOST.search(name) or name in host:
                    return True
    return False


def _device(delta: ChangedFunction) -> Iterator[Finding]:
    """Allocations and waits that an op makes at every call."""
    if _ONCE.search(delta.head.name.lower()) or not any(w in delta.code for w in _DEVICE_CALLS):
        return
    for guarded in delta.statements:
        if not delta.touched(guarded.stmt.line, guarded.stmt.end_line) or guarded.guards:
            continue
        if "synchron" in delta.unit.text(max(guarded.stmt.line - 1, 1)):
            continue
        for top in expressions_of(guarded.stmt):
            for e in E.walk(top):
                name = E.callee(e) if isinstance(e, E.Call) else ""
                freed = name == "cudaFree" and "cudaMalloc" in delta.base_code
                if name in _DEVICE_CALLS and name not in delta.base_code and not freed:
                    yield Finding(
                        rule=ID,
                        severity=Severity.QUESTION,
                        confidence=Confidence.MEDIUM,
                        location=Location(delta.unit.path, guarded.stmt.line),
                        message=Message("device", {"call": name, "function": delta.head.name}),
                        symbol=delta.head.qualname,
                        subject=name,
                    )
                    return
