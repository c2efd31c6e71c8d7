"""`#if` that cuts a statement in two.

`#ifdef A` / `if (x)` / `#endif` / `f();` is no tree: the grammar wants whole statements in each arm, and a function
with such a cut can be lost to its end. Where a file does not parse, those conditionals are resolved: their longest
arm stays (the first of equals), the directives and the other arms are blanked, and the arms that went are reported
as lines that were not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from checks.lang.cpp.scan import blank

_DIRECTIVE = re.compile(
    rb"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b"
    rb"[^\n]*(?:(?:(?<=\\)|(?<=\\\r))\n[^\n]*)*",
    re.MULTILINE,
)
_ANY_DIRECTIVE = re.compile(rb"#[^\n]*(?:(?:(?<=\\)|(?<=\\\r))\n[^\n]*)*")
_BRACKET = re.compile(rb"[()\[\]{}]")
_PAIRS = {b")": b"(", b"]": b"[", b"}": b"{"}


@dataclass(slots=True)
class _Group:
    """One `#if` to its `#endif`: the spans of its directives, and of the arms between them."""

    directives: list[tuple[int, int]] = field(default_factory=list)

    @property
    def arms(self) -> list[tuple[int, int]]:
        ends = self.directives
        return [(ends[i][1], ends[i + 1][0]) for i in range(len(ends) - 1)]


def resolve(code: bytes, quiet: bytes) -> tuple[bytes, tuple[tuple[int, int], ...]]:
    """`code` with the conditionals that cut a statement resolved, and the byte spans of the arms that went."""
    result = bytearray(code)
    gone: list[tuple[int, int]] = []
    # Each level of nesting is looked at once more: a limit for what was written to be deep.
    budget = 20 * len(quiet)
    for group in _groups(quiet):
        budget -= group.directives[-1][1] - group.directives[0][0]
        if budget < 0:
            break
        if any(start <= group.directives[0][0] < end for start, end in gone) or not _cuts(
            quiet, group
        ):
            continue
        arms = group.arms
        kept = max(arms, key=lambda arm: len(quiet[slice(*arm)].split()))
        dropped = [arm for arm in arms if arm != kept]
        for start, end in (*group.directives, *dropped):
            result[start:end] = blank(bytes(result[start:end]))
        gone += [arm for arm in dropped if quiet[slice(*arm)].strip()]
    return bytes(result), tuple(gone)


def _groups(quiet: bytes) -> Iterator[_Group]:
    """Closed groups, outer before inner."""
    stack: list[_Group] = []
    closed: list[_Group] = []
    for match in _DIRECTIVE.finditer(quiet):
        word = match[1]
        if word.startswith(b"if"):
            stack.append(_Group())
        if stack:
            stack[-1].directives.append(match.span())
        if word == b"endif" and stack:
            closed.append(stack.pop())
    yield from sorted(closed, key=lambda group: group.directives[0][0])


def _cuts(quiet: bytes, group: _Group) -> bool:
    """Whether an arm begins or ends inside a statement, or opens what it does not close."""
    before = quiet[max(0, group.directives[0][0] - 4096) : group.directives[0][0]]
    lines = [line for line in before.split(b"\n") if not line.lstrip().startswith(b"#")]
    last = b"\n".join(lines).rstrip()[-1:]
    if last in (b",", b"(", b"=", b"+", b"|", b"&", b"?", b"<"):
        return True
    for start, end in group.arms:
        text = _ANY_DIRECTIVE.sub(lambda m: blank(m[0]), quiet[start:end]).strip()
        if text and (text[-1:] in (b")", b"=", b"|", b"&", b"+", b"<") or not _balanced(text)):
            return True
        if re.match(rb"else\b", text) or re.search(rb"\belse$", text):
            return True
    return False


def _balanced(text: bytes) -> bool:
    stack: list[bytes] = []
    for match in _BRACKET.finditer(text):
        if match[0] not in _PAIRS:
            stack.append(match[0])
        elif not stack or stack.pop() != _PAIRS[match[0]]:
            return False
    return not stack
