"""An `if` whose two branches are the same, so that its test decides nothing.

## What it does

Compares the two branches of every `if` on lines of the change. A fix that keeps one branch is
offered in Python where the test has no effect of its own.

## Why it matters

PaddlePaddle/FastDeploy#7180 swaps the same buffer in both branches of a test for the hardware: one
of them was to be another buffer.

## Example

```python
if on_gpu:
    swap(self.offsets, a, b)
else:
    swap(self.offsets, a, b)
```

## Known limits

Branches are compared as code, not by meaning; `if constexpr` is not judged. Where the test does not
ask for the hardware or the rank, it is for the pedantic persona: the branches are a place left for
tuning, or spelled out for the reader. Of six that were read on commits by chance, one was useful,
and it alone asked so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.code import equal_code
from checks.core.config import Config
from checks.core.finding import Confidence, Edit, Finding, Fix, Location, Message, Severity
from checks.domain.keys import asks_platform
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Define, If, Jump, Stmt, blocks
from checks.rules.kernel.dead_code import has_effect, leaves

ID = "kernel.same-branches"
# Everything in which two branches may differ and still be the same code.
_RANK = re.compile(r"(^|_)rank(_id|_idx)?$")
_SPELLING = re.compile(r"//[^\n]*|#[^\n]*|[\s{}]|else")


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        for guarded in changed.statements:
            stmt = guarded.stmt
            if not isinstance(stmt, If) or not _has_equal_branches(stmt):
                continue
            if not changed.touched(stmt.line, stmt.end_line) or _was_there(stmt, changed):
                continue
            # Without an `else` in the text, the branches come out of a macro or an expression.
            if "else" in changed.code and _reads_the_same(stmt, changed):
                yield _finding(stmt, changed)


def _has_equal_branches(stmt: If) -> bool:
    if not stmt.then or not stmt.orelse:
        return False
    return equal_code(stmt.then, stmt.orelse)


def _was_there(stmt: If, changed: ChangedFunction) -> bool:
    for guarded in changed.base_statements:
        if isinstance(guarded.stmt, If) and equal_code(stmt, guarded.stmt):
            return True
    return False


def _reads_the_same(stmt: If, changed: ChangedFunction) -> bool:
    """Whether the branches do something and are the same as written, not only in the tree.

    An instruction in a string, `await`, and the body of a function that is defined there are not in
    the tree.
    """
    if "constexpr" in changed.unit.text(stmt.line):
        return False
    if all(isinstance(s, Jump) and s.kind == "pass" for s in stmt.then):
        return False
    first = _without_spelling(stmt.then, changed)
    second = _without_spelling(stmt.orelse, changed)
    if first == second:
        return True
    if not changed.python or len(stmt.then) != 1 or isinstance(stmt.then[0], Define):
        return False
    return first.count("await") == second.count("await")


def _without_spelling(body: tuple[Stmt, ...], changed: ChangedFunction) -> str:
    return _SPELLING.sub("", changed.unit.text(body[0].line, body[-1].end_line))


def _finding(stmt: If, changed: ChangedFunction) -> Finding:
    text = changed.unit.text(stmt.line)
    lines = stmt.then[-1].end_line - stmt.then[0].line + 1
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=Location(changed.unit.path, stmt.line, stmt.end_line),
        message=Message("same-branches", {"test": text.strip().rstrip(":{ "), "lines": lines}),
        symbol=changed.head.qualname,
        subject=changed.unit.text(stmt.line, stmt.end_line),
        fix=_merge_branches(stmt, changed) if changed.python else None,
        pedantic=not _asks_where(stmt.test),
    )


def _asks_where(test: E.Expr) -> bool:
    """Whether a test asks on which hardware, or as which rank, the program runs: who asks so wants
    another thing to happen there."""
    names = [name.rsplit(".", 1)[-1] for name in E.names(test)]
    names += [part.name for part in E.walk(test) if isinstance(part, E.Attr)]
    return asks_platform((test,)) or any(map(_RANK.search, names))


def _merge_branches(stmt: If, changed: ChangedFunction) -> Fix | None:
    """The branch without its test, where the test does nothing itself."""
    unit = changed.unit
    if unit.text(stmt.line).lstrip().startswith("elif") or _calls_something(stmt.test):
        return None
    if _would_cut_off(stmt, changed):
        return None
    outer = _indent(unit.text(stmt.line))
    inner = _indent(unit.text(stmt.then[0].line))
    lines: list[str] = []
    for number in range(stmt.then[0].line, stmt.then[-1].end_line + 1):
        line = unit.text(number).rstrip("\r")
        # A line of a string may begin further left.
        lines.append(line[inner - outer :] if line[:inner].isspace() else line)
    return Fix((Edit(unit.path, stmt.line, stmt.end_line, tuple(lines)),))


def _would_cut_off(stmt: If, changed: ChangedFunction) -> bool:
    """Whether the branch leaves its block, so that without the test it cuts off what follows."""
    if not leaves(stmt.then[-1]):
        return False
    for body in blocks(changed.head.body):
        for statement, behind in pairwise(body):
            if statement is stmt:
                return has_effect(behind)
    return False


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _calls_something(test: E.Expr) -> bool:
    """Whether a test calls something that is more than a question (`is_cuda()`, `isinstance`)."""
    for e in E.walk(test):
        if isinstance(e, E.Call) and not E.callee(e).startswith(("is", "has", "get", "len")):
            return True
    return False
