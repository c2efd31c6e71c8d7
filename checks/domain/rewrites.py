"""Which single statements a change rewrote, as source text before and after."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet, FileChange
from checks.core.finding import Side
from checks.core.sequences import count_common_start
from checks.lang.ir.expr import Name
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, For, If, Stmt, guarded_statements

LONGEST_CODE = 120
"""Longer source is not quoted in a description."""

_COMMENT = {
    "python": re.compile(r"\s+#[^'\"]*$", re.MULTILINE),
    "cpp": re.compile(r"\s*//[^'\"]*$", re.MULTILINE),
}
# A comment that was not cut off, or several statements on the lines of one.
_NOT_ONE_STATEMENT = re.compile(r"//|;|\bfor\b ?\(")
_OPENING = re.compile(r"^(\}? ?else )?(el)?(if|for) ?|[ {:]+$")

# What tells a statement of a function apart: its kind, and what it sets or counts.
_Key = tuple[str, str]
_CONDITION: _Key = ("condition", "")


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


def find_rewrites(change: ChangeSet, file: FileChange) -> Iterator[Rewrite]:
    """Statements that changed on both sides and can be told apart from all others of their
    function; in each function what was rewritten before what is new."""
    if file.head_path is None or file.base_path is None or file.mode != "file":
        return
    head, base = change.unit(file.head_path), change.unit(file.base_path, Side.BASE)
    if head is None or base is None:
        return
    old_functions = {function.qualname: function for function in base.functions}
    for new in _functions_at(file.head_lines(), head):
        old = old_functions.get(new.qualname)
        if old is None or not old.clean or not new.clean:
            continue
        before = _changed_statements(old, base, file.base_lines())
        after = _changed_statements(new, head, file.head_lines())
        yield from _rewritten(new.qualname, before, after)
        yield from _newly_set(new.qualname, before, after, _assigned_keys(old, base))
        yield from _one_sided_branch(new.qualname, before, after)


def _rewritten(function: str, before: dict[_Key, str], after: dict[_Key, str]) -> Iterator[Rewrite]:
    for key, new in after.items():
        old = before.get(key, new)
        if old != new:
            yield from _quoted(key, function, old, new)


def _quoted(key: _Key, function: str, old: str, new: str) -> Iterator[Rewrite]:
    """Both texts, or of longer ones the part in which they differ, where that is short enough."""
    kind, target = key
    if max(len(old), len(new)) <= LONGEST_CODE:
        yield Rewrite(kind, function, target, old, new)
        return
    old_words, new_words = old.split(), new.split()
    start = count_common_start(old_words, new_words)
    old_rest, new_rest = old_words[start:], new_words[start:]
    end = count_common_start(old_rest[::-1], new_rest[::-1])
    lost = " ".join(old_rest[: len(old_rest) - end])
    gained = " ".join(new_rest[: len(new_rest) - end])
    if kind == "value" and max(len(lost), len(gained)) <= LONGEST_CODE:
        yield Rewrite("part", function, target, lost, gained)


def _newly_set(
    function: str, before: dict[_Key, str], after: dict[_Key, str], assigned: set[_Key]
) -> Iterator[Rewrite]:
    """Assignments to what the function did not set before."""
    for key, text in after.items():
        kind, target = key
        if kind != "value" or key in before or key in assigned:
            continue
        if len(text) <= LONGEST_CODE:
            yield Rewrite("new", function, target, "", text)


def _one_sided_branch(
    function: str, before: dict[_Key, str], after: dict[_Key, str]
) -> Iterator[Rewrite]:
    """The only changed condition, where only one side has one."""
    if (_CONDITION in before) == (_CONDITION in after):
        return
    old, new = before.get(_CONDITION, ""), after.get(_CONDITION, "")
    if len(old + new) <= LONGEST_CODE:
        yield Rewrite("branch", function, "", old, new)


def _functions_at(lines: set[int], unit: SourceFile) -> list[Function]:
    """The innermost function of each line, in source order."""
    functions: list[Function] = []
    for line in sorted(lines):
        function = unit.function_at(line)
        if function is not None and not any(function is known for known in functions):
            functions.append(function)
    return sorted(functions, key=lambda function: function.start_line)


def _changed_statements(function: Function, unit: SourceFile, lines: set[int]) -> dict[_Key, str]:
    """The statements on changed lines, by a key that no other changed one has."""
    keyed = []
    for guarded in guarded_statements(function.body):
        stmt = guarded.stmt
        if lines.isdisjoint(range(stmt.line, _header_end(stmt) + 1)):
            continue
        pair = _key_and_text(stmt, unit)
        if pair is not None:
            keyed.append(pair)
    counts = Counter(key for key, _ in keyed)
    return {key: text for key, text in keyed if counts[key] == 1}


def _assigned_keys(function: Function, unit: SourceFile) -> set[_Key]:
    """The keys of all assignments."""
    keys = set()
    for guarded in guarded_statements(function.body):
        if isinstance(guarded.stmt, Assign):
            pair = _key_and_text(guarded.stmt, unit)
            if pair is not None:
                keys.add(pair[0])
    return keys


def _key_and_text(stmt: Stmt, unit: SourceFile) -> tuple[_Key, str] | None:
    """What tells an assignment, a counted loop or a branch apart, and its text."""
    match stmt:
        case Assign(op="=", value=value) if value is not None:
            text = _header(stmt, unit)
            target, equals, right = text.partition(" = ")
            if not equals or _NOT_ONE_STATEMENT.search(text):
                return None
            return ("value", target), _without_outer_parentheses(right)
        case For(target=Name(id=name)):
            return ("loop", name), _header(stmt, unit)
        case If():
            return _CONDITION, _header(stmt, unit)
        case _:
            return None


def _header_end(stmt: Stmt) -> int:
    return stmt.line if isinstance(stmt, For | If) else stmt.end_line


def _header(stmt: Stmt, unit: SourceFile) -> str:
    """The statement's text on one line; of a loop or branch its first line, without what opens
    it."""
    code = _COMMENT[unit.language].sub("", unit.text(stmt.line, _header_end(stmt)))
    text = " ".join(code.split())
    if isinstance(stmt, For | If):
        return _without_outer_parentheses(_OPENING.sub("", text))
    return text.rstrip("; ")


def _without_outer_parentheses(text: str) -> str:
    """`text` without parentheses around all of it: `a + b` for `(a + b)`, not for `(a) + (b)`."""
    if not text.startswith("("):
        return text
    depth = 0
    for position, char in enumerate(text):
        if char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        is_last = position == len(text) - 1
        if depth == 0:
            return text[1:-1].strip() if is_last else text
    return text
