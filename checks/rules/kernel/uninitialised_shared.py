"""A shared variable is read before anything writes it.

## What it does

For `__shared__` variables of kernels that the change wrote or touched: the first statement that
names the variable reads it, or nothing writes it at all.

## Why it matters

Shared memory starts with what the last block left there. A flag such as `stop` that is only ever
set to true ends the loop at once when the memory happens to hold something: `top_p_candidates` of
PaddlePaddle/FastDeploy has had one.

## Example

```cuda
__shared__ bool stop;
for (int i = 0; i < n && !stop; i++) if (done(i)) stop = true;
```

## Known limits

A variable whose address is given to a function, that is used whole as an argument, or that is
declared `extern` is taken to be written there.
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
from checks.rules.kernel._thread_divergence import is_device, reads_of, shared_variables

ID = "kernel.uninitialised-shared"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if changed.python or not is_device(changed.head) or not changed.head.clean:
            continue
        known = _read_first(changed.base_statements)
        declarations = shared_variables(changed.statements)
        for name, line in _read_first(changed.statements).items():
            if name not in known:
                yield _finding(name, line, declarations[name], changed)


def _read_first(statements: list[GuardedStmt]) -> dict[str, int]:
    """Shared variables that are read before they are written, with the line of the read."""
    found: dict[str, int] = {}
    for name, declared in shared_variables(statements).items():
        is_array = "[" in (declared.declares or "")
        for guarded in statements:
            if not _names(guarded, name):
                continue
            line = _reading_line(guarded, name, is_array=is_array)
            if line is not None:
                found[name] = line
            break
    return found


def _names(guarded: GuardedStmt, name: str) -> bool:
    """Whether the statement names the variable, other than to declare it."""
    stmt = guarded.stmt
    if isinstance(stmt, Opaque) and name in stmt.text:
        return True
    if isinstance(stmt, Assign) and stmt.value is None and stmt.target == E.Name(name):
        return False
    return any(name in E.names(top) for top in expressions_of(stmt))


def _reading_line(guarded: GuardedStmt, name: str, *, is_array: bool) -> int | None:
    """The line on which a statement reads `name`; None where it writes it, or may write it."""
    stmt = guarded.stmt
    if isinstance(stmt, Opaque):
        return None
    expressions = list(expressions_of(stmt))
    if any(_is_given_away(top, name) for top in expressions):
        return None
    if isinstance(stmt, Assign) and E.root(stmt.target) == name and stmt.op == "=":
        return stmt.line if _has_read(name, stmt.value) else None
    # A pointer or reference to it may be written through.
    if isinstance(stmt, Assign) and re.search(r"[*&]", stmt.declares or ""):
        return None
    found = [read for top in expressions for read in reads_of(name, top)]
    if not found:
        return None
    # An array that is used whole becomes a pointer, through which it may be written.
    if is_array and any(isinstance(read, E.Name) for read in found):
        return None
    return found[0].line or stmt.line


def _has_read(name: str, value: E.Expr | None) -> bool:
    return value is not None and bool(list(reads_of(name, value)))


def _is_given_away(top: E.Expr, name: str) -> bool:
    """Whether a call gets the variable itself or its address, and may write it."""
    for e in E.walk(top):
        match e:
            case E.Call(func=func, args=args):
                if E.root(func) == name or name in E.names(func):
                    return True
                if any(_is_variable_or_element(argument, name) for argument in args):
                    return True
            case E.Unary(op="&", operand=operand) if E.root(operand) == name:
                return True
            case E.Cast(operand=operand) if E.root(operand) == name and "*" in e.type:
                return True
    return False


def _is_variable_or_element(argument: E.Expr, name: str) -> bool:
    if argument == E.Name(name):
        return True
    return isinstance(argument, E.Index) and E.root(argument) == name


def _finding(name: str, line: int, declared: Assign, changed: ChangedFunction) -> Finding:
    declaration = Location(changed.unit.path, declared.line)
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=Location(changed.unit.path, line),
        message=Message("read-first", {"name": name}),
        symbol=changed.head.qualname,
        subject=name,
        related=(Related(declaration, Message("declared", {})),),
    )
