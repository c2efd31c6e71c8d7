"""What a change does beyond its facts: which files change code at all, and which assignments give
another value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from checks.core.change import ChangeSet, FileChange
from checks.core.config import Config, matches
from checks.core.finding import Side
from checks.lang.ir.expr import Name
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, For, If, Stmt, guarded_statements
from checks.lang.source import language

Key = tuple[str, str]

LONGEST_CODE = 120
"""Longer source is not quoted in a description."""
_NOTE = {
    "python": re.compile(r"\s+#[^'\"]*$", re.MULTILINE),
    "cpp": re.compile(r"\s*//[^'\"]*$", re.MULTILINE),
}
_SEVERAL = re.compile(r"//|;|\bfor\b ?\(")
_OPENING = re.compile(r"^(\}? ?else )?(el)?(if|for) ?|[ {:]+$")


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What one statement of `function` was and is now, as source text.

    `kind`: `value` (an assignment to `target`), `part` (a long one; the words that differ), `loop`
    (over `target`), `condition` (the only branch that changed), `new` (an assignment to a target
    that was not set before), or `branch` (a condition that only one side has; the other is empty).
    """

    kind: str
    function: str
    target: str
    before: str
    after: str


def is_source(path: str, config: Config) -> bool:
    """Whether `path` is product code: a language that is read, under `paths.sources`, and no
    test.
    """
    return bool(language(path)) and matches(path, config.paths.sources) and not config.is_test(path)


def changed_sources(change: ChangeSet, config: Config) -> list[FileChange]:
    """Product code in which more than comments and blank lines changed."""
    return [f for f in change.files if is_source(f.path, config) and _does_something(change, f)]


def changed_tests(change: ChangeSet, config: Config) -> list[FileChange]:
    """Test code added or changed; a deleted test tests nothing."""
    return [
        f
        for f in change.files
        if config.is_test(f.path) and f.status != "D" and _does_something(change, f)
    ]


def _does_something(change: ChangeSet, file: FileChange) -> bool:
    """Whether a changed line is code, as far as the file was parsed. A rename alone does
    nothing.
    """
    if file.mode != "file" or (not file.hunks and not file.binary):
        return False
    sides = (
        (Side.HEAD, file.head_path, file.head_lines()),
        (Side.BASE, file.base_path, file.base_lines()),
    )
    return any(
        path is not None and _has_code(change.unit(path, side), lines)
        for side, path, lines in sides
    )


def _has_code(unit: SourceFile | None, lines: set[int]) -> bool:
    if unit is None:
        return bool(lines)
    noted = {n for c in unit.comments for n in range(c.line, c.end_line + 1)}
    return any(not _is_idle(unit, n, noted) for n in lines)


def _is_idle(unit: SourceFile, line: int, noted: set[int]) -> bool:
    text = unit.text(line).strip()
    marks = ("#",) if unit.language == "python" else ("//", "/*", "*")
    return not text or (line in noted and text.startswith(marks))


def rewrites(change: ChangeSet, file: FileChange) -> Iterator[Rewrite]:
    """Statements that changed on both sides and can be told apart from all others of their function;
    in each function what was rewritten before what is new.
    """
    if file.head_path is None or file.base_path is None or file.mode != "file":
        return
    head, base = change.unit(file.head_path), change.unit(file.base_path, Side.BASE)
    if head is None or base is None:
        return
    old = {f.qualname: f for f in base.functions}
    for after in _touched(head, file.head_lines()):
        before = old.get(after.qualname)
        if before is not None and before.clean and after.clean:
            had = _statements(before, base, file.base_lines())
            has = _statements(after, head, file.head_lines())
            yield from _compared(after.qualname, had, has, partial(_targets, before, base))


def _compared(
    function: str, had: dict[Key, str], has: dict[Key, str], set_before: Callable[[], set[Key]]
) -> Iterator[Rewrite]:
    for (kind, target), after in has.items():
        before = had.get((kind, target), after)
        if before != after:
            yield from _rewrite(kind, function, target, before, after)
    new = [
        (k, text)
        for k, text in has.items()
        if k[0] == "value" and k not in had and len(text) <= LONGEST_CODE
    ]
    known = set_before() if new else set()
    for key, after in new:
        if key not in known:
            yield Rewrite("new", function, key[1], "", after)
    branch = ("condition", "")
    before, after = had.get(branch, ""), has.get(branch, "")
    if (branch in had) != (branch in has) and len(before + after) <= LONGEST_CODE:
        yield Rewrite("branch", function, "", before, after)


def _rewrite(kind: str, function: str, target: str, before: str, after: str) -> Iterator[Rewrite]:
    """Both texts, or of longer ones the part in which they differ, where that is short enough."""
    if max(len(before), len(after)) <= LONGEST_CODE:
        yield Rewrite(kind, function, target, before, after)
        return
    old, new = before.split(), after.split()
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    lost, gained = " ".join(old[start : len(old) - end]), " ".join(new[start : len(new) - end])
    if kind == "value" and max(len(lost), len(gained)) <= LONGEST_CODE:
        yield Rewrite("part", function, target, lost, gained)


def _common(one: list[str], other: list[str]) -> int:
    """How many first words are the same."""
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _touched(unit: SourceFile, lines: set[int]) -> list[Function]:
    """The innermost function of each line, in source order."""
    found = {id(f): f for n in sorted(lines) if (f := unit.function_at(n)) is not None}
    return sorted(found.values(), key=lambda f: f.start_line)


def _statements(function: Function, unit: SourceFile, lines: set[int]) -> dict[Key, str]:
    """The changed statements that have a key of their own."""
    body = (g.stmt for g in guarded_statements(function.body))
    changed = (s for s in body if not lines.isdisjoint(range(s.line, _header_end(s) + 1)))
    found = [pair for stmt in changed if (pair := _keyed(stmt, unit)) is not None]
    keys = [key for key, _ in found]
    return {key: text for key, text in found if keys.count(key) == 1}


def _targets(function: Function, unit: SourceFile) -> set[Key]:
    """The keys of all assignments."""
    body = (g.stmt for g in guarded_statements(function.body))
    found = (_keyed(s, unit) for s in body if isinstance(s, Assign))
    return {pair[0] for pair in found if pair is not None}


def _keyed(stmt: Stmt, unit: SourceFile) -> tuple[Key, str] | None:
    """What tells an assignment, a counted loop or a branch apart, and its text."""
    match stmt:
        case Assign(op="=", value=value) if value is not None:
            text = _header(unit, stmt)
            target, equals, right = text.partition(" = ")
            return (
                (("value", target), _bare(right)) if equals and not _SEVERAL.search(text) else None
            )
        case For(target=Name(id=name)):
            return ("loop", name), _header(unit, stmt)
        case If():
            return ("condition", ""), _header(unit, stmt)
        case _:
            return None


def _header_end(stmt: Stmt) -> int:
    return stmt.line if isinstance(stmt, For | If) else stmt.end_line


def _header(unit: SourceFile, stmt: Stmt) -> str:
    """The statement's text on one line; of a loop or branch its first line, without what opens it."""
    note = _NOTE[unit.language]
    text = " ".join(note.sub("", unit.text(stmt.line, _header_end(stmt))).split())
    return _bare(_OPENING.sub("", text)) if isinstance(stmt, For | If) else text.rstrip("; ")


def _bare(text: str) -> str:
    """`text` without parentheses around all of it."""
    depth = 0
    for n, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0 and n < len(text) - 1:
            return text
    return text[1:-1].strip() if text.startswith("(") and depth == 0 else text
