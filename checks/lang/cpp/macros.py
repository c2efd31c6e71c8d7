"""Macro calls that are no C++: those that take statements or types, and those without a `;`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.lang.cpp.scan import blank

# Where a block begins that is a macro's argument -> the span of the macro's call.
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


_OPENING = {b")": b"(", b"]": b"[", b"}": b"{"}


@dataclass(slots=True)
class _MacroCall:
    """A call, as byte offsets.

    It starts at `start`; its arguments begin at `opened` and end before `closed`, which is one past
    its `)`; `commas` are between them. `takes_statement` says that a statement is among them.
    """

    start: int
    opened: int
    closed: int
    commas: list[int]
    takes_statement: bool


def mask_calls(plain: bytes, code: bytearray) -> Blocks:
    """Changes `code` in place; `plain` has no comments, strings or directives."""
    blocks: Blocks = {}
    # Nested calls are scanned once a level; brackets that never close must not make that quadratic.
    budget = 20 * len(plain) + 2_000_000
    for match in _CALL.finditer(plain):
        call = _read_call(plain, match.start(), match.end())
        budget -= call.closed - call.opened if call is not None else _LONGEST
        if budget < 0:
            break
        if call is None:
            continue
        if call.takes_statement:
            _keep_statements(plain, code, call, blocks)
        elif _stands_alone(plain, call):
            _blank_in(code, call.start, call.closed)
        else:
            for kind in _TYPE_ARGUMENT.finditer(plain, call.opened - 1, call.closed):
                code[kind.start(2) : kind.end(2)] = _as_name(kind[2])
    return blocks


def _blank_in(code: bytearray, start: int, stop: int) -> None:
    code[start:stop] = blank(bytes(code[start:stop]))


def _as_name(words: bytes) -> bytes:
    """A name as long as the type `words`, which may hold spaces."""
    return re.sub(rb"[ \t\r*&]", b"_", words[:1].upper() + words[1:])


def _read_call(plain: bytes, start: int, opened: int) -> _MacroCall | None:
    """The call whose `(` ends at `opened`; None when its brackets do not match."""
    brackets = [b"("]
    commas: list[int] = []
    takes_statement = _STATEMENT.match(plain, opened) is not None
    for match in _BRACKET.finditer(plain, opened, opened + _LONGEST):
        token = match[0]
        is_argument = len(brackets) == 1
        if token in (b"(", b"[", b"{", b"<", b"<<<"):
            if token == b"{" and is_argument and _opens_block(plain, match.start()):
                takes_statement = True
            brackets.append(token)
        elif token in (b">", b">>>"):
            _close_angles(brackets, token)
        elif token in _OPENING:
            _drop_angles(brackets)
            if brackets.pop() != _OPENING[token]:
                return None
            if not brackets:
                return _MacroCall(start, opened, match.end(), commas, takes_statement)
        elif token == b"," and is_argument:
            commas.append(match.start())
        elif token == b";":
            _drop_angles(brackets)
            takes_statement = takes_statement or len(brackets) == 1
    return None


def _close_angles(brackets: list[bytes], token: bytes) -> None:
    """`>>>` ends a kernel launch, or up to three template argument lists."""
    if token == b">>>" and brackets[-1] == b"<<<":
        brackets.pop()
        return
    for _ in range(len(token)):
        if brackets[-1] == b"<":
            brackets.pop()


def _drop_angles(brackets: list[bytes]) -> None:
    """A `<` that a bracket or a `;` follows before its `>` was a comparison."""
    while brackets[-1] in (b"<", b"<<<"):
        brackets.pop()


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


def _keep_statements(plain: bytes, code: bytearray, call: _MacroCall, blocks: Blocks) -> None:
    """Blank the macro's name, plain arguments and brackets; what stays are its statements."""
    _blank_in(code, call.start, call.opened)
    end = call.closed - 1
    first = call.opened
    for stop in (*call.commas, end):
        argument = plain[first:stop]
        text = argument.strip()
        is_statement = b";" in text or _STATEMENT.match(text + b" ") is not None
        if not is_statement:
            _blank_in(code, first, stop)
        elif text.startswith(b"{"):
            brace = first + len(argument) - len(argument.lstrip())
            blocks[brace] = (call.start, call.closed)
        # The comma behind the argument, or the `)`.
        code[stop : stop + 1] = b" "
        first = stop + 1


def _stands_alone(plain: bytes, call: _MacroCall) -> bool:
    """A call in the first column that no `;`, body or chain follows: it stands at file level."""
    if call.start and plain[call.start - 1 : call.start] != b"\n":
        return False
    behind = plain[call.closed : call.closed + 2].lstrip(b"\r ")[:1]
    after = plain[call.closed : call.closed + 4096].lstrip()[:1]
    return behind in (b"\n", b"") and after not in (b".", b"{", b";", b":", b"<", b"(", b"-")
