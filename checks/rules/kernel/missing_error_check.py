"""A launch or a status return whose failure nobody would see, where the code around it looks.

## What it does

For kernel launches and calls that return a status on lines of the change, looks for the check that other code of the
same file, or of the same kind in the tree, makes. Launches count where the file checks its other launches, and where a
second launch of the function reads what the first one was to write. Returned statuses count where most calls into the
same library are checked.

## Why it matters

A launch that fails (too many threads, no memory) says nothing by itself; the next kernel reads what was there before.
PaddlePaddle/FastDeploy#7600 launches a scan and a gather that reads it, unchecked. The first version of its XPU verify
op (#4748) dropped the status of every plugin call that other ops of the folder check.

## Example

```cpp
plugin::verify(ctx, tokens, n);                     // other ops: int r = plugin::...; PD_CHECK(r == 0, "...");
```

## Known limits

Other launches without a check, where nobody in the file checks, are for the pedantic persona.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions, has_word
from checks.core.config import Config
from checks.core.finding import Confidence, Edit, Finding, Fix, Location, Message, Severity
from checks.domain.ops import calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign, ExprStmt, Stmt

ID = "kernel.missing-error-check"

_CHECKS = re.compile(
    r"cudaGetLastError|cudaPeekAtLastError|C10_CUDA_KERNEL_LAUNCH_CHECK|hipGetLastError|CHECK_LAUNCH"
)


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for delta in changed_functions(change, config):
        if delta.python:
            continue
        if "<<<" in delta.code:
            yield from _launches(delta, change)
        if "plugin::" in delta.code:
            yield from _statuses(delta, change)


def _launches(delta: ChangedFunction, change: ChangeSet) -> Iterator[Finding]:
    calls = [(g.stmt, g.stmt.value) for g in delta.statements if isinstance(g.stmt, ExprStmt)]
    launches = [(s, c) for s, c in calls if isinstance(c, E.Call) and c.launch]
    known = set(re.findall(r"(\w+)\s*(?:<[^;{}]*?>)?\s*<<<", delta.base_code))
    new = [
        (s, c)
        for s, c in launches
        if delta.touched(s.line, s.end_line) and E.callee(c) not in known
    ]
    if not new or _CHECKS.search(delta.code):
        return
    names = list(dict.fromkeys(E.callee(c) for _, c in new))
    near = _checked_near(delta)
    chained = _chained(delta)
    before = (
        len([c for c, _ in calls_of(delta.base.body) if c.launch]) if delta.base is not None else 0
    )
    if near is None and chained is not None and (before >= len(launches) or not _practice(change)):
        chained = None
    at = Location(delta.unit.path, near) if near is not None else None
    args = {"names": names, "near": at, "shared": chained or ""}
    yield Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.MEDIUM,
        location=Location(delta.unit.path, new[0][0].line, new[0][0].end_line),
        message=Message("launch", args),
        symbol=delta.head.qualname,
        subject=" ".join(names),
        pedantic=near is None and chained is None,
    )


def _checked_near(delta: ChangedFunction) -> int | None:
    """The first line of the file, outside the function, that checks a launch."""
    for number, line in enumerate(delta.unit.lines, 1):
        if _CHECKS.search(line) and not delta.head.covers(number):
            return number
    return None


def _practice(change: ChangeSet) -> bool:
    """Whether the tree checks launches at all, in several files."""
    return len(change.head.paths_containing("cudaGetLastError", "cpp")) >= 3


def _chained(delta: ChangedFunction) -> str | None:
    """A tensor that one launch may write and another kernel, on the same way through the function, reads."""
    written: list[tuple[str, str, tuple[E.Expr, ...]]] = []
    for guarded in delta.statements:
        call = guarded.stmt.value if isinstance(guarded.stmt, ExprStmt) else None
        if not isinstance(call, E.Call) or not call.launch:
            continue
        given = [(E.root(_data(a)) or "", isinstance(a, E.Cast)) for a in call.args]
        for name, kernel, guards in written:
            together = all(a == b for a, b in zip(guards, guarded.guards, strict=False))
            if together and kernel != E.callee(call) and name in {n for n, _ in given}:
                return name
        written += [(name, E.callee(call), guarded.guards) for name, cast in given if cast and name]
    return None


def _data(expr: E.Expr) -> E.Expr:
    """The tensor behind `const_cast<T*>(t.data<T>())`."""
    match expr:
        case E.Cast(operand=operand):
            return _data(operand)
        case E.Call(func=E.Attr(base=base, name="data" | "data_ptr")):
            return base
    return E.Const(0)


def _statuses(delta: ChangedFunction, change: ChangeSet) -> Iterator[Finding]:
    found: list[tuple[Stmt, E.Call]] = []
    for guarded in delta.statements:
        stmt = guarded.stmt
        value = stmt.value if isinstance(stmt, ExprStmt | Assign) else None
        if (
            not isinstance(value, E.Call)
            or not isinstance(value.func, E.Name)
            or "plugin::" not in value.func.id
            or value.launch
        ):
            continue
        dropped = isinstance(stmt, ExprStmt) or (
            isinstance(stmt, Assign) and not _read(stmt, delta)
        )
        if dropped and delta.touched(stmt.line, stmt.end_line) and not _was_there(value, delta):
            found.append((stmt, value))
    if not found:
        return
    folder = delta.unit.path.rsplit("/", 1)[0]
    hits = [h for h in change.head.find("PD_CHECK") if "== 0" in h.text or "SUCCESS" in h.text]
    near = next((h for h in hits if h.path.rsplit("/", 1)[0] == folder), None)
    if near is None or len({h.path for h in hits}) < 3:
        return
    stmt, call = found[0]
    names = list(dict.fromkeys(E.callee(c) for _, c in found))
    yield Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=Location(delta.unit.path, stmt.line, stmt.end_line),
        message=Message(
            "status", {"names": names, "count": len(found), "near": Location(near.path, near.line)}
        ),
        symbol=delta.head.qualname,
        subject=" ".join(names),
        fix=_fix(stmt, call, delta) if len(found) == 1 else None,
    )


def _read(stmt: Assign, delta: ChangedFunction) -> bool:
    """Whether the name that takes the status is named again before it is set anew."""
    if not isinstance(stmt.target, E.Name):
        return True
    rest = delta.unit.text(stmt.end_line + 1, delta.head.end_line)
    return has_word(re.sub(r"//[^\n]*", "", rest), stmt.target.id)


def _was_there(call: E.Call, delta: ChangedFunction) -> bool:
    if delta.base is None:
        return False
    return any(E.callee(c) == E.callee(call) for c, _ in calls_of(delta.base.body))


def _fix(stmt: Stmt, call: E.Call, delta: ChangedFunction) -> Fix | None:
    """Keep the status and check it, as the code around does."""
    if not isinstance(stmt, ExprStmt) or re.search(r"\br\b", delta.code):
        return None
    lines = [delta.unit.text(n).rstrip("\r") for n in range(stmt.line, stmt.end_line + 1)]
    margin = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    lines[0] = f"{margin}int r = {lines[0].lstrip()}"
    check = f'{margin}PD_CHECK(r == 0, "{E.callee(call)} failed.");'
    return Fix((Edit(delta.unit.path, stmt.line, stmt.end_line, (*lines, check)),))
