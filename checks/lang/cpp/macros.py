"""Macro calls that are no C++: those that take statements or types, and those without a `;`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lang.cpp.scan import blank

Blocks = dict[int, tuple[int, int]]

_CALL = re.compile(rb"\b(_*[A-Z](?:[A-Z0-9_]{2,}|[A-Z0-9]*_\w+))\s*\(")
_BRACKET = re.compile(rb"<<<|>>>|[()\[\]{};,]|(?<=\w)<(?=[\w:])|(?<![-<>\s=])>(?!=)")
_BRACE = re.compile(rb"[{};]")
_TYPES = (
    rb"(?:(?:unsigned|signed)\s+)?(?:bool|char|short|int|long|float|double|void|size_t|unsigned|signed"
    rb"|u?int(?:8|16|32|64)_t)"
)
_TYPE_ARGUMENT = re.compile(
    rb"(?<=[(,])(\s*)((?:const\s+)?(?:" + _TYPES + rb"|[\w:]+(?=(?:\s+const)?\s*[*&]))"
    rb"(?:\s+const)?(?:\s*[*&]+)?)(?=\s*[,)])"
)
_STATEMENT = re.compile(rb"\s*(?:switch|if|for|while|do|return)\b")
# Longer than any call; a scan of an unbalanced bracket must not cost the file's length each time.
_LONGEST = 60_000


@dataclass(slots=True)
class _Shape:
    """The arguments of a call: its commas, whether a statement is among them, one past its `)`."""

    commas: list[int]
    statement: bool
    closed: int


def mask_calls(plain: bytes, code: bytearray) -> Blocks:
    """Changes `code` in place; `plain` has no comments, strings or directives."""
    blocks: Blocks = {}
    # Nested calls are scanned once a level; brackets that never close must not make that quadratic.
    budget = 20 * len(plain) + 2_000_000
    for match in _CALL.finditer(plain):
        start, opened = match.start(), match.end()
        shape = _shape(plain, opened)
        budget -= shape.closed - opened if shape is not None else _LONGEST
        if budget < 0:
            break
        if shape is None:
            continue
        if shape.statement:
            _unwrap(plain, code, start, opened, shape, blocks)
        elif _lonely(plain, start, shape.closed):
            code[start : shape.closed] = blank(bytes(code[start : shape.closed]))
        else:
            for kind in _TYPE_ARGUMENT.finditer(plain, opened - 1, shape.closed):
                code[kind.start(2) : kind.end(2)] = _as_name(kind[2])
    return blocks


def _as_name(words: bytes) -> bytes:
    """A name as long as the type `words`, which may hold spaces."""
    return re.sub(rb"[ \t\r*&]", b"_", words[:1].upper() + words[1:])


def _shape(plain: bytes, opened: int) -> _Shape | None:
    """The call whose `(` ends at `opened`; None when its brackets do not match."""
    stack = [b"("]
    shape = _Shape([], bool(_STATEMENT.match(plain, opened)), 0)
    for match in _BRACKET.finditer(plain, opened, opened + _LONGEST):
        token = match[0]
        if token in (b"(", b"[", b"{", b"<", b"<<<"):
            if token == b"{" and len(stack) == 1 and _opens_block(plain, match.start()):
                shape.statement = True
            stack.append(token)
        elif token in (b">", b">>>"):
            _close_angles(stack, token)
        elif token in b")]}":
            _drop_angles(stack)
            if stack.pop() != {b")": b"(", b"]": b"[", b"}": b"{"}[token]:
                return None
            if not stack:
                shape.closed = match.end()
                return shape
        elif len(stack) == 1 and token == b",":
            shape.commas.append(match.start())
        elif token == b";":
            _drop_angles(stack)
            shape.statement = shape.statement or len(stack) == 1
    return None


def _close_angles(stack: list[bytes], token: bytes) -> None:
    if token == b">>>" and stack[-1] == b"<<<":
        stack.pop()
        return
    for _ in range(len(token)):
        if stack[-1] == b"<":
            stack.pop()


def _drop_angles(stack: list[bytes]) -> None:
    """A `<` that a bracket or a `;` follows before its `>` was a comparison."""
    while stack[-1] in (b"<", b"<<<"):
        stack.pop()


def _opens_block(plain: bytes, brace: int) -> bool:
    """Whether `{` is a macro's argument and holds statements (an initialiser list has no `;`)."""
    if plain[max(0, brace - 256) : brace].rstrip()[-1:] not in (b",", b"("):
        return False
    depth = 1
    for match in _BRACE.finditer(plain, brace + 1, brace + _LONGEST):
        if match[0] == b";":
            return True
        depth += 1 if match[0] == b"{" else -1
        if not depth:
            break
    return False


def _unwrap(
    plain: bytes, code: bytearray, start: int, opened: int, shape: _Shape, blocks: Blocks
) -> None:
    """Blank the macro's name, plain arguments and brackets; what stays are its statements."""
    code[start:opened] = blank(bytes(code[start:opened]))
    code[shape.closed - 1 : shape.closed] = b" "
    first = opened
    for stop in (*shape.commas, shape.closed - 1):
        argument = plain[first:stop]
        text = argument.strip()
        if b";" not in text and not _STATEMENT.match(text + b" "):
            code[first:stop] = blank(bytes(code[first:stop]))
        elif text[:1] == b"{":
            blocks[first + len(argument) - len(argument.lstrip())] = (start, shape.closed)
        code[stop : stop + 1] = b" "
        first = stop + 1


def _lonely(plain: bytes, start: int, closed: int) -> bool:
    """A call in the first column that no `;`, body or chain follows: it stands at file level."""
    if start and plain[start - 1 : start] != b"\n":
        return False
    line = plain[closed : closed + 2].lstrip(b"\r ")[:1]
    after = plain[closed : closed + 4096].lstrip()[:1]
    return line in (b"\n", b"") and after not in (b".", b"{", b";", b":", b"<", b"(", b"-")
