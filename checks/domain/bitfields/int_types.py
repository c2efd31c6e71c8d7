"""Machine integers: the width and sign of a declared type. Python's integers count as 64-bit signed, the type of the
arrays they are read from."""

from __future__ import annotations

import re
from dataclasses import dataclass

TIMEOUT_MS = 2000


@dataclass(frozen=True, slots=True)
class IntType:
    bits: int
    signed: bool

    @property
    def lowest(self) -> int:
        return -(1 << self.bits - 1) if self.signed else 0

    @property
    def highest(self) -> int:
        return (1 << self.bits - self.signed) - 1


INT = IntType(32, True)
INT64 = IntType(64, True)
_QUALIFIERS = frozenset(
    {"const", "static", "constexpr", "volatile", "std", "inline", "__restrict__"}
)
_SIZES = {
    "char": 8,
    "short": 16,
    "int": 32,
    "long": 64,
    "size_t": 64,
    "ssize_t": 64,
    "ptrdiff_t": 64,
    "bool": 1,
}


def int_type(text: str) -> IntType | None:
    """The integer type that a C++ or numpy type name means, None for anything else (`auto`, a tensor)."""
    words = set(re.findall(r"\w+", text)) - {
        "const",
        "static",
        "constexpr",
        "volatile",
        "std",
        "inline",
        "__restrict__",
    }
    sized = next(
        (
            re.fullmatch(r"(u?)int(8|16|32|64)(_t)?", w)
            for w in words
            if w.startswith(("int", "uint"))
        ),
        None,
    )
    if sized and sized[2]:
        return IntType(int(sized[2]), not sized[1])
    signed = "unsigned" not in words and "size_t" not in words and "bool" not in words
    base = words - {"unsigned", "signed"}
    for name in ("bool", "char", "short", "long", "size_t", "ssize_t", "ptrdiff_t", "int"):
        if name in base and base <= {"int", name}:
            return IntType(_SIZES[name], signed)
    return (
        INT
        if words and words <= {"unsigned", "signed"} and signed
        else IntType(32, False)
        if base == set() and words
        else None
    )
