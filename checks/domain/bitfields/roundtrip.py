"""Does taking a field out of a word give back what was put in? Proved for every value, or refuted by one.

The word is a bit vector of the sender's type, with each field cut by the sender's mask; a receiver in C++ sees it in
that type (`>>` keeps the sign of a signed word), one in Python as the 64-bit integer it was widened to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.domain.bitfields.expressions import Pack, Part, Unpack
from checks.domain.bitfields.int_types import TIMEOUT_MS


@dataclass(frozen=True, slots=True)
class Refuted:
    """`values` of the pack's parts for which `part` comes out as `got`. `word` is the packed word, signed."""

    part: Part | None
    values: tuple[int, ...]
    word: int
    got: int


def room(pack: Pack, part: Part, bits: int) -> int:
    """The bits that a field may use so that sender and sign leave it alone: less one for the top of a signed word."""
    width = pack.width(part, bits)
    if part.mask is not None:
        width = min(width, part.mask.bit_length())
    top = part.shift == max(p.shift for p in pack.parts)
    return width - 1 if top and width + part.shift == bits else width


def refute(pack: Pack, unpack: Unpack, bits: int = 32) -> Refuted | None:
    """A counterexample to `unpack(pack(fields)) == field`, or None when there is none within the fields' room.

    A receiver whose mask is narrower than the room of the top field keeps fewer bits on purpose: then the field is
    taken to stay within the mask.
    """
    part = next((p for p in pack.parts if p.shift == unpack.shift), None)
    rooms = {p: room(pack, p, bits) for p in pack.parts}
    if (
        part is not None
        and unpack.mask is not None
        and part.shift == max(p.shift for p in pack.parts)
    ):
        rooms[part] = min(rooms[part], unpack.mask.bit_length())
    for values in _candidates(pack, part, rooms):
        word, got = _extract(pack, unpack, values, bits)
        wanted = values[pack.parts.index(part)] if part is not None else None
        if got != wanted:
            return Refuted(part, values, word, got)
    return (
        None if _exact(pack, unpack, part, rooms, bits) else _solve(pack, unpack, part, rooms, bits)
    )


# One bit: the bits of the fields that are OR-ed into it, as (field, place); the one that is always set is `_SET`.
_Bit = frozenset[tuple[int, int]]
_SET: _Bit = frozenset({(-1, -1)})
_CLEAR: _Bit = frozenset()


def _exact(
    pack: Pack, unpack: Unpack, part: Part | None, rooms: dict[Part, int], bits: int
) -> bool:
    """Whether each bit that comes out is the one that went in, followed bit by bit: masks, shifts and ORs do nothing
    else, and bits of fields are independent, so that this is so for every value or not at all. It spares reading the
    solver, which is asked for the values where it is not so."""
    fields = [[_bit(n, p, i, rooms[p]) for i in range(bits)] for n, p in enumerate(pack.parts)]
    word = [_CLEAR] * bits
    for field, p in zip(fields, pack.parts, strict=True):
        for i in range(bits - p.shift):
            if p.mask is None or p.mask >> i & 1:
                word[i + p.shift] = (
                    _SET if _SET in (field[i], word[i + p.shift]) else word[i + p.shift] | field[i]
                )
    wide = word + [word[-1]] * (64 - bits)
    wanted = fields[pack.parts.index(part)] if part is not None else []
    for i in range(64):
        kept = unpack.mask is None or unpack.mask >> i & 1
        got = wide[min(i + unpack.shift, 63)] if kept else _CLEAR
        if got != (wanted[i] if i < len(wanted) else _CLEAR):
            return False
    return True


def _bit(number: int, part: Part, place: int, room: int) -> _Bit:
    """One bit of a field before it is packed."""
    if part.constant is not None:
        return _SET if part.constant >> place & 1 else _CLEAR
    return frozenset({(number, place)}) if place < room else _CLEAR


def _candidates(pack: Pack, part: Part | None, rooms: dict[Part, int]) -> Iterator[tuple[int, ...]]:
    """Telling values first, so that a counterexample is the same everywhere: small ones, then the largest."""
    for own in (1, 3, None):
        for others in (2, 1, 0, None):
            row = []
            for p in pack.parts:
                largest = (1 << rooms[p]) - 1
                value = own if p is part else others
                row.append(
                    p.constant
                    if p.constant is not None
                    else largest
                    if value is None
                    else min(value, largest)
                )
            yield tuple(row)


def _extract(pack: Pack, unpack: Unpack, values: tuple[int, ...], bits: int) -> tuple[int, int]:
    word = 0
    for part, value in zip(pack.parts, values, strict=True):
        word |= (value & part.mask if part.mask is not None else value) << part.shift
    word &= (1 << bits) - 1
    signed = word - (1 << bits) if word >> (bits - 1) else word
    got = signed >> unpack.shift
    return signed, got & unpack.mask if unpack.mask is not None else got


def _solve(
    pack: Pack, unpack: Unpack, part: Part | None, rooms: dict[Part, int], bits: int
) -> Refuted | None:
    import z3

    solver = z3.Solver()
    solver.set("timeout", TIMEOUT_MS)
    fields = [z3.BitVec(f"f{n}", bits) for n in range(len(pack.parts))]
    word = z3.BitVecVal(0, bits)
    for x, p in zip(fields, pack.parts, strict=True):
        solver.add(z3.ULT(x, 1 << rooms[p]) if p.constant is None else x == p.constant)
        word = word | ((x & p.mask if p.mask is not None else x) << p.shift)
    wide = z3.SignExt(64 - bits, word) if bits < 64 else word
    got = wide >> unpack.shift
    if unpack.mask is not None:
        got = got & unpack.mask
    wanted = fields[pack.parts.index(part)] if part is not None else z3.BitVecVal(0, bits)
    solver.add(got != (z3.ZeroExt(64 - bits, wanted) if bits < 64 else wanted))
    if solver.check() != z3.sat:
        return None
    model = solver.model()
    values = tuple(model.eval(x, model_completion=True).as_long() for x in fields)
    return Refuted(part, values, *_extract(pack, unpack, values, bits))
