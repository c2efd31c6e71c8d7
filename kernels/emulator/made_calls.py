"""Calls of an op that no test makes: made of other ops' calls, and of tensors that its code reads.

Nobody knows whether a caller gives such ones: what differs on them is a question.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kernels.emulator.library import HostTensor, Value
from kernels.emulator.readings import number_of_requests
from kernels.emulator.recording import Call

_TYPES = {
    "bool": "bool",
    "uint8_t": "uint8",
    "int": "int32",
    "int32_t": "int32",
    "int64_t": "int64",
    "float": "float32",
}
# Of a tensor that is made: numbers of a row, and rows, more than a test has tokens.
_COLUMNS = 8
_ROWS = 64
# Parameters that another op's call has to have, or it says nothing; and calls that are enough.
_LEAST = 2
_MOST = 12


@dataclass(frozen=True)
class _Form:
    """A tensor's type, and the number of its dimensions as far as the code asks."""

    dtype: str
    rank: int

    def make(self, requests: int, chance: np.random.Generator) -> HostTensor:
        """A tensor that is large enough: floats by chance, of integers nothing but 0."""
        shape = (requests + 1,) if self.rank == 1 else (_ROWS, *(_COLUMNS,) * (self.rank - 1))
        array = np.zeros(shape, self.dtype)
        if self.dtype == "float32":
            array[...] = chance.random(shape)
        return HostTensor(array, self.dtype)


def make_calls(
    op: str, parameters: Collection[str], texts: Sequence[str], recorded: Iterable[Call]
) -> Iterator[Call]:
    """Calls of the op with what recorded ones have of the same names; none where its sources do not
    say of what type the rest is."""
    names = tuple(sorted(parameters))
    count = 0
    for call in recorded:
        given = dict(zip(call.parameters, call.values, strict=False))
        if len(given.keys() & parameters) < _LEAST or count == _MOST:
            continue
        values = _completed(names, given, texts)
        if values is not None:
            count += 1
            yield Call(op, names, values, is_shown=False, settings=call.settings)


def _completed(
    names: Sequence[str], given: dict[str, Value], texts: Sequence[str]
) -> list[Value] | None:
    requests = number_of_requests(given.values())
    chance = np.random.default_rng(0)
    values: list[Value] = []
    for name in names:
        form = None if name in given else _form(name, texts)
        if name not in given and form is None:
            return None
        values.append(given[name] if form is None else form.make(requests, chance))
    return values


def _form(name: str, texts: Sequence[str]) -> _Form | None:
    """How the sources read a tensor; None where they read it as several types or do not say."""
    read = {found for text in texts for found in re.findall(rf"\b{name}\.data<([\w:]+)>", text)}
    types = {_TYPES.get(found, "") for found in read}
    asked = [
        int(found)
        for text in texts
        for found in re.findall(rf"\b{name}\.(?:shape|dims)\(\)\[(\d)\]", text)
    ]
    if len(types) != 1 or "" in types:
        return None
    return _Form(types.pop(), 1 + max(asked, default=0))
