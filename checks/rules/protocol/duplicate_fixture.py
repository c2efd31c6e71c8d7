"""A copy of a fixture that the change rewrote keeps the old form.

## What it does

Where the change rewrote an assignment in a test, for a value that an altered line of the code under
test names, it looks in the other tests of the same folder for the line as it was. A copy whose
value goes to other functions than the rewritten one is left out, and so is one in a test that
imports none of the altered modules where the rewritten test does. A value that the rewritten test
now makes in two steps is no other value, and a line that the rewritten file keeps in other tests is
still right. Several old lines of one copied function are one finding.

## Why it matters

Tests of one folder are often copied from one another. When an op reads two numbers a token instead
of one, one test is rewritten in the pull request and its copy fails, or passes on wrong data.

## Example

```python
self.mask_offset = np.full(self.seq_len * 2, 0, "int32")   # test_attention.py: was `self.seq_len`
self.mask_offset = np.full(self.seq_len, 0, "int32")       # test_attention_output.py: left behind
```

## Known limits

Only copies of a whole line count, and only tests that the change did not touch. Whether the copy
really feeds the altered code is not followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from checks.core.change import ChangeSet, FileChange
from checks.core.code import equal_code
from checks.core.config import Config
from checks.core.finding import (
    Confidence,
    Definition,
    Finding,
    Location,
    Message,
    Related,
    Severity,
)
from checks.core.words import find_word
from checks.domain.ops import calls_of
from checks.domain.source_search import imports_from
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, guarded_statements
from checks.lang.source import language

ID = "protocol.duplicate-fixture"

# A shorter line, such as `batch_size = 4`, is the same in many tests by chance.
_SHORTEST = 24
_WORD = re.compile(r"[A-Za-z_]\w{3,}")


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each function that has copies of rewritten fixture lines."""
    yield from _once_a_function(_findings(change, config))


