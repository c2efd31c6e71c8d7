"""A kernel launch whose failure nobody would see, where the code around it looks.

## What it does

For kernel launches on lines of the change, looks for the check that other code makes. Launches
count where the file checks its other launches, and where a second launch of the function reads what
the first one was to write.

## Why it matters

A launch that fails (too many threads, no memory) says nothing by itself; the next kernel reads what
was there before. PaddlePaddle/FastDeploy#7600 launches a scan and a gather that reads it,
unchecked.

## Example

```cuda
scan<<<1, 256>>>(offsets, lens, n);
gather<<<n, 128>>>(out, rows, offsets);   // no cudaGetLastError() behind either
```

## Known limits

Other launches without a check, where nobody in the file checks, are for the pedantic persona. A
check that callers in the same file make behind the call counts. A kernel that is a parameter is for
the caller to check, and a `#define` with a check is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity
from checks.core.words import has_word
from checks.domain.ops import calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import SourceFile
from checks.lang.ir.stmt import ExprStmt

ID = "kernel.missing-error-check"

_CHECKS = re.compile(
    r"cudaGetLastError|cudaPeekAtLastError|C10_CUDA_KERNEL_LAUNCH_CHECK|hipGetLastError|CHECK_LAUNCH"
)
_LAUNCHED = re.compile(r"(\w+)\s*(?:<[^;{}]*?>)?\s*<<<")
_DEFINE = re.compile(r"\s*#\s*define\b")
# In so many files a check has to stand before it counts as the tree's practice.
_PRACTICE = 3


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """A statement that launches a kernel."""

    stmt: ExprStmt
    call: E.Call
    guards: tuple[E.Expr, ...]

    @property
    def kernel(self) -> str:
        return E.callee(self.call)


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if not changed.python:
            yield from _unchecked_launches(changed, change)


def _unchecked_launches(changed: ChangedFunction, change: ChangeSet) -> Iterator[Finding]:
    """One finding for all launches that the change added to a function without a check."""
    launches = list(_launches(changed))
    if not launches:
        return
    known = set(_LAUNCHED.findall(changed.base_code))
    new: list[KernelLaunch] = []
    for launch in launches:
        stmt = launch.stmt
        if changed.touched(stmt.line, stmt.end_line) and launch.kernel not in known:
            new.append(launch)
    if not new or _CHECKS.search(changed.code) or _callers_check(changed):
        return
    checked_line = _checked_line(changed)
    shared = _shared_tensor(launches)
    if checked_line is None and shared is not None:
        # It launched as many kernels without a check before: no chain is new.
        had_as_many = _launches_before(changed) >= len(launches)
        if had_as_many or not _is_practice(change):
            shared = None
    names = list(dict.fromkeys(launch.kernel for launch in new))
    near = Location(changed.unit.path, checked_line) if checked_line is not None else None
    first = new[0].stmt
    yield Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.MEDIUM,
        location=Location(changed.unit.path, first.line, first.end_line),
        message=Message("launch", {"names": names, "near": near, "shared": shared or ""}),
        symbol=changed.head.qualname,
        subject=" ".join(names),
        pedantic=checked_line is None and shared is None,
    )


def _callers_check(changed: ChangedFunction) -> bool:
    """Whether every function of the file that calls this one looks behind the call."""
    name = changed.head.name
    seen: list[bool] = []
    for caller in changed.unit.functions_naming(name):
        lines = [call.line for call, _ in calls_of(caller.body) if E.callee(call) == name]
        if lines and caller != changed.head:
            rest = changed.unit.text(max(lines), caller.end_line)
            seen.append(_CHECKS.search(rest) is not None)
    return bool(seen) and all(seen)


def _launches(changed: ChangedFunction) -> Iterator[KernelLaunch]:
    handed_in = {"", *(param.name for param in changed.head.params)}
    for guarded in changed.statements:
        stmt = guarded.stmt
        if not isinstance(stmt, ExprStmt) or not isinstance(stmt.value, E.Call):
            continue
        # Who launches what was handed in (`(*kernel)<<<...>>>`) leaves the check to the caller.
        if stmt.value.launch and E.callee(stmt.value) not in handed_in:
            yield KernelLaunch(stmt, stmt.value, guarded.guards)


def _launches_before(changed: ChangedFunction) -> int:
    """How many launches the function had before the change."""
    if changed.base is None:
        return 0
    return sum(1 for call, _ in calls_of(changed.base.body) if call.launch)


def _checked_line(changed: ChangedFunction) -> int | None:
    """The first line of the file, outside the function, that checks a launch; what stands in a
    `#define` is for others to use."""
    is_macro = False
    for number, line in enumerate(changed.unit.lines, 1):
        is_macro = is_macro or _DEFINE.match(line) is not None
        is_check = not is_macro and _CHECKS.search(line) is not None
        if is_check and not changed.head.covers(number) and _follows_launch(number, changed.unit):
            return number
        is_macro = is_macro and line.rstrip().endswith("\\")
    return None


def _follows_launch(line: int, unit: SourceFile) -> bool:
    """Whether the function of the line launches a kernel before it, or calls one that does: memory
    that could not be had is asked for in the same way."""
    function = unit.function_at(line)
    if function is None:
        return False
    # Not the first line: `bool Matrix::fill()` names a constructor that may launch.
    before = unit.text(function.start_line + 1, line)
    others = [one for one in unit.functions if one is not function and "<<<" in unit.text_of(one)]
    return "<<<" in before or any(has_word(before, other.name) for other in others)


def _is_practice(change: ChangeSet) -> bool:
    """Whether the tree checks launches at all, in several files."""
    return len(change.head.paths_containing("cudaGetLastError", "cpp")) >= _PRACTICE


def _shared_tensor(launches: list[KernelLaunch]) -> str | None:
    """A tensor that one launch may write and another kernel, on the same way, reads."""
    written: list[tuple[str, KernelLaunch]] = []
    for launch in launches:
        given = [(E.root(_tensor(a)) or "", isinstance(a, E.Cast)) for a in launch.call.args]
        names = {name for name, _ in given}
        for name, writer in written:
            if writer.kernel == launch.kernel or name not in names:
                continue
            if _run_together(writer, launch):
                return name
        # The constness of a tensor's data is cast away where the kernel writes it.
        written += [(name, launch) for name, is_cast in given if is_cast and name]
    return None


def _run_together(first: KernelLaunch, second: KernelLaunch) -> bool:
    """Whether one of the two stands under the conditions of the other."""
    depth = min(len(first.guards), len(second.guards))
    return first.guards[:depth] == second.guards[:depth]


def _tensor(expr: E.Expr) -> E.Expr:
    """The tensor behind `const_cast<T*>(t.data<T>())`."""
    match expr:
        case E.Cast(operand=operand):
            return _tensor(operand)
        case E.Call(func=E.Attr(base=base, name="data" | "data_ptr")):
            return base
    return E.Const(0)
