"""Which lines of a large log can match any rule at all, found in one pass.

Every rule names literals of which one must stand in the line. Each literal is represented by the least common four
bytes of it; the log's own four-byte windows are hashed with numpy and looked up in a table of 64 Ki bits, and where
one is set the whole literal is compared, eight bytes at a time. Cost hardly grows with the number of rules.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

LENGTH = 4
LONGEST = 64
_WORD = 8
_FACTOR = np.uint32(0x9E3779B1)
_PAD = bytes(LONGEST + _WORD)
# Letters as common as in English and in logs; a gram of rare ones lets fewer lines through.
_COMMON = {c: n for n, c in enumerate("zqjxkvbwygpmfuhdlcnirotase ")}

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Literal:
    """`gram` stands at byte `offset` of `data`; `words` are the (offset, mask, value) that compare all of it."""

    number: int
    data: bytes
    offset: int
    words: tuple[tuple[int, np.uint64, np.uint64], ...]

    @property
    def gram(self) -> bytes:
        return self.data[self.offset : self.offset + LENGTH]


@dataclass(frozen=True)
class Hits:
    """Of one block: `at[n]` are the ascending (line index, byte position) of literal `n`, and `starts` the byte at
    which each line begins."""

    at: dict[int, tuple[Ints, Ints]]
    starts: Ints


class LiteralTable:
    """A table for `literals`, which are lower case and at least four bytes long; a literal's number is its place.

    Raises ValueError for a literal that is too short or too long.
    """

    def __init__(self, literals: Iterable[str]) -> None:
        self._table = np.zeros(1 << 16, dtype=np.bool_)
        self._by_hash: defaultdict[int, list[_Literal]] = defaultdict(list)
        for number, text in enumerate(literals):
            literal = _literal(number, text.encode())
            value = int(_hashes(literal.gram)[0])
            self._table[value] = True
            self._by_hash[value].append(literal)

    def hits(self, data: bytes) -> Hits:
        """Where the literals stand in `data` (in lower case)."""
        hashes = _hashes(data)
        positions = np.flatnonzero(self._table[hashes])
        newlines = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == 10)
        starts = np.concatenate((np.zeros(1, dtype=np.int64), newlines + 1))
        found = self._compared(data, positions, hashes[positions])
        return Hits(
            {n: (np.searchsorted(newlines, at, side="left"), at) for n, at in found}, starts
        )

    def _compared(
        self, data: bytes, positions: Ints, hashes: npt.NDArray[np.uint32]
    ) -> Iterator[tuple[int, Ints]]:
        """(literal's number, byte positions of its start) of each literal that stands in `data`."""
        if not len(positions):
            return
        order = np.argsort(
            hashes.astype(np.uint16), kind="stable"
        )  # sixteen bits: numpy's radix sort
        values, first = np.unique(hashes[order], return_index=True)
        padded = data + _PAD
        words: npt.NDArray[np.uint64] = np.ndarray(
            shape=(len(data) + LONGEST,), dtype="<u8", buffer=padded, strides=(1,)
        )
        for value, group in zip(
            values.tolist(), np.split(positions[order], first[1:]), strict=True
        ):
            for literal in self._by_hash[value]:
                at = group - literal.offset
                at = at[at >= 0]
                for offset, mask, wanted in literal.words:
                    at = at[(words[at + offset] & mask) == wanted]
                if len(at):
                    yield literal.number, at


def _literal(number: int, data: bytes) -> _Literal:
    if not LENGTH <= len(data) <= LONGEST:
        raise ValueError(data)
    places = range(len(data) - LENGTH + 1)
    offset = min(places, key=lambda n: sum(_COMMON.get(chr(c), 6) for c in data[n : n + LENGTH]))
    words = []
    for start in range(0, len(data), _WORD):
        part = data[start : start + _WORD]
        mask = int.from_bytes(b"\xff" * len(part), "little")
        words.append((start, np.uint64(mask), np.uint64(int.from_bytes(part, "little"))))
    return _Literal(number, data, offset, tuple(words))


def _hashes(data: bytes) -> npt.NDArray[np.uint32]:
    if len(data) < LENGTH:
        return np.zeros(0, dtype=np.uint32)
    windows: npt.NDArray[np.uint32] = np.ndarray(
        shape=(len(data) - LENGTH + 1,), dtype="<u4", buffer=data, strides=(1,)
    )
    return (windows * _FACTOR) >> np.uint32(16)
