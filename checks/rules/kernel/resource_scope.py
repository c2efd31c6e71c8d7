"""Memory is given back before it is used.

## What it does

On lines of the change: a guard declared in an inner block whose memory goes to a pointer that lives
on behind the block.

## Why it matters

PaddlePaddle/FastDeploy#4748 allocated random states by a guard inside an `if` and used them after
it; #6985 had to move the guard out.

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

Guards are known by their names (`guard`, `RAII`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Related, Severity
from checks.core.words import has_word
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign, For, If, Stmt, With

ID = "kernel.resource-scope"

_GUARD = re.compile(r"guard|raii", re.IGNORECASE)


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if not changed.python:
            yield from _early_releases(changed.head.body, changed)


def _early_releases(body: tuple[Stmt, ...], changed: ChangedFunction) -> Iterator[Finding]:
    for stmt in body:
        for block in _inner_blocks(stmt):
            yield from _released_in(block, stmt, changed)
            yield from _early_releases(block, changed)


def _inner_blocks(stmt: Stmt) -> Iterator[tuple[Stmt, ...]]:
    """The blocks inside a statement at whose ends a guard is destroyed."""
    match stmt:
        case If(then=then, orelse=orelse):
            yield then
            yield orelse
        case For(body=body) | With(kind="block" | "lambda", body=body):
            yield body


def _released_in(
    body: tuple[Stmt, ...], block: Stmt, changed: ChangedFunction
) -> Iterator[Finding]:
    """Pointers that get memory of a guard inside the block and are used behind it."""
    declared = _declared_locals(body)
    guards = {n: s for n, s in declared.items() if _GUARD.search(s.declares or "")}
    if not guards:
        return
    for stmt in body:
        match stmt:
            case Assign(
                target=E.Name(id=name),
                value=E.Call(func=E.Attr(base=E.Name(id=guard), name=method)),
            ):
                pass
            case _:
                continue
        # A pointer of the block itself ends together with the guard.
        if guard not in guards or name in declared or "alloc" not in method.lower():
            continue
        declaration = guards[guard]
        if not _is_touched(declaration, stmt, changed):
            continue
        use = _next_use(name, block, changed)
        if use is not None:
            yield _finding(name, guard, declaration, block, use, changed)


def _declared_locals(body: tuple[Stmt, ...]) -> dict[str, Assign]:
    """The variables that a block declares itself, not in blocks inside it."""
    found: dict[str, Assign] = {}
    for stmt in body:
        if isinstance(stmt, Assign) and stmt.declares and isinstance(stmt.target, E.Name):
            found[stmt.target.id] = stmt
    return found


def _is_touched(guard: Assign, allocation: Stmt, changed: ChangedFunction) -> bool:
    """Whether the change wrote the guard or what it allocates."""
    if changed.touched(guard.line, guard.end_line):
        return True
    return changed.touched(allocation.line, allocation.end_line)


def _next_use(name: str, block: Stmt, changed: ChangedFunction) -> int | None:
    """The first line behind the block that names `name`."""
    for number in range(block.end_line + 1, changed.head.end_line + 1):
        if has_word(changed.unit.text(number).split("//")[0], name):
            return number
    return None


def _finding(
    name: str,
    guard: str,
    declaration: Assign,
    block: Stmt,
    use: int,
    changed: ChangedFunction,
) -> Finding:
    used_after = Location(changed.unit.path, use)
    return Finding(
        rule=ID,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=Location(changed.unit.path, declaration.line),
        message=Message("early", {"name": name, "guard": guard, "line": block.end_line}),
        symbol=changed.head.qualname,
        subject=f"{name} {guard}",
        related=(Related(used_after, Message("used-after", {})),),
    )
