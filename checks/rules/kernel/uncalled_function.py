"""A function that only its own file can call, and that nothing there calls.

## What it does

In C++ and CUDA sources of the change: functions that are `static` or `__device__` and that no line
of their file names, be it that they came so or that the change took the last call away.

## Why it matters

PaddlePaddle/FastDeploy#6947 brought a `ClusterReduce` that nothing calls, so what it was written
for does not happen.

## Example

```cuda
__device__ void ClusterReduce(float* rows, int n) { ... }   // no line of the file calls it
```

## Known limits

Functions in headers are not judged. A function that is not `static` is only reported where no other
file of the tree names it. One that came uncalled is for the pedantic persona.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import changed_files
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity
from checks.core.words import has_word
from checks.lang.ir.source_file import Function, SourceFile

ID = "kernel.uncalled-function"
_COMMENT = re.compile(r"//.*|/\*.*?\*/|^\s*\*.*")
_HEADERS = (".h", ".hpp", ".cuh", ".hxx", ".inl")


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for unit, base in changed_files(change, config, "cpp"):
        if not unit.path.endswith(_HEADERS):
            yield from _uncalled(unit, base, change)


def _uncalled(unit: SourceFile, base: SourceFile | None, change: ChangeSet) -> Iterator[Finding]:
    removed = _removed_text(unit, base, change)
    for function in unit.functions:
        if not _is_local(function):
            continue
        is_new = change.touches(unit.path, function.start_line, function.start_line)
        if not is_new and not has_word(removed, function.name):
            continue
        if _is_named_elsewhere(function, unit) or _is_named_in_tree(function, unit, change):
            continue
        old = _function_before(function, base)
        # It was not called before the change either.
        if old is not None and base is not None and not _is_named_elsewhere(old, base):
            continue
        yield Finding(
            rule=ID,
            severity=Severity.SUGGESTION,
            confidence=Confidence.HIGH,
            location=Location(unit.path, function.start_line),
            message=Message(
                "uncalled" if old is None else "left-uncalled", {"name": function.name}
            ),
            symbol=function.qualname,
            subject=function.name,
            # A helper that came uncalled is for a later change; one that lost its last call did
            # something.
            pedantic=old is None,
        )


def _removed_text(unit: SourceFile, base: SourceFile | None, change: ChangeSet) -> str:
    """The lines that the change took out of the file."""
    file = change.changed(unit.path)
    if base is None or file is None:
        return ""
    return "\n".join(base.text(number) for number in sorted(file.base_lines()))


def _function_before(function: Function, base: SourceFile | None) -> Function | None:
    if base is None:
        return None
    named = base.functions_named.get(function.qualname)
    return named[0] if named else None


def _is_local(function: Function) -> bool:
    """Whether other files cannot call a function: no kernel, no method, no operator."""
    marks = set(function.marks)
    if "__global__" in marks or not marks & {"static", "__device__"}:
        return False
    return not function.owner and not function.name.startswith("operator")


def _is_named_elsewhere(function: Function, unit: SourceFile) -> bool:
    """Whether the file names the function outside its own definition and outside declarations."""
    if len(unit.named(function.name)) > 1:
        return True
    declared: set[int] = set()
    for declaration in unit.declarations:
        if declaration.name == function.name:
            declared.update(range(declaration.line, declaration.end_line + 1))
    for number, line in enumerate(unit.lines, 1):
        if function.name not in line or function.covers(number) or number in declared:
            continue
        if has_word(_COMMENT.sub("", line), function.name):
            return True
    return False


def _is_named_in_tree(function: Function, unit: SourceFile, change: ChangeSet) -> bool:
    """Whether another file may call the function: it includes this one, or names it."""
    if "static" in function.marks:
        file_name = unit.path.rsplit("/", 1)[-1]
        stem = file_name.split(".")[0]
        return any(_includes(hit.text, file_name) for hit in change.head.find(stem))
    return any(path != unit.path for path in change.head.paths_containing(function.name))


def _includes(line: str, file_name: str) -> bool:
    return line.lstrip().startswith("#") and file_name in line
