"""The integer type that a declaration means.

Python's integers count as 64-bit signed, the type of the arrays they are read from.
"""

from __future__ import annotations

import re

from checks.eval.integers import CIntType

INT32 = CIntType(32, True)
INT64 = CIntType(64, True)

_QUALIFIERS = frozenset(
    {"const", "static", "constexpr", "volatile", "std", "inline", "__restrict__"}
)
_SIGNS = frozenset({"unsigned", "signed"})
_UNSIGNED = frozenset({"unsigned", "size_t", "bool"})
# `long int` is `long`, so `int` comes last.
_BITS = {
    "bool": 1,
    "char": 8,
    "short": 16,
    "long": 64,
    "size_t": 64,
    "ssize_t": 64,
    "ptrdiff_t": 64,
    "int": 32,
}


def int_type(text: str) -> CIntType | None:
    """The integer type that a C++ or numpy type name means, None for anything else (`auto`, a
    tensor)."""
    words = set(re.findall(r"\w+", text)) - _QUALIFIERS
    for word in words:
        sized = re.fullmatch(r"(u?)int(8|16|32|64)(_t)?", word)
        if sized is not None:
            return CIntType(int(sized[2]), not sized[1])
    is_signed = words.isdisjoint(_UNSIGNED)
    base = words - _SIGNS
    for name, bits in _BITS.items():
        if name in base and base <= {"int", name}:
            return CIntType(bits, is_signed)
    # `unsigned` alone is `unsigned int`.
    if words and not base:
        return CIntType(32, is_signed)
    return None
