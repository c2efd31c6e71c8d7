"""A word that comes back: refuted exactly where some values do not, tried one by one."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from checks.domain.bitfields.expressions import BitField, FieldRead, PackExpr
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
    values = [draw(st.none() | st.integers(0, 3)) for _ in shifts]
    parts = [
        BitField(Name(f"x{n}") if value is None else Const(value), shift, draw(MASKS), None)
        for n, (shift, value) in enumerate(zip(shifts, values, strict=True))
    ]
    return PackExpr(WORD, tuple(parts), WORD, FUNCTION, AT)


@settings(max_examples=300, deadline=None)
@given(packs(), st.integers(0, 2), MASKS)
def test_refuted_where_a_value_does_not_come_back(
    pack: PackExpr, place: int, mask: int | None
) -> None:
    part = pack.fields[place % len(pack.fields)]
    shift = part.shift
    unpack = FieldRead(WORD, shift, mask, WORD, WORD, FUNCTION, AT)
    rooms = {p: usable_width(pack, p, BITS) for p in pack.fields}
    if mask is not None and part is pack.fields[-1]:
        rooms[part] = min(rooms[part], mask.bit_length())
    tried = product(
        *([p.constant] if p.constant is not None else range(1 << rooms[p]) for p in pack.fields)
    )
    comes_back = all(_out(pack, v, shift, mask) == v[pack.fields.index(part)] for v in tried)
    found = refute(pack, unpack, BITS)
    if comes_back:
        assert found is None
    else:
        assert found is not None
        assert _out(pack, found.values, shift, mask) != found.values[pack.fields.index(part)]


def _out(pack: PackExpr, values: tuple[int, ...], shift: int, mask: int | None) -> int:
    word = 0
    for p, value in zip(pack.fields, values, strict=True):
        word |= (value if p.mask is None else value & p.mask) << p.shift
    word &= (1 << BITS) - 1
    signed = word - (1 << BITS) if word >> (BITS - 1) else word
    return signed >> shift if mask is None else (signed >> shift) & mask
