"""Blank what the grammar cannot read, in place: no byte moves, so every position stays true.

Blanked are attribute macros (launch bounds, visibility, inlining, alignment, address spaces), the frame of macros
that take statements (`DISPATCH(x, { ... })` leaves its block), and macros called at file level without a `;`.
A built-in type passed to a macro (`CHECK_PTR(ctx, int, n, p)`) is no C++ expression: its first letter is raised,
which makes it a name. The grammar's missing pieces were measured on public speculative-decoding kernels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from checks.cpp.scan import Scan, blank, scan

_WITH_ARGUMENTS = (
    rb"(?:\w*LAUNCH_BOUNDS\w*|__launch_bounds__|__cluster_dims__|__block_size__|__maxnreg__|__align__"
    rb"|alignas|__attribute__|__declspec)\s*\("
)
_WORDS = (
    rb"(?:__grid_constant__|__simd__|__forceinline|__group_shared__|__cluster_shared__"
    rb"|_{1,2}(?:global|shared|local|group_shared|cluster_shared)_ptr_{1,2}"
    rb"|\w*(?:FORCE_?INLINE|ALWAYS_INLINE|NOINLINE|DINLINE|_INLINE|HOST_?DEVICE|CUTLASS_DEVICE|CUTLASS_GLOBAL"
    rb"|_DEVICE_FUNC\w*|DLL_EXPORT|DLLEXPORT|_EXPORT|PADDLE_API|TORCH_API|C10_API|_UNROLL\w*|_NO_UNROLL"
    rb"|MAYBE_UNUSED)|INLINE|UNROLL\w*)\b(?!\s*[(=,;)\]])"
)
_ATTRIBUTE = re.compile(rb"\b(?:" + _WITH_ARGUMENTS + rb"|" + _WORDS + rb")")
_LOCAL = re.compile(
    rb"^[ \t]*#[ \t]*define[ \t]+([A-Z_]\w*)[ \t]+((?:__\w+__(?:\(\([^()\n]*\)\))?|static|inline|extern"
    rb"|__forceinline|_Pragma\([^\n]*\))[ \t]*)+(?:\r?$|//|/\*)",
    re.MULTILINE,
)
_DIRECTIVE = re.compile(rb"^[ \t]*#[^\n]*(?:(?<=\\)\n[^\n]*|(?<=\\\r)\n[^\n]*)*", re.MULTILINE)
_CALL = re.compile(rb"\b(_*[A-Z][A-Z0-9_]{2,})\s*\(")
_BRACKET = re.compile(rb"[()\[\]{};,]|(?<=\w)<(?=[\w:])|(?<![-<>\s=])>(?!=)")
_TYPES = (
    rb"(?:(?:unsigned|signed)\s+)?(?:bool|char|short|int|long|float|double|void|size_t|unsigned|signed"
    rb"|u?int(?:8|16|32|64)_t)"
)
_TYPE_ARGUMENT = re.compile(rb"(?<=[(,])(\s*)((?:const\s+)?" + _TYPES + rb")(?=\s*[,)])")
_STATEMENT = re.compile(rb"\s*(?:switch|if|for|while|do|return)\b")


@dataclass(frozen=True, slots=True)
class Masked:
    """`code` is what is parsed. `blocks` maps where a macro's block starts to the macro's span in the source."""

    code: bytes
    scan: Scan
    blocks: dict[int, tuple[int, int]] = field(default_factory=dict)


def mask(data: bytes) -> Masked:
    """`data` with those macros blanked: same length, same line ends."""
    found = scan(data)
    code = bytearray(data)
    if data.startswith(b"\xef\xbb\xbf"):
        code[:3] = b"   "
    quiet = found.quiet
    for start, stop in _attributes(quiet):
        code[start:stop] = blank(data[start:stop])
    blocks: dict[int, tuple[int, int]] = {}
    _calls(_without_directives(quiet), code, blocks)
    result = bytes(code)
    if len(result) != len(data):
        raise AssertionError("the mask moved bytes")
    return Masked(result, found, blocks)


def _attributes(quiet: bytes) -> Iterator[tuple[int, int]]:
    local = {m[1] for m in _LOCAL.finditer(quiet)}
    for match in _ATTRIBUTE.finditer(quiet):
        if _defined(quiet, match.start()):
            continue
        stop = match.end()
        if quiet[stop - 1 : stop] == b"(":
            stop = _closing(quiet, stop)
            if not stop:
                continue
        yield match.start(), stop
    if local:
        names = re.compile(rb"\b(?:" + b"|".join(sorted(local)) + rb")\b(?!\s*[(=,;)\]])")
        for match in names.finditer(quiet):
            if not _defined(quiet, match.start()):
                yield match.span()


def _defined(quiet: bytes, start: int) -> bool:
    """Whether the name at `start` stands on a preprocessor line."""
    row = quiet.rfind(b"\n", 0, start) + 1
    return quiet[row:start].lstrip().startswith(b"#")


def _without_directives(quiet: bytes) -> bytes:
    return _DIRECTIVE.sub(lambda m: blank(m[0]), quiet)


def _closing(quiet: bytes, start: int) -> int:
    """Where the bracket that opens before `start` is closed (one past it), 0 if it is not."""
    depth = 1
    for match in re.compile(rb"[()]").finditer(quiet, start):
        depth += 1 if match[0] == b"(" else -1
        if not depth:
            return match.end()
    return 0


def _calls(quiet: bytes, code: bytearray, blocks: dict[int, tuple[int, int]]) -> None:
    for match in _CALL.finditer(quiet):
        start, opened = match.start(), match.end()
        shape = _arguments(quiet, opened)
        if shape is None:
            continue
        commas, has_statement, closed = shape
        if has_statement:
            _unwrap(quiet, code, (start, opened, closed), commas, blocks)
        elif _lonely(quiet, start, closed):
            code[start:closed] = blank(bytes(code[start:closed]))
        else:
            for kind in _TYPE_ARGUMENT.finditer(quiet, opened - 1, closed):
                code[kind.start(2) : kind.end(2)] = _as_name(kind[2])


def _as_name(words: bytes) -> bytes:
    """A name as long as the type `words`, which may hold spaces."""
    return re.sub(rb"\s", b"_", words[:1].upper() + words[1:])


def _arguments(quiet: bytes, opened: int) -> tuple[list[int], bool, int] | None:
    """Of the call whose `(` ends at `opened`: its commas, whether a statement is passed, where `)` is."""
    stack = [b"("]
    commas: list[int] = []
    statement = bool(_STATEMENT.match(quiet, opened))
    for match in _BRACKET.finditer(quiet, opened):
        token = match[0]
        if token in b"([{":
            if token == b"{" and len(stack) == 1 and _opens_block(quiet, match.start()):
                statement = True
            stack.append(token)
        elif token == b"<":
            stack.append(token)
        elif token == b">":
            if stack[-1] == b"<":
                stack.pop()
        elif token in b")]}":
            while stack and stack[-1] == b"<":
                stack.pop()
            if not stack or stack.pop() not in (b"(" if token == b")" else b"[{"):
                return None
            if not stack:
                return commas, statement, match.end()
        elif token == b"," and len(stack) == 1:
            commas.append(match.start())
        elif token == b";":
            if stack[0] == b"(" and all(t == b"<" for t in stack[1:]):
                statement = True
                del stack[1:]
    return None


def _opens_block(quiet: bytes, brace: int) -> bool:
    """Whether `{` is a macro's argument and holds statements (an initialiser list has no `;`)."""
    before = (
        quiet[:brace].rstrip()[-1:] if brace < 256 else quiet[brace - 256 : brace].rstrip()[-1:]
    )
    if before not in b",(" or not before:
        return False
    depth = 1
    for match in re.compile(rb"[{};]").finditer(quiet, brace + 1):
        if match[0] == b";":
            return True
        depth += 1 if match[0] == b"{" else -1
        if not depth:
            break
    return False


