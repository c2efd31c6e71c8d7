"""Memory that is given back too early, or never.

## What it does

On lines of the change: a guard declared in an inner block whose memory goes to a pointer that lives on behind the
block; device memory from `cudaMalloc` that goes to a local pointer and is neither freed nor handed on.

## Why it matters

PaddlePaddle/FastDeploy#4748 allocated random states by a guard inside an `if` and used them after it; #6985 had to move
the guard out. An earlier version of its logprob op leaked two allocations at every call.

## Example

```cpp
float* states = nullptr;
if (on_device) {
  ctx_guard guard(ctx);
  states = guard.alloc<float>(n);
}
verify(states);            // the guard is gone, and its memory with it
```

## Known limits

Guards are known by their names (`guard`, `RAII`). A context made with `new` and never deleted is for the pedantic
persona: many ops keep it so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions, has_word
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Related, Severity
from checks.domain.ops import calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign, For, If, Stmt, With

ID = "kernel.resource-scope"

_GUARD = re.compile(r"guard|raii", re.IGNORECASE)


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for delta in changed_functions(change, config):
        if delta.python:
            continue
        if _GUARD.search(delta.code):
            yield from _early(delta.head.body, delta)
        if "cudaMalloc" in delta.code:
            yield from _leaked(delta)
        if "new " in delta.code and "Context" in delta.code:
            yield from _contexts(delta)


def _early(body: tuple[Stmt, ...], delta: ChangedFunction) -> Iterator[Finding]:
    for stmt in body:
        for inner in _inner(stmt):
            yield from _in_block(inner, stmt, delta)
            yield from _early(inner, delta)


def _inner(stmt: Stmt) -> Iterator[tuple[Stmt, ...]]:
    match stmt:
        case If(then=then, orelse=orelse):
            yield then
            yield orelse
        case For(body=body) | With(kind="block" | "lambda", body=body):
            yield body


def _in_block(body: tuple[Stmt, ...], block: Stmt, delta: ChangedFunction) -> Iterator[Finding]:
    guards = {
        s.target.id: s
        for s in body
        if isinstance(s, Assign)
        and isinstance(s.target, E.Name)
        and s.declares
        and _GUARD.search(s.declares)
    }
    inside = {
        s.target.id
        for s in body
        if isinstance(s, Assign) and s.declares and isinstance(s.target, E.Name)
    }
    rest = delta.unit.text(block.end_line + 1, delta.head.end_line)
    for stmt in body:
        match stmt:
            case Assign(
                target=E.Name(id=name), value=E.Call(func=E.Attr(base=E.Name(id=guard), name=how))
            ):
                pass
            case _:
                continue
        if guard not in guards or name in inside or "alloc" not in how.lower():
            continue
        if not has_word(re.sub(r"//[^\n]*", "", rest), name) or _pointed(
            name, guards[guard], stmt, delta
        ):
            continue
        yield Finding(
            rule=ID,
            severity=Severity.BUG,
            confidence=Confidence.HIGH,
            location=Location(delta.unit.path, guards[guard].line),
            message=Message("early", {"name": name, "guard": guard, "line": block.end_line}),
            symbol=delta.head.qualname,
            subject=f"{name} {guard}",
            related=(Related(_next_use(name, block, delta), Message("used-after", {})),),
        )


def _pointed(name: str, guard: Assign, stmt: Stmt, delta: ChangedFunction) -> bool:
    """Whether the change left all of it as it was."""
    return not any(delta.touched(s.line, s.end_line) for s in (guard, stmt)) and not delta.touched(
        guard.line
    )


def _next_use(name: str, block: Stmt, delta: ChangedFunction) -> Location:
    lines = range(block.end_line + 1, delta.head.end_line + 1)
    line = next(
        (n for n in lines if has_word(delta.unit.text(n).split("//")[0], name)), block.end_line
    )
    return Location(delta.unit.path, line)


def _leaked(delta: ChangedFunction) -> Iterator[Finding]:
    local = {
        g.stmt.target.id
        for g in delta.statements
        if isinstance(g.stmt, Assign)
        and isinstance(g.stmt.target, E.Name)
        and "*" in (g.stmt.declares or "")
        if not g.stmt.static
    }
    for call, _ in calls_of(delta.head.body):
        if (
            E.callee(call) not in ("cudaMalloc", "cudaMallocAsync")
            or not call.args
            or not delta.touched(call.line)
        ):
            continue
        name = E.root(call.args[0]) or E.root(getattr(call.args[0], "operand", call.args[0])) or ""
        freed = re.search(
            rf"cudaFree\w*\(\s*{re.escape(name)}\b|return\s+{re.escape(name)}\b", delta.code
        )
        kept = re.search(rf"[\w\])]\s*=\s*{re.escape(name)}\s*;", delta.code)
        if name in local and freed is None and kept is None:
            yield Finding(
                rule=ID,
                severity=Severity.SUGGESTION,
                confidence=Confidence.HIGH,
                location=Location(delta.unit.path, call.line),
                message=Message("leaked", {"name": name, "function": delta.head.name}),
                symbol=delta.head.qualname,
                subject=name,
            )


def _contexts(delta: ChangedFunction) -> Iterator[Finding]:
    """`ctx = new api::Context(kCPU)` that nothing deletes."""
    if "delete" in delta.code or "unique_ptr" in delta.code:
        return
    for number in range(delta.head.start_line, delta.head.end_line + 1):
        found = re.search(r"\b(\w+)\s*=\s*new\s+([\w:]*Context)\b", delta.unit.text(number))
        if found and delta.touched(number) and not has_word(delta.base_code, "new"):
            yield Finding(
                rule=ID,
                severity=Severity.SUGGESTION,
                confidence=Confidence.MEDIUM,
                location=Location(delta.unit.path, number),
                message=Message("leaked", {"name": found.group(1), "function": delta.head.name}),
                symbol=delta.head.qualname,
                subject=found.group(0),
                pedantic=True,
            )
            return
