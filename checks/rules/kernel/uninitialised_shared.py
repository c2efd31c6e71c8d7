"""A shared variable is read before anything writes it.

## What it does

For `__shared__` variables of kernels that the change wrote or touched: the first statement that names the variable
reads it, or nothing writes it at all.

## Why it matters

Shared memory starts with what the last block left there. A flag such as `stop` that is only ever set to true ends the
loop at once when the memory happens to hold something: `top_p_candidates` of PaddlePaddle/FastDeploy has had one.

## Example

```cuda
__shared__ bool stop;
for (int i = 0; i < n && !stop; i++) if (done(i)) stop = true;
```

## Known limits

A variable whose address is given to a function, that is used whole as an argument, or that is declared `extern` is
taken to be written there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Related, Severity
from checks.domain.ops import expressions_of
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign, GuardedStmt, Opaque
from checks.rules.kernel._thread_divergence import is_device, reads, shared

ID = "kernel.uninitialised-shared"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for delta in changed_functions(change, config):
        if (
            not delta.python
            and "__shared__" in delta.code
            and is_device(delta.head)
            and delta.head.clean
        ):
            yield from _kernel(delta)


def _kernel(delta: ChangedFunction) -> Iterator[Finding]:
    before = {
        n
        for n in shared(delta.base_statements)
        if _first_read(n, delta.base_statements) is not None
    }
    for name, declared in shared(delta.statements).items():
        line = _first_read(name, delta.statements)
        if line is None or name in before:
            continue
        yield Finding(
            rule=ID,
            severity=Severity.SUGGESTION,
            confidence=Confidence.HIGH,
            location=Location(delta.unit.path, line),
            message=Message("read-first", {"name": name}),
            symbol=delta.head.qualname,
            subject=name,
            related=(Related(Location(delta.unit.path, declared.line), Message("declared", {})),),
        )


def _first_read(name: str, flat: list[GuardedStmt]) -> int | None:
    """The line of the first statement that names `name`, where it reads it."""
    declared = shared(flat).get(name)
    array = declared is not None and "[" in (declared.declares or "")
    for guarded in flat:
        stmt = guarded.stmt
        if isinstance(stmt, Opaque) and name in stmt.text:
            return None
        if isinstance(stmt, Assign) and stmt.value is None and stmt.target == E.Name(name):
            continue
        tops = list(expressions_of(stmt))
        if not any(name in E.names(top) for top in tops):
            continue
        if any(_given_away(top, name) for top in tops):
            return None
        if isinstance(stmt, Assign) and E.root(stmt.target) == name and stmt.op == "=":
            read = stmt.value is not None and any(True for _ in reads(stmt.value, name))
            return stmt.line if read else None
        if isinstance(stmt, Assign) and re.search(r"[*&]", stmt.declares or ""):
            return None
        found = [r for top in tops for r in reads(top, name)]
        if array and any(isinstance(r, E.Name) for r in found):
            return None
        return (found[0].line or stmt.line) if found else None
    return None


def _given_away(top: E.Expr, name: str) -> bool:
    """Whether a call gets the variable itself or its address, and may write it."""
    for e in E.walk(top):
        match e:
            case E.Call(args=args) if any(a == E.Name(name) for a in args):
                return True
            case E.Call(func=func) if E.root(func) == name or name in E.names(func):
                return True
            case E.Unary(op="&", operand=operand) if E.root(operand) == name:
                return True
            case E.Cast(operand=operand) if E.root(operand) == name and "*" in e.type:
                return True
            case E.Call(args=args) if any(
                isinstance(a, E.Index) and E.root(a) == name for a in args
            ):
                return True
    return False
