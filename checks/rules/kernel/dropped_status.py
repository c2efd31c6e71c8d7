"""A call drops the status that it gets back, where the code around it checks its kind.

## What it does

For calls of `plugin::` functions on lines of the change, looks whether the returned status is read.
A dropped status counts where another op of the same folder checks it, and several files do.

## Why it matters

The first version of the XPU verify op in PaddlePaddle/FastDeploy (#4748) dropped the status of
every plugin call that other ops of the folder check. A call that failed left the output as it was.

## Example

```cpp
plugin::verify(ctx, tokens, n);     // other ops: int r = plugin::...; PD_CHECK(r == 0, "...");
```

## Known limits

Only calls in the namespace `plugin` are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.config import Config
from checks.core.finding import Confidence, Edit, Finding, Fix, Location, Message, Severity
from checks.core.tree import WordMatch
from checks.core.words import has_word
from checks.domain.ops import calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign, ExprStmt, Stmt

ID = "kernel.dropped-status"
# In so many files a check has to stand before it counts as the tree's practice.
_PRACTICE = 3


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if not changed.python:
            yield from _dropped_statuses(changed, change)


def _dropped_statuses(changed: ChangedFunction, change: ChangeSet) -> Iterator[Finding]:
    """One finding for all statuses that the function newly drops."""
    dropped = list(_new_drops(changed))
    if not dropped:
        return
    near = _check_nearby(changed, change)
    if near is None:
        return
    stmt, call = dropped[0]
    names = list(dict.fromkeys(E.callee(c) for _, c in dropped))
    args = {"names": names, "count": len(dropped), "near": Location(near.path, near.line)}
    yield Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=Location(changed.unit.path, stmt.line, stmt.end_line),
        message=Message("status", args),
        symbol=changed.head.qualname,
        subject=" ".join(names),
        fix=_fix(stmt, call, changed) if len(dropped) == 1 else None,
    )


def _new_drops(changed: ChangedFunction) -> Iterator[tuple[Stmt, E.Call]]:
    """Statements of the change that call a plugin and do not look at its status."""
    for guarded in changed.statements:
        stmt = guarded.stmt
        if not isinstance(stmt, ExprStmt | Assign) or not _is_plugin_call(stmt.value):
            continue
        if isinstance(stmt, Assign) and _is_read(stmt, changed):
            continue
        if not changed.touched(stmt.line, stmt.end_line):
            continue
        if isinstance(stmt.value, E.Call) and not _was_called(stmt.value, changed):
            yield stmt, stmt.value


def _is_plugin_call(value: E.Expr | None) -> bool:
    if not isinstance(value, E.Call) or value.launch:
        return False
    return isinstance(value.func, E.Name) and "plugin::" in value.func.id


def _is_read(stmt: Assign, changed: ChangedFunction) -> bool:
    """Whether the name that takes the status is named again behind the call."""
    if not isinstance(stmt.target, E.Name):
        return True
    rest = changed.unit.text(stmt.end_line + 1, changed.head.end_line)
    return has_word(re.sub(r"//[^\n]*", "", rest), stmt.target.id)


def _was_called(call: E.Call, changed: ChangedFunction) -> bool:
    """Whether the function made the same call before the change."""
    if changed.base is None:
        return False
    return any(E.callee(old) == E.callee(call) for old, _ in calls_of(changed.base.body))


def _check_nearby(changed: ChangedFunction, change: ChangeSet) -> WordMatch | None:
    """A check of a status in the same folder, where the tree has such checks in several files."""
    checks = [
        hit for hit in change.head.find("PD_CHECK") if "== 0" in hit.text or "SUCCESS" in hit.text
    ]
    if len({hit.path for hit in checks}) < _PRACTICE:
        return None
    folder = _folder(changed.unit.path)
    return next((hit for hit in checks if _folder(hit.path) == folder), None)


def _folder(path: str) -> str:
    return path.rsplit("/", 1)[0]


def _fix(stmt: Stmt, call: E.Call, changed: ChangedFunction) -> Fix | None:
    """Keep the status and check it, as the code around does."""
    if not isinstance(stmt, ExprStmt) or re.search(r"\br\b", changed.code):
        return None
    lines: list[str] = []
    for number in range(stmt.line, stmt.end_line + 1):
        lines.append(changed.unit.text(number).rstrip("\r"))
    code = lines[0].lstrip()
    margin = lines[0].removesuffix(code)
    lines[0] = f"{margin}int r = {code}"
    lines.append(f'{margin}PD_CHECK(r == 0, "{E.callee(call)} failed.");')
    return Fix((Edit(changed.unit.path, stmt.line, stmt.end_line, tuple(lines)),))
