"""Blank what the grammar cannot read, in place: no byte moves, so every position stays true.

Blanked are comments (a grammar that meets them inside a `#define` loses its way), attribute macros
(launch bounds, visibility, inlining, alignment, address spaces), `#pragma`, `typename` before a name, the
`template` of an explicit instantiation, the frame of macros that take statements
(`DISPATCH(x, { ... })` leaves its block), and macros called at file level without a `;`.
A built-in type passed to a macro (`CHECK_PTR(ctx, int, n, p)`) is no C++ expression: its first letter
is raised, which makes it a name. What the grammar cannot read was measured on public
speculative-decoding kernels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.lang.cpp.macros import Blocks, mask_calls
from checks.lang.cpp.scan import Scan, blank, scan

# Each piece is looked for by a literal part of it first: `re` has no fast way over many alternatives.
_WITH_ARGUMENTS = {
    b"LAUNCH_BOUNDS": rb"\w*LAUNCH_BOUNDS\w*",
    b"__launch_bounds__": rb"__launch_bounds__",
    b"__cluster_dims__": rb"__cluster_dims__",
    b"__block_size__": rb"__block_size__",
    b"__maxnreg__": rb"__maxnreg__",
    b"__align__": rb"__align__",
    b"alignas": rb"alignas",
    b"__attribute__": rb"__attribute__",
    b"__declspec": rb"__declspec",
    b"struct ": rb"(?<=struct )[A-Z_][A-Z0-9_]+",
    b"class ": rb"(?<=class )[A-Z_][A-Z0-9_]+",
}
_BARE = rb"(?!\s*[(=,;)\]>])"
_WORDS = {
    b"__grid_constant__": rb"__grid_constant__",
    b"__forceinline": rb"__forceinline\b",
    b"__simd__": rb"__simd__",
    b"_shared__": rb"__(?:group|cluster)_shared__",
    b"_ptr_": rb"_{1,2}(?:global|shared|local|group_shared|cluster_shared)_ptr_{1,2}",
    b"INLINE": rb"\w*INLINE\b" + _BARE,
    b"DEVICE": rb"\w*(?:HOST_?DEVICE|_DEVICE|_DEVICE_FUNC\w*)\b" + _BARE,
    b"EXPORT": rb"\w*(?:DLL_?EXPORT|_EXPORT)\b" + _BARE,
    b"_API": rb"\w+_API\b" + _BARE,
    b"_DECL": rb"\w+_DECL\b" + _BARE,
    b"JNI": rb"JNI(?:EXPORT|CALL)\b",
    b"CUDART_CB": rb"CUDART_CB\b",
    b"UNROLL": rb"\w*UNROLL\w*\b" + _BARE,
    b"MAYBE_UNUSED": rb"\w*MAYBE_UNUSED\b" + _BARE,
}
# What begins with a set of characters, or with one of them, is found twice as fast as behind a `\b`.
_ALWAYS = (
    # A name in capitals right before a word that begins a declaration or a loop is an attribute.
    re.compile(
        rb"[A-Z_](?<!\w[A-Z_])[A-Z0-9_]{2,}+(?=\s+(?:std::|(?:void|bool|int|float|double|char|auto|static|inline"
        rb"|constexpr|virtual|explicit|template|friend|struct|class|union|for|while|do|__global__|__device__"
        rb"|__host__)\b))"
    ),
    re.compile(rb"(?:class|struct) ([A-Z][A-Z0-9_]+)(?=\s+\w+\s*(?:final\s*)?[:{])"),
    re.compile(
        rb"t(?<!\wt)(?:ypename(?=\s+(?:::|\w))(?!\s+\w+\s*[,>=])|emplate(?=\s+(?:class|struct)\s))"
    ),
)
# `SOME_NAMESPACE_BEGIN` on a line of its own, behind the end of the one before it.
_ALONE = re.compile(rb"\n[A-Z_][A-Z0-9_]{3,}+(?=[ \t\r]*(?:\n|\Z))(?!\s*[,}=({])")
_PRAGMA = re.compile(rb"#[ \t]*pragma\b[^\n]*(?:(?:(?<=\\)|(?<=\\\r))\n[^\n]*)*")
_LAMBDA_QUALIFIER = re.compile(rb"\]\s*((?:__(?:device|host)__\s*)+)(?=[({])")
_NAMED_VARIADIC = re.compile(rb"#[ \t]*define[ \t]+\w+\([^)\n]*?(\w+)\.\.\.[ \t]*\)")
_LOCAL = re.compile(
    rb"#[ \t]*define[ \t]+([A-Z_]\w*)[ \t]+(?:(?:__\w+__(?:\(\([^()\n]*\)\))?|static|inline|extern"
    rb"|__forceinline|_Pragma\([^\n]*\))[ \t]*)+(?:\\\s*\n[ \t]*)?$",
    re.MULTILINE,
)
_DIRECTIVE = re.compile(rb"#[^\n]*(?:(?:(?<=\\)|(?<=\\\r))\n[^\n]*)*")


@dataclass(frozen=True, slots=True)
class Masked:
    """`code` is what is parsed. `blocks` maps where a macro's block starts to the macro's span."""

    code: bytes
    scan: Scan
    blocks: Blocks


def mask(data: bytes) -> Masked:
    """`data` with all that blanked: same length, same line ends."""
    found = scan(data)
    code = bytearray(found.code)
    if data.startswith(b"\xef\xbb\xbf"):
        code[:3] = b"   "
    # Outside strings and comments a `#` begins a directive; what a macro is defined as stays.
    plain = _DIRECTIVE.sub(lambda m: blank(m[0]), found.quiet)
    for start, stop in _attributes(found.quiet, plain):
        code[start:stop] = blank(data[start:stop])
    blocks = mask_calls(plain, code)
    result = bytes(code)
    if len(result) != len(data):
        raise AssertionError("the mask moved bytes")
    return Masked(result, found, blocks)


def _attributes(quiet: bytes, plain: bytes) -> Iterator[tuple[int, int]]:
    called = [word for key, word in _WITH_ARGUMENTS.items() if key in plain]
    if called:
        last = 0
        for match in re.finditer(rb"\b(?:" + b"|".join(called) + rb")\s*\(", plain):
            if match.start() >= last and (stop := _closing(plain, match.end())):
                yield match.start(), stop
                last = stop
    words = [word for key, word in _WORDS.items() if key in plain]
    local = sorted({m[1] for m in _LOCAL.finditer(quiet)} if b"define" in quiet else ())
    words += [name + rb"\b" + _BARE for name in local]
    if words:
        for match in re.finditer(rb"\b(?:" + b"|".join(words) + rb")", plain):
            yield match.span()
    for pattern in _ALWAYS:
        for match in pattern.finditer(plain):
            yield match.span(pattern.groups)
    for match in _LAMBDA_QUALIFIER.finditer(plain):
        yield match.span(1)
    for match in _ALONE.finditer(b"\n" + plain):
        start, stop = match.start(), match.end() - 1
        if plain[max(0, start - 4096) : start].rstrip()[-1:] in (b";", b"}", b")", b""):
            yield start, stop
    for match in _PRAGMA.finditer(quiet):
        yield match.span()
    if b"..." in quiet:
        for match in _NAMED_VARIADIC.finditer(quiet):
            yield match.span(1)


_PARENTHESIS = re.compile(rb"[()]")
# The arguments of launch bounds and alignments are short.
_LONGEST = 1000


def _closing(text: bytes, start: int) -> int:
    """Where the bracket that opens before `start` is closed (one past it), 0 if it is not soon."""
    depth = 1
    for match in _PARENTHESIS.finditer(text, start, start + _LONGEST):
        depth += 1 if match[0] == b"(" else -1
        if not depth:
            return match.end()
    return 0
