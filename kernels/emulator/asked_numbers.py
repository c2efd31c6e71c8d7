"""The numbers that an op's code asks a tensor for: what says that there is no block, a state.

Whoever writes `blocks[i] == -1` has callers in view that give it, though no test does.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from kernels.emulator.rewrite.text import mask

_ELEMENT = r"\b(\w+)(?:\s*\[[^][]*(?:\[[^][]*\][^][]*)*\])?\s*"
_COMPARED = re.compile(_ELEMENT + r"[=!]=\s*(-?\d+)\b(?!\.)")
# `status = states[row]`, `row = table + number * length`: one name stands for the other.
_TAKEN = re.compile(r"\b(\w+)\s*=\s*\(?(\w+)\s*[+\[]")


def asked_numbers(texts: Iterable[str], parameters: Collection[str]) -> dict[str, set[int]]:
    """The numbers that elements of the parameters are compared with, in the text of sources."""
    found: dict[str, set[int]] = {}
    for text in texts:
        code = mask(text)
        names = _names(code, parameters)
        for name, number in _COMPARED.findall(code):
            for parameter in names.get(name, ()):
                found.setdefault(parameter, set()).add(int(number))
    return found


def _names(code: str, parameters: Collection[str]) -> Mapping[str, set[str]]:
    """What each name may stand for: a parameter of its own name, or of what is taken from it."""
    names = {parameter: {parameter} for parameter in parameters}
    for name, origin in _TAKEN.findall(code):
        if origin in parameters and name not in parameters:
            names.setdefault(name, set()).add(origin)
    return names
