"""A word that comes back: refuted exactly where some values do not, tried one by one."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from checks.domain.bitfields.packing import BitField, PackExpr
from checks.domain.bitfields.reading import FieldRead
from checks.domain.bitfields.roundtrip import refute, usable_width
from checks.lang.ir.expr import Const, Name
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import Assign, GuardedStmt

BITS = 8
FUNCTION = Function("f", "f", "a.cc", (), 1, 1, tuple)
WORD = Name("word")
AT = GuardedStmt(Assign(WORD, "=", WORD, line=1, end_line=1), (), ())
MASKS = st.none() | st.sampled_from((0x1, 0x3, 0x7, 0xF, 0x1F, 0xFF, 0x5))


@st.composite
def packs(draw: st.DrawFn) -> PackExpr:
    shifts = sorted(draw(st.sets(st.integers(0, BITS - 1), min_size=1, max_size=3)))
    fields = []
    for number, shift in enumerate(shifts):
        constant = draw(st.none() | st.integers(0, 3))
        expr = Name(f"x{number}") if constant is None else Const(constant)
        fields.append(BitField(expr, shift, draw(MASKS), None))
    return PackExpr(WORD, tuple(fields), WORD, FUNCTION, AT)


@settings(max_examples=300, deadline=None)
@given(packs(), st.integers(0, 2), MASKS)
def test_refuted_where_a_value_does_not_come_back(
    pack: PackExpr, place: int, mask: int | None
) -> None:
    place %= len(pack.fields)
    field = pack.fields[place]
    read = FieldRead(WORD, field.shift, mask, WORD, WORD, FUNCTION, AT)
    widths = {f: usable_width(pack, f, BITS) for f in pack.fields}
    if mask is not None and field is pack.fields[-1]:
        widths[field] = min(widths[field], mask.bit_length())
    tried = []
    for f in pack.fields:
        tried.append(range(1 << widths[f]) if f.constant is None else [f.constant])
    comes_back = all(_out(pack, v, field.shift, mask) == v[place] for v in product(*tried))
    refutation = refute(pack, read, BITS)
    if comes_back:
        assert refutation is None
    else:
        assert refutation is not None
        values = refutation.values
        assert _out(pack, values, field.shift, mask) != values[place]


def _out(pack: PackExpr, values: tuple[int, ...], shift: int, mask: int | None) -> int:
    """What a reader gets, worked out without the code under test."""
    word = 0
    for field, value in zip(pack.fields, values, strict=True):
        word |= (value if field.mask is None else value & field.mask) << field.shift
    word &= (1 << BITS) - 1
    signed = word - (1 << BITS) if word >> (BITS - 1) else word
    return signed >> shift if mask is None else (signed >> shift) & mask
