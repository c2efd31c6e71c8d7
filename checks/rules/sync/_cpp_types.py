"""Whether two C++ types are the same, as far as their spelling tells."""

from __future__ import annotations

import re

_OTHER_SPELLINGS = {"int32_t": "int", "longlong": "int64_t", "unsignedint": "uint32_t"}
_FIXED_WIDTH = {f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_KNOWN_TYPES = _FIXED_WIDTH | {
    "Tensor",
    "optional",
    "vector",
    "bool",
    "int",
    "float",
    "double",
    "string",
    "size_t",
}


def certainly_differ(left: str, right: str) -> bool:
    """Whether two types are not the same.

    What is made of unknown types (an alias, a class) may be the same.
    """
    plain_left, plain_right = _plain_type(left), _plain_type(right)
    if plain_left == plain_right:
        return False
    words = re.findall(r"\w+", f"{plain_left} {plain_right}")
    return set(words) <= _KNOWN_TYPES


def _plain_type(text: str) -> str:
    """A type without `const`, references and namespaces, with one spelling for each integer."""
    bare = re.sub(r"\bconst\b|\b\w+::|[&\s]", "", text)
    return re.sub(r"\w+", lambda word: _OTHER_SPELLINGS.get(word[0], word[0]), bare)
