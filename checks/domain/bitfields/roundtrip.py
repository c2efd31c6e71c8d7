"""Does taking a field out of a word give back what was put in? Proved for every value, or refuted
by one.

The word is a bit vector of the sender's type, with each field cut by the sender's mask. A reader in
C++ sees it in that type (`>>` keeps the sign of a signed word), one in Python as the 64-bit integer
it was widened to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.domain.bitfields.bit_solver import BitSolver
from checks.domain.bitfields.packing import BitField, PackExpr
from checks.domain.bitfields.reading import FieldRead

# The usable width of each field of a word.
_Widths = dict[BitField, int]


@dataclass(frozen=True, slots=True)
class Refutation:
    """Values with which a read goes wrong: with `values` packed, `field` comes out as `got`.

    `field` is None where the read starts where no field does; `word` is the packed word, signed.
    """

    field: BitField | None
    values: tuple[int, ...]
    word: int
    got: int


def usable_width(pack: PackExpr, field: BitField, bits: int) -> int:
    """The bits of a field that neither the sender's mask nor the sign of the word touches."""
    width = pack.width(field, bits)
    if field.mask is not None:
        width = min(width, field.mask.bit_length())
    reaches_sign = _is_top(pack, field) and width + field.shift == bits
    return width - 1 if reaches_sign else width


def _is_top(pack: PackExpr, field: BitField) -> bool:
    return field.shift == max(other.shift for other in pack.fields)


def refute(pack: PackExpr, read: FieldRead, bits: int = 32) -> Refutation | None:
    """A counterexample to `read(pack(values)) == value`, or None when there is none.

    A reader whose mask is narrower than the room of the top field keeps fewer bits on purpose: then
    the field is taken to stay within the mask.
    """
    field = next((field for field in pack.fields if field.shift == read.shift), None)
    widths = {field: usable_width(pack, field, bits) for field in pack.fields}
    if field is not None and read.mask is not None and _is_top(pack, field):
        widths[field] = min(widths[field], read.mask.bit_length())
    for values in _telling_values(pack, field, widths):
        word = pack.pack(values, bits)
        got = read.take(word)
        wanted = values[pack.fields.index(field)] if field is not None else None
        if got != wanted:
            return Refutation(field, values, word, got)
    return _solve(pack, read, field, widths, bits)


def _telling_values(
    pack: PackExpr, read_field: BitField | None, widths: _Widths
) -> Iterator[tuple[int, ...]]:
    """Small values first, then the largest: a person reads those more easily than the solver's,
    and they are the same on every machine."""
    for own in (1, 3, None):
        for other in (2, 1, 0, None):
            values = []
            for field in pack.fields:
                value = own if field is read_field else other
                values.append(_value_in(field, value, widths[field]))
            yield tuple(values)


def _value_in(field: BitField, value: int | None, width: int) -> int:
    """`value` as far as it fits the field, None standing for the largest."""
    if field.constant is not None:
        return field.constant
    largest = (1 << width) - 1
    return largest if value is None else min(value, largest)


def _solve(
    pack: PackExpr, read: FieldRead, field: BitField | None, widths: _Widths, bits: int
) -> Refutation | None:
    """The solver's counterexample."""
    solver = BitSolver()
    variables = [solver.unknown(f"f{number}", bits) for number in range(len(pack.fields))]
    word = solver.number(0, bits)
    for variable, packed in zip(variables, pack.fields, strict=True):
        if packed.constant is None:
            largest = (1 << widths[packed]) - 1
            solver.require((variable & largest).equals(variable))
        else:
            solver.require(variable.equals(packed.constant))
        word = word | (packed.cut(variable) << packed.shift)
    wanted = solver.number(0, bits)
    if field is not None:
        wanted = variables[pack.fields.index(field)]
    if bits < 64:
        word = word.with_sign(64 - bits)
        wanted = wanted.with_zeros(64 - bits)
    solver.require(read.take(word).equals(wanted).negation())
    values = solver.solve(variables)
    if values is None:
        return None
    packed_word = pack.pack(values, bits)
    return Refutation(field, values, packed_word, read.take(packed_word))
