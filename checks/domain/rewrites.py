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
    "python": re.compile(r"\s+#[^'\"\n]*$", re.MULTILINE),
    "cpp": re.compile(r"\s*//[^'\"\n]*$", re.MULTILINE),
}
# A comment that was not cut off, or several statements on the lines of one.
_NOT_ONE_STATEMENT = re.compile(r"//|;|\bfor\b ?\(")
_OPENING = re.compile(r"^(\}? ?else )?(el)?(if|for) ?|[ {:]+$")
# Where a formatter broke a line inside of brackets.
_AFTER_BRACKET = re.compile(r"(?<=[\[({])\s*\n\s*")
_BEFORE_BRACKET = re.compile(r",?\s*\n\s*(?=[\]}])|\s*\n\s*(?=\))")
_BRACKETS = {")": "(", "]": "[", "}": "{"}

# What tells a statement of a function apart: its kind, and what it sets or counts.
_Key = tuple[str, str]
_CONDITION: _Key = ("condition", "")


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What one statement of `function` was and is now, as source text.

    `kind`: `value` (an assignment to `target`), `part` (a long one; the words that differ), `loop`
    (over `target`), `condition` (the only branch that changed), `new` (an assignment to a target
    that the function did not have before), `set` (to one that it had and did not set, such as a
    parameter), or `branch` (a condition that only one side has; the other is empty).
    `line` is where it stands in the head, or its function's where it is gone.
    """

    kind: str
    function: str
    target: str
    before: str
    after: str
    line: int


@dataclass(frozen=True, slots=True)
class _Changed:
    """Changed statements of one side: text and line of those that can be told apart, and the keys
    that several share."""

    alone: dict[_Key, tuple[str, int]]
    several: set[_Key]


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
        yield from _rewritten(new, before, after)
        yield from _newly_set(new, old, base, before, after)
        yield from _one_sided_branch(new, before, after)


def _rewritten(function: Function, before: _Changed, after: _Changed) -> Iterator[Rewrite]:
    for key, (new, line) in after.alone.items():
        old, _ = before.alone.get(key, (new, line))
        if old != new:
            yield from _quoted(key, function, old, new, line)


def _quoted(key: _Key, function: Function, old: str, new: str, line: int) -> Iterator[Rewrite]:
    """Both texts, or of longer ones the part in which they differ, where that is short enough."""
    kind, target = key
    name = function.qualname
    if max(len(old), len(new)) <= LONGEST_CODE:
        yield Rewrite(kind, name, target, old, new, line)
        return
    lost, gained = _difference(old, new)
    if kind == "value" and max(len(lost), len(gained)) <= LONGEST_CODE:
        yield Rewrite("part", name, target, lost, gained, line)


def _difference(old: str, new: str) -> tuple[str, str]:
    """What only the one text has and what only the other has, in whole words.

    Of a word that was only continued (`1])` as `1])[:4]`) it is the continuation.
    """
    old_words, new_words = old.split(), new.split()
    start = count_common_start(old_words, new_words)
    old_rest, new_rest = old_words[start:], new_words[start:]
    end = count_common_start(old_rest[::-1], new_rest[::-1])
    lost = " ".join(old_rest[: len(old_rest) - end])
    gained = " ".join(new_rest[: len(new_rest) - end])
    if lost and gained.startswith(lost) and not lost[-1].isalnum():
        return "", gained.removeprefix(lost)
    if gained and lost.startswith(gained) and not gained[-1].isalnum():
        return lost.removeprefix(gained), ""
    if lost.endswith(",") and gained.endswith(","):
        return lost[:-1], gained[:-1]
    return lost, gained


def _newly_set(
    function: Function, old: Function, base: SourceFile, before: _Changed, after: _Changed
) -> Iterator[Rewrite]:
    """Assignments to what the function did not set before, when it was `old`."""
    assigned = _assigned_keys(old, base)
    old_text = base.text(old.start_line, old.end_line)
    for key, (text, line) in after.alone.items():
        kind, target = key
        if kind != "value" or key in before.alone or key in assigned:
            continue
        if len(text) <= LONGEST_CODE:
            had_it = re.search(rf"(?<!\w){re.escape(target)}(?!\w)", old_text)
            yield Rewrite("set" if had_it else "new", function.qualname, target, "", text, line)


def _one_sided_branch(function: Function, before: _Changed, after: _Changed) -> Iterator[Rewrite]:
    """The only changed condition, where only one side has any."""
    if _CONDITION in before.several or _CONDITION in after.several:
        return
    if (_CONDITION in before.alone) == (_CONDITION in after.alone):
        return
    old, _ = before.alone.get(_CONDITION, ("", 0))
    new, line = after.alone.get(_CONDITION, ("", function.start_line))
    if len(old + new) <= LONGEST_CODE:
        yield Rewrite("branch", function.qualname, "", old, new, line)


def _functions_at(lines: set[int], unit: SourceFile) -> list[Function]:
    """The innermost function of each line, in source order."""
    functions: list[Function] = []
    for line in sorted(lines):
        function = unit.function_at(line)
        if function is not None and not any(function is known for known in functions):
            functions.append(function)
    return sorted(functions, key=lambda function: function.start_line)


def _changed_statements(function: Function, unit: SourceFile, lines: set[int]) -> _Changed:
    """The statements on changed lines, by what tells them apart."""
    keyed = []
    for guarded in guarded_statements(function.body):
        stmt = guarded.stmt
        if lines.isdisjoint(range(stmt.line, _header_end(stmt) + 1)):
            continue
        pair = _key_and_text(stmt, unit)
        if pair is not None:
            keyed.append((*pair, stmt.line))
    counts = Counter(key for key, _, _ in keyed)
    return _Changed(
        {key: (text, line) for key, text, line in keyed if counts[key] == 1},
        {key for key, count in counts.items() if count > 1},
    )


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
            return _quote_header(("loop", name), stmt, unit)
        case If():
            return _quote_header(_CONDITION, stmt, unit)
        case _:
            return None


def _quote_header(key: _Key, stmt: Stmt, unit: SourceFile) -> tuple[_Key, str] | None:
    """The key of a loop or branch with its header, where all of the header could be found."""
    text = _header(stmt, unit)
    return (key, text) if _is_balanced(text) else None


def _header_end(stmt: Stmt) -> int:
    """The last line of what is quoted: of a loop or branch the one before its body."""
    if not isinstance(stmt, For | If):
        return stmt.end_line
    body = stmt.body if isinstance(stmt, For) else stmt.then
    return max(stmt.line, body[0].line - 1) if body else stmt.line


def _header(stmt: Stmt, unit: SourceFile) -> str:
    """The statement's text on one line; of a loop or branch its header, without what opens it."""
    code = _COMMENT[unit.language].sub("", unit.text(stmt.line, _header_end(stmt)))
    code = _BEFORE_BRACKET.sub("", _AFTER_BRACKET.sub("", code))
    text = " ".join(code.split())
    if isinstance(stmt, For | If):
        return _without_outer_parentheses(_OPENING.sub("", text))
    return text.rstrip("; ")


def _is_balanced(text: str) -> bool:
    """Whether every bracket of `text` is closed."""
    opened: list[str] = []
    for char in text:
        if char in _BRACKETS.values():
            opened.append(char)
        elif char in _BRACKETS and (not opened or opened.pop() != _BRACKETS[char]):
            return False
    return not opened


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
