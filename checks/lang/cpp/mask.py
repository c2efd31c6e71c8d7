"""Blank what the grammar cannot read, in place: no byte moves, so every position stays true.

Blanked are comments (a grammar that meets them inside a `#define` loses its way), attribute macros
(launch bounds, visibility, inlining, alignment, address spaces), `#pragma`, `typename` before a
name, the `template` of an explicit instantiation, the frame of macros that take statements
(`DISPATCH(x, { ... })` leaves its block), and macros called at file level without a `;`. A built-in
type passed to a macro (`CHECK_PTR(ctx, int, n, p)`) is no C++ expression: its first letter is
raised, which makes it a name. What the grammar cannot read was measured on public
speculative-decoding kernels.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.lang.cpp.macros import Blocks, mask_calls
from checks.lang.cpp.scan import ScannedSource, blank, scan

# Attribute macros with arguments.
_WITH_ARGUMENTS = re.compile(
    rb"\b(?:\w*LAUNCH_BOUNDS\w*"
    rb"|__launch_bounds__"
    rb"|__cluster_dims__"
    rb"|__block_size__"
    rb"|__maxnreg__"
    rb"|__align__"
    rb"|alignas"
    rb"|__attribute__"
    rb"|__declspec"
    rb"|(?<=struct )[A-Z_][A-Z0-9_]+"
    rb"|(?<=class )[A-Z_][A-Z0-9_]+)\s*\("
)
# What follows such a name if it is a value, a call or a parameter, and no attribute.
_NO_VALUE = rb"(?!\s*[(=,;)\]>])"
# Attribute macros without arguments.
_WORDS = (
    rb"__grid_constant__",
    rb"__forceinline\b",
    rb"__simd__",
    rb"__(?:group|cluster)_shared__",
    rb"_{1,2}(?:global|shared|local|group_shared|cluster_shared)_ptr_{1,2}",
    rb"\w*INLINE\b" + _NO_VALUE,
    rb"\w*(?:HOST_?DEVICE|_DEVICE|_DEVICE_FUNC\w*)\b" + _NO_VALUE,
    rb"\w*(?:DLL_?EXPORT|_EXPORT)\b" + _NO_VALUE,
    rb"\w+_API\b" + _NO_VALUE,
    rb"\w+_DECL\b" + _NO_VALUE,
    rb"JNI(?:EXPORT|CALL)\b",
    rb"CUDART_CB\b",
    rb"\w*UNROLL\w*\b" + _NO_VALUE,
    rb"\w*MAYBE_UNUSED\b" + _NO_VALUE,
)
# A name in capitals right before a word that begins a declaration or a loop is an attribute.
_BEFORE_DECLARATION = re.compile(
    rb"[A-Z_](?<!\w[A-Z_])[A-Z0-9_]{2,}+"
    rb"(?=\s+(?:std::|(?:void|bool|int|float|double|char|auto|static|inline|constexpr|virtual"
    rb"|explicit|template|friend|struct|class|union|for|while|do"
    rb"|__global__|__device__|__host__)\b))"
)
# `class EXPORTED Name {`
_BEFORE_CLASS_NAME = re.compile(
    rb"(?:class|struct) ([A-Z][A-Z0-9_]+)(?=\s+\w+\s*(?:final\s*)?[:{])"
)
# `typename` before a type's name, and the `template` of an explicit instantiation.
_TYPENAME = re.compile(rb"t(?<!\wt)ypename(?=\s+(?:::|\w))(?!\s+\w+\s*[,>=])")
_INSTANTIATION = re.compile(rb"t(?<!\wt)emplate(?=\s+(?:class|struct)\s)")
# `SOME_NAMESPACE_BEGIN` on a line of its own, behind the end of the one before it.
_ALONE = re.compile(rb"\n[A-Z_][A-Z0-9_]{3,}+(?=[ \t\r]*(?:\n|\Z))(?!\s*[,}=({])")
_PRAGMA = re.compile(rb"#[ \t]*pragma\b[^\n]*(?:(?:(?<=\\)|(?<=\\\r))\n[^\n]*)*")
_LAMBDA_QUALIFIER = re.compile(rb"\]\s*((?:__(?:device|host)__\s*)+)(?=[({])")
_NAMED_VARIADIC = re.compile(rb"#[ \t]*define[ \t]+\w+\([^)\n]*?(\w+)\.\.\.[ \t]*\)")
# `#define NAME static __attribute__((...))`: a macro that is nothing but an attribute.
_ATTRIBUTE_DEFINE = re.compile(
    rb"#[ \t]*define[ \t]+([A-Z_]\w*)[ \t]+(?:(?:__\w+__(?:\(\([^()\n]*\)\))?|static|inline|extern"
    rb"|__forceinline|_Pragma\([^\n]*\))[ \t]*)+(?:\\\s*\n[ \t]*)?$",
    re.MULTILINE,
)
_DIRECTIVE = re.compile(rb"#[^\n]*(?:(?:(?<=\\)|(?<=\\\r))\n[^\n]*)*")


@dataclass(frozen=True, slots=True)
class Masked:
    """`code` is what is parsed. `blocks` maps where a macro's block starts to the macro's span."""

    code: bytes
    scan: ScannedSource
    blocks: Blocks


def mask(data: bytes) -> Masked:
    """`data` with all that blanked: same length, same line ends."""
    scanned = scan(data)
    code = bytearray(scanned.code)
    if data.startswith(codecs.BOM_UTF8):
        code[:3] = b"   "
    # Outside strings and comments a `#` begins a directive; what a macro is defined as stays.
    plain = _DIRECTIVE.sub(lambda match: blank(match[0]), scanned.quiet)
    for start, stop in _attributes(scanned.quiet, plain):
        code[start:stop] = blank(data[start:stop])
    blocks = mask_calls(plain, code)
    result = bytes(code)
    if len(result) != len(data):
        raise AssertionError("the mask moved bytes")
    return Masked(result, scanned, blocks)


def _attributes(quiet: bytes, plain: bytes) -> Iterator[tuple[int, int]]:
    """The spans of what the grammar cannot read; `plain` is `quiet` without directives."""
    last = 0
    for match in _WITH_ARGUMENTS.finditer(plain):
        stop = _closing(plain, match.end())
        if match.start() >= last and stop:
            yield match.start(), stop
            last = stop
    for match in _attribute_words(quiet).finditer(plain):
        yield match.span()
    for pattern in (_BEFORE_DECLARATION, _TYPENAME, _INSTANTIATION):
        for match in pattern.finditer(plain):
            yield match.span()
    for pattern in (_BEFORE_CLASS_NAME, _LAMBDA_QUALIFIER):
        for match in pattern.finditer(plain):
            yield match.span(1)
    for match in _ALONE.finditer(b"\n" + plain):
        start, stop = match.start(), match.end() - 1
        before = plain[max(0, start - _LONGEST_GAP) : start].rstrip()
        if before[-1:] in (b";", b"}", b")", b""):
            yield start, stop
    for match in _PRAGMA.finditer(quiet):
        yield match.span()
    for match in _NAMED_VARIADIC.finditer(quiet):
        yield match.span(1)


def _attribute_words(quiet: bytes) -> re.Pattern[bytes]:
    """Attribute macros without arguments: known ones, and those that the file itself defines."""
    defined_here = sorted({match[1] for match in _ATTRIBUTE_DEFINE.finditer(quiet)})
    words = [*_WORDS, *[name + rb"\b" + _NO_VALUE for name in defined_here]]
    return re.compile(rb"\b(?:" + b"|".join(words) + rb")")


_PARENTHESIS = re.compile(rb"[()]")
# Bytes; the arguments of launch bounds and alignments are short.
_LONGEST_ARGUMENTS = 1000
# Bytes of white space and comments that are looked through for the end of the line before.
_LONGEST_GAP = 4096


def _closing(text: bytes, start: int) -> int:
    """Where the bracket that opens before `start` is closed (one past it), 0 if it is not soon."""
    depth = 1
    for match in _PARENTHESIS.finditer(text, start, start + _LONGEST_ARGUMENTS):
        depth += 1 if match[0] == b"(" else -1
        if not depth:
            return match.end()
    return 0
