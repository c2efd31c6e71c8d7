"""`#if` that cuts a statement in two.

`#ifdef A` / `if (x)` / `#endif` / `f();` is no tree: the grammar wants whole statements in each
arm, and a function with such a cut can be lost to its end. Where a file does not parse, those
conditionals are resolved: their longest arm stays (the first of equals), the directives and the
other arms are blanked, and the arms that went are reported as lines that were not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from checks.lang.cpp.scan import blank

_DIRECTIVE = re.compile(
    rb"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b"
    rb"[^\n]*(?:(?:(?<=\\)|(?<=\\\r))\n[^\n]*)*",
    re.MULTILINE,
)
_ANY_DIRECTIVE = re.compile(rb"#[^\n]*(?:(?:(?<=\\)|(?<=\\\r))\n[^\n]*)*")
_BRACKET = re.compile(rb"[()\[\]{}]")
_PAIRS = {b")": b"(", b"]": b"[", b"}": b"{"}
_ELSE_AT_EDGE = re.compile(rb"\Aelse\b|\belse\Z")
# Bytes before an `#if` that are looked through for the end of the code there.
_LONGEST_GAP = 4096

# The first byte, and the one after the last.
Span = tuple[int, int]


@dataclass(slots=True)
class _Conditional:
    """One `#if` to its `#endif`: the spans of its directives, and of the arms between them."""

    directives: list[Span] = field(default_factory=list)

    @property
    def start(self) -> int:
        return self.directives[0][0]

    @property
    def end(self) -> int:
        return self.directives[-1][1]

    @property
    def arms(self) -> list[Span]:
        return [(before[1], after[0]) for before, after in pairwise(self.directives)]


def resolve(code: bytes, quiet: bytes) -> tuple[bytes, tuple[Span, ...]]:
    """`code` with the conditionals that cut a statement resolved, and the byte spans of the arms
    that went.
    """
    result = bytearray(code)
    dropped: list[Span] = []
    # Each level of nesting is looked at once more: a limit for what was written to be deep.
    budget = 20 * len(quiet)
    for group in _groups(quiet):
        budget -= group.end - group.start
        if budget < 0:
            break
        in_dropped_arm = any(start <= group.start < end for start, end in dropped)
        if in_dropped_arm or not _cuts_statement(quiet, group):
            continue
        longest = max(group.arms, key=lambda arm: _word_count(quiet, arm))
        others = [arm for arm in group.arms if arm != longest]
        for start, end in (*group.directives, *others):
            result[start:end] = blank(bytes(result[start:end]))
        dropped += [arm for arm in others if _word_count(quiet, arm) > 0]
    return bytes(result), tuple(dropped)


def _word_count(quiet: bytes, arm: Span) -> int:
    start, end = arm
    return len(quiet[start:end].split())


def _groups(quiet: bytes) -> Iterator[_Conditional]:
    """Closed groups, outer before inner."""
    opened: list[_Conditional] = []
    closed: list[_Conditional] = []
    for match in _DIRECTIVE.finditer(quiet):
        word = match[1]
        if word.startswith(b"if"):
            opened.append(_Conditional())
        if not opened:
            continue
        opened[-1].directives.append(match.span())
        if word == b"endif":
            closed.append(opened.pop())
    yield from sorted(closed, key=lambda group: group.start)


def _cuts_statement(quiet: bytes, group: _Conditional) -> bool:
    """Whether an arm begins or ends inside a statement, or opens what it does not close."""
    before = quiet[max(0, group.start - _LONGEST_GAP) : group.start]
    lines = [line for line in before.split(b"\n") if not line.lstrip().startswith(b"#")]
    if b"\n".join(lines).rstrip().endswith((b",", b"(", b"=", b"+", b"|", b"&", b"?", b"<")):
        return True
    for start, end in group.arms:
        arm = _ANY_DIRECTIVE.sub(lambda match: blank(match[0]), quiet[start:end]).strip()
        if arm.endswith((b")", b"=", b"|", b"&", b"+", b"<")) or not _balanced(arm):
            return True
        if _ELSE_AT_EDGE.search(arm) is not None:
            return True
    return False


def _balanced(text: bytes) -> bool:
    """Whether every bracket is closed, in order."""
    opened: list[bytes] = []
    for match in _BRACKET.finditer(text):
        bracket = match[0]
        if bracket not in _PAIRS:
            opened.append(bracket)
        elif not opened or opened.pop() != _PAIRS[bracket]:
            return False
    return not opened
