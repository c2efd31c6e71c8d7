"""Code that the change wrote and that cannot make a difference: equal branches, unreachable lines, uncalled functions.

## What it does

On lines of the change: an `if` whose two branches are the same; in Python, one that compares a local with the very
attribute it was set to, where nothing in between could have changed either; statements behind a `return`, `raise`,
`break` or `continue` of the same block; and functions that only their own file can call (`static`, `__device__`, an
anonymous namespace) and that nothing there calls, be it that they came so or that the change took the last call away.

## Why it matters

PaddlePaddle/FastDeploy#7180 swaps the same buffer in both branches of a test for the hardware: one of them was to be
another buffer. #4529 computes the width of a table and then compares another local with what that was set to, so one
of two layouts is never chosen (mended by #4638). #6947 brought a `ClusterReduce` that nothing calls, so what it was
written for does not happen.

## Example

```python
if on_gpu:
    swap(self.offsets, a, b)
else:
    swap(self.offsets, a, b)
```

## Known limits

Branches are compared as code, not by meaning. Functions in headers and in namespaces with a name may be called from
elsewhere and are only reported where no file names them. The last two arms of an `if`/`elif` chain, often spelled out
for the reader, are for the pedantic persona; `if constexpr` is not judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from checks.core.change import ChangeSet
from checks.core.changed import (
    ChangedFunction,
    changed_files,
    changed_functions,
    equal_code,
    has_word,
)
from checks.core.config import Config
from checks.core.finding import Confidence, Edit, Finding, Fix, Location, Message, Severity
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, Define, ExprStmt, For, If, Jump, Raise, Return, Stmt, With
from checks.rules.kernel._decided_tests import decided

ID = "kernel.dead-code"
_COMMENT = re.compile(r"//.*|/\*.*?\*/|^\s*\*.*")


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for delta in changed_functions(change, config):
        yield from _branches(delta)
        yield from _unreachable(delta)
        yield from decided(delta, ID)
    for unit, base in changed_files(change, config, "cpp"):
        yield from _uncalled(unit, base, change)


def _branches(delta: ChangedFunction) -> Iterator[Finding]:
    for guarded in delta.statements:
        stmt = guarded.stmt
        if (
            not isinstance(stmt, If)
            or not stmt.then
            or not stmt.orelse
            or not equal_code(stmt.then, stmt.orelse)
        ):
            continue
        before = (g.stmt for g in delta.base_statements if isinstance(g.stmt, If))
        if not delta.touched(stmt.line, stmt.end_line) or any(
            equal_code(stmt, old) for old in before
        ):
            continue
        if "else" not in delta.code:  # asked here, where there is one: this text is made for it
            return
        text = delta.unit.text(stmt.line)
        if not _plain(stmt, delta) or "constexpr" in text:
            continue
        args = {"test": delta.unit.text(stmt.line).strip().rstrip(":{ "), "lines": _span(stmt.then)}
        yield Finding(
            rule=ID,
            severity=Severity.SUGGESTION,
            confidence=Confidence.HIGH,
            location=Location(delta.unit.path, stmt.line, stmt.end_line),
            message=Message("same-branches", args),
            symbol=delta.head.qualname,
            subject=delta.unit.text(stmt.line, stmt.end_line),
            fix=_merge(stmt, delta) if delta.python else None,
            pedantic=re.match(r"\s*(\}\s*)?(elif|else if)\b", text) is not None,
        )


def _plain(stmt: If, delta: ChangedFunction) -> bool:
    """Branches that do something, and that read the same: an instruction in a string is not in the tree."""
    if all(isinstance(s, Jump) and s.kind == "pass" for s in stmt.then):
        return False
    texts = [delta.unit.text(body[0].line, body[-1].end_line) for body in (stmt.then, stmt.orelse)]
    first, second = (re.sub(r"//[^\n]*|#[^\n]*|[\s{}]|else", "", text) for text in texts)
    awaited = first.count("await") == second.count("await")  # `await f()` is `f()` in the tree
    # what stands in a function that is defined there is not in the tree either
    alone = delta.python and len(stmt.then) == 1 and not isinstance(stmt.then[0], Define)
    return first == second or (alone and awaited)


def _span(body: tuple[Stmt, ...]) -> int:
    return body[-1].end_line - body[0].line + 1


def _merge(stmt: If, delta: ChangedFunction) -> Fix | None:
    """The branch without its test, where the test does nothing itself and is not one of a chain of `elif`."""
    if delta.unit.text(stmt.line).lstrip().startswith("elif") or any(
        isinstance(e, E.Call) for e in _calls(stmt)
    ):
        return None
    margin = len(delta.unit.text(stmt.line)) - len(delta.unit.text(stmt.line).lstrip())
    body = [
        delta.unit.text(n).rstrip("\r")
        for n in range(stmt.then[0].line, stmt.then[-1].end_line + 1)
    ]
    inner = len(body[0]) - len(body[0].lstrip())
    lines = tuple(line[inner - margin :] if line[:inner].isspace() else line for line in body)
    return Fix((Edit(delta.unit.path, stmt.line, stmt.end_line, lines),))


def _calls(stmt: If) -> Iterator[E.Call]:
    """Calls in the test that are more than a question (`is_cuda()`, `isinstance`)."""
    for e in E.walk(stmt.test):
        if isinstance(e, E.Call) and not E.callee(e).startswith(("is", "has", "get", "len")):
            yield e


def _unreachable(delta: ChangedFunction) -> Iterator[Finding]:
    if not delta.head.clean or (not delta.python and "goto" in delta.code):
        return
    for body in _blocks(delta.head.body):
        for first, after in pairwise(body):
            gone = isinstance(first, Return | Raise) or (
                isinstance(first, Jump) and first.kind in ("break", "continue")
            )
            if (
                not gone
                or after.line <= first.end_line
                or not _does(after)
                or _generator(delta, body)
            ):
                continue
            if isinstance(first, Raise) and not delta.python and "switch" in delta.code:
                continue  # arms that come out of a macro leave only the default one to see
            if delta.touched(first.line, first.end_line) or delta.touched(
                after.line, body[-1].end_line
            ):
                yield Finding(
                    rule=ID,
                    severity=Severity.SUGGESTION,
                    confidence=Confidence.HIGH,
                    location=Location(delta.unit.path, after.line, body[-1].end_line),
                    message=Message("unreachable", {"after": delta.unit.text(first.line).strip()}),
                    symbol=delta.head.qualname,
                    subject=delta.unit.text(after.line),
                )
            break


def _blocks(body: tuple[Stmt, ...]) -> Iterator[tuple[Stmt, ...]]:
    yield body
    for stmt in body:
        match stmt:
            case If(then=then, orelse=orelse):
                yield from _blocks(then)
                yield from _blocks(orelse)
            case For(body=inner):
                yield from _blocks(inner)
            case With(body=inner, parts=parts, kind="with" | "try" | "block" | "lambda"):
                yield from _blocks(inner)
                for part in parts:
                    yield from _blocks(part)


def _does(stmt: Stmt) -> bool:
    """Whether a statement does something; `break` behind `return` of a `switch` is a habit."""
    return isinstance(stmt, Assign | If | For) or (
        isinstance(stmt, ExprStmt) and not isinstance(stmt.value, E.Const)
    )


def _generator(delta: ChangedFunction, body: tuple[Stmt, ...]) -> bool:
    return delta.python and has_word(delta.unit.text(body[0].line, body[-1].end_line), "yield")


def _uncalled(unit: SourceFile, base: SourceFile | None, change: ChangeSet) -> Iterator[Finding]:
    if unit.path.endswith((".h", ".hpp", ".cuh", ".hxx", ".inl")):
        return
    file = change.changed(unit.path)
    removed = (
        "\n".join(base.text(n) for n in sorted(file.base_lines()))
        if base is not None and file
        else ""
    )
    for function in unit.functions:
        new = change.touches(unit.path, function.start_line, function.start_line)
        if not _local(function) or not (new or has_word(removed, function.name)):
            continue
        if _named_elsewhere(function, unit) or _named_in_tree(function, unit, change):
            continue
        old = next(
            (f for f in (base.functions if base else ()) if f.qualname == function.qualname), None
        )
        if old is not None and base is not None and not _named_elsewhere(old, base):
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
        )


def _local(function: Function) -> bool:
    """A function that code of other files cannot or does not call: no kernel, no method, no operator."""
    marks = set(function.marks)
    inside = bool(marks & {"static", "__device__"}) and "__global__" not in marks
    return inside and not function.owner and not function.name.startswith("operator")


def _named_elsewhere(function: Function, unit: SourceFile) -> bool:
    """Whether the file names the function outside its own definition and outside declarations."""
    if len([f for f in unit.functions if f.name == function.name]) > 1:
        return True
    declared = {
        n
        for d in unit.declarations
        if d.name == function.name
        for n in range(d.line, d.end_line + 1)
    }
    for number, line in enumerate(unit.lines, 1):
        if function.name not in line or function.covers(number) or number in declared:
            continue
        if has_word(_COMMENT.sub("", line), function.name):
            return True
    return False


def _named_in_tree(function: Function, unit: SourceFile, change: ChangeSet) -> bool:
    """A file that includes this one may call what is not `static`."""
    if "static" in function.marks:
        stem = unit.path.rsplit("/", 1)[-1].split(".")[0]
        return any(_includes(h.text, unit) for h in change.head.find(stem))
    return any(path != unit.path for path in change.head.paths_containing(function.name))


def _includes(text: str, unit: SourceFile) -> bool:
    return text.lstrip().startswith("#") and unit.path.rsplit("/", 1)[-1] in text