def _unwrap(
    quiet: bytes,
    code: bytearray,
    span: tuple[int, int, int],
    commas: list[int],
    blocks: dict[int, tuple[int, int]],
) -> None:
    """Blank the macro's name, plain arguments and brackets; what stays are its statements."""
    start, opened, closed = span
    code[start:opened] = blank(bytes(code[start:opened]))
    code[closed - 1 : closed] = b" "
    first = opened
    for stop in (*commas, closed - 1):
        argument = quiet[first:stop]
        text = argument.strip()
        if b";" not in text and not _STATEMENT.match(text + b" "):
            code[first:stop] = blank(bytes(code[first:stop]))
        elif text[:1] == b"{":
            blocks[first + len(argument) - len(argument.lstrip())] = (start, closed)
        if stop in commas:
            code[stop : stop + 1] = b" "
        first = stop + 1


def _lonely(quiet: bytes, start: int, closed: int) -> bool:
    """A macro call that begins in the first column and is not followed by `;`, a body or a chain."""
    if start and quiet[start - 1 : start] != b"\n":
        return False
    after = quiet[closed : closed + 4096].lstrip()
    return quiet[closed : closed + 2].lstrip(b"\r ")[:1] in (b"\n", b"") and after[:1] not in (
        b".",
        b"{",
        b";",
        b":",
        b"<",
        b"(",
        b"-",
    )