def _once_a_function(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings, with those of one function joined: they were copied together."""
    joined: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        place = finding.location.path, finding.symbol
        first = joined.setdefault(place, finding)
        if first is not finding:
            lines = Related(finding.location, Message("twin-too", {})), *finding.related
            joined[place] = replace(first, related=(*first.related, *lines))
    yield from joined.values()


def _findings(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """A finding for each copy of a rewritten fixture line."""
    tests = []
    for file in change.files:
        if file.head_path and config.is_test(file.path) and language(file.path) == "python":
            tests.append(file)
    words = _altered_words(change, config) if tests else set()
    if not words:
        return
    for file in tests:
        for line, name, place in _rewritten_fixtures(file, change, words):
            yield from _copies(line, name, place, change, config)


def _altered_words(change: ChangeSet, config: Config) -> set[str]:
    """Every name on the altered lines of the code under test."""
    words: set[str] = set()
    for file in change.files:
        if config.is_test(file.path) or not language(file.path) or file.head_path is None:
            continue
        unit = change.unit(file.head_path)
        if unit is None:
            continue
        for line in file.head_lines():
            if line <= len(unit.lines):
                words.update(_WORD.findall(unit.lines[line - 1]))
    return words


def _rewritten_fixtures(
    file: FileChange, change: ChangeSet, words: set[str]
) -> Iterator[tuple[str, str, Location]]:
    """(old line, name, place of the new form) of each fixture that the change rewrote in a file."""
    old = change.base_unit(file)
    new = change.head_unit(file)
    if old is None or new is None:
        return
    removed = file.base_lines()
    seen: set[str] = set()
    for function in old.functions:
        if removed.isdisjoint(range(function.start_line, function.end_line + 1)):
            continue
        for stmt in _fixtures(function):
            text = old.excerpt(stmt.line)
            name = _last_name(stmt.target)
            if stmt.line != stmt.end_line or stmt.line not in removed or len(text) < _SHORTEST:
                continue
            if name not in words or text in seen:
                continue
            seen.add(text)
            if any(line.strip() == text for line in new.lines):
                continue
            for place in _new_forms(stmt, name, function, (old, new), change):
                yield text, name, place


def _new_forms(
    before: Assign,
    name: str,
    function: Function,
    units: tuple[SourceFile, SourceFile],
    change: ChangeSet,
) -> Iterator[Location]:
    """Where the head's version of `function` sets `name` on a changed line, and the line of
    `before` is gone."""
    old, new = units
    text = old.excerpt(before.line)
    for rewritten in new.named(function.qualname):
        if text in new.text_of(rewritten):
            continue
        for stmt in _fixtures(rewritten):
            is_changed = change.touches(new.path, stmt.line, stmt.line)
            if _last_name(stmt.target) == name and is_changed:
                if not _is_first_step(stmt, before):
                    yield Location(new.path, stmt.line)
                break


def _is_first_step(now: Assign, before: Assign) -> bool:
    """Whether `now` makes the value without the last call, which then stands on a line of its own:
    `x = rand(n)` where `x = rand(n).npu()` was."""
    match before.value:
        case E.Call(func=E.Attr(base=first)):
            return equal_code(now.value, first)
        case _:
            return False


def _fixtures(function: Function) -> Iterator[Assign]:
    """Assignments that build a value with a call or write an element."""
    for guarded in guarded_statements(function.body):
        stmt = guarded.stmt
        if not isinstance(stmt, Assign) or stmt.value is None:
            continue
        if isinstance(stmt.value, E.Call) or isinstance(stmt.target, E.Index):
            yield stmt


def _last_name(expr: E.Expr) -> str:
    """`mask_offset` for `mask_offset`, `self.mask_offset` and `self.mask_offset[0]`."""
    while isinstance(expr, E.Index):
        expr = expr.base
    name = E.dotted(expr) or E.root(expr) or ""
    return name.rsplit(".", 1)[-1]


def _copies(
    line: str, name: str, new: Location, change: ChangeSet, config: Config
) -> Iterator[Finding]:
    """A finding for each other test of the folder that has `line`."""
    unit = change.unit(new.path)
    excerpt = ""
    receivers: set[str] = set()
    if unit is not None:
        excerpt = unit.excerpt(new.start_line)
        receivers = _functions_given(name, unit.function_at(new.start_line))
    rewritten = Definition(name, new, excerpt)
    for path in _other_tests_of_folder(new.path, change, config):
        lines = _lines_equal_to(line, name, path, change)
        if not lines:
            continue
        copy = change.unit(path)
        if unit is not None and copy is not None and _tests_other_code(copy, unit, change, config):
            continue
        function = copy.function_at(lines[0]) if copy is not None else None
        receivers_of_copy = _functions_given(name, function)
        if receivers and receivers_of_copy and receivers.isdisjoint(receivers_of_copy):
            continue
        places = [Location(path, number) for number in lines]
        yield _finding(line, rewritten, places, function)


def _tests_other_code(
    copy: SourceFile, rewritten: SourceFile, change: ChangeSet, config: Config
) -> bool:
    """Whether the rewritten test imports an altered module, and the copy imports none of these."""
    altered = [file.path for file in change.files if not config.is_test(file.path)]
    tested = [path for path in altered if imports_from(path, rewritten)]
    return bool(tested) and not any(imports_from(path, copy) for path in tested)


def _lines_equal_to(line: str, name: str, path: str, change: ChangeSet) -> list[int]:
    hits = find_word(change.head.read(path) or b"", name)
    return [number for number, text in hits if text.strip() == line]


def _other_tests_of_folder(path: str, change: ChangeSet, config: Config) -> Iterator[str]:
    """The tests beside `path` that the change left alone."""
    folder = path.rpartition("/")[0]
    for other in change.head.paths():
        if other == path or other.rpartition("/")[0] != folder:
            continue
        if language(other) and config.is_test(other) and change.changed(other) is None:
            yield other


def _functions_given(name: str, function: Function | None) -> set[str]:
    """What `function` calls with `name` for an argument."""
    if function is None:
        return set()
    callees: set[str] = set()
    for call, _ in calls_of(function.body):
        for value in (*call.args, *(value for _, value in call.keywords)):
            if isinstance(value, E.Name | E.Attr) and _last_name(value) == name:
                callees.add(E.callee(call))
    return callees


def _finding(
    line: str, rewritten: Definition, copies: list[Location], function: Function | None
) -> Finding:
    name = rewritten.name
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.MEDIUM,
        location=copies[0],
        message=Message("twin", {"name": name, "at": rewritten.location}),
        symbol=function.qualname if function is not None else "",
        subject=line,
        evidence=(rewritten, Definition(name, copies[0], line)),
        related=tuple(Related(copy, Message("twin-too", {})) for copy in copies[1:]),
    )
