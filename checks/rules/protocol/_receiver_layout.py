"""The C++ end of a message in numbers: how many elements a receiver hands on, from which offset, with which strides."""

from __future__ import annotations

import math
from collections.abc import Iterator

from checks.core.finding import Location
from checks.domain.cpp_places import Move
from checks.domain.messages import SEND, Endpoint, Field, Messages
from checks.eval.linear import difference
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import SourceFile
from checks.lang.ir.stmt import For
from checks.rules.protocol._buffer_reads import DTYPE, OFFSET, SIZE, STRIDE, Quantity, folded

# What a tensor library calls the element types of C++.
_DTYPES = {
    "int64_t": "int64", "long": "int64", "int": "int32", "int32_t": "int32", "int16_t": "int16", "int8_t": "int8",
    "uint8_t": "uint8", "float": "float32", "double": "float64", "bool": "bool", "phi::dtype::bfloat16": "bfloat16",
    "paddle::bfloat16": "bfloat16", "phi::dtype::float16": "float16", "paddle::float16": "float16",
}  # fmt: skip


def quantities(end: Endpoint, param: str, messages: Messages) -> Iterator[Quantity]:
    """What the receiver `end` has for the layout of the buffer `param`, and what its senders have where the receiver
    only copies."""
    handed = [m for m in messages.forwards(end) if m.target.root == param]
    if not handed:
        return
    fields = {f.name: f for f in messages.layout(end.struct, end.unit)}
    sources = dict.fromkeys(m.source.member for m in handed if m.source is not None)
    yield from _size([fields.get(name) for name in sources], handed, end, messages)
    elements = {_DTYPES.get(m.target.element.removeprefix("const ").strip()) for m in handed}
    dtype = elements.pop() if len(elements) == 1 else None
    if dtype is not None:
        yield Quantity(DTYPE, dtype, _at(handed[0], end, messages), _line(handed[0], end))
    for move in handed:
        yield from _positions(move, end, messages)
    if any(_copies(m) for m in handed):
        for peer in messages.peers(end):
            if peer.role == SEND:
                for move in messages.writes(peer):
                    yield from _positions(move, peer, messages)


def _size(
    fields: list[Field | None], handed: list[Move], end: Endpoint, messages: Messages
) -> Iterator[Quantity]:
    """The elements of all members that are handed on; certain where a loop copies as many whatever was received."""
    total = 0
    for field in fields:
        dims = field.dims if field is not None else (None,)
        if any(d is None for d in dims):
            return
        total += math.prod(d for d in dims if d is not None)
    copied = [_stop(m, end, messages) for m in handed if _copies(m)]
    home = messages.change.unit(end.struct.path, messages.side) or end.unit
    place = Location(end.struct.path, end.struct.start_line, end.struct.end_line, messages.side)
    rests = [at for m in end.struct.members for d in m.dims for at in _rests(d, home, messages)]
    text = home.text(end.struct.start_line).strip()
    yield Quantity(SIZE, total, place, text, tuple(dict.fromkeys(rests)), certain=total in copied)


def _rests(expr: E.Expr, unit: SourceFile, messages: Messages) -> tuple[Location, ...]:
    value = messages.constants.resolve(expr, unit)
    return value.locations if value is not None else ()


def _copies(move: Move) -> bool:
    """Whether element n of the message becomes element n of the buffer."""
    source = move.source.index if move.source is not None else None
    target = move.target.index
    return isinstance(target, E.Name) and source is not None and difference(target, source) == 0


def _stop(move: Move, end: Endpoint, messages: Messages) -> int | None:
    loop = _loop(move)
    return (
        messages.number(loop.stop, end.unit, end.function)
        if loop is not None and loop.stop is not None
        else None
    )


def _loop(move: Move) -> For | None:
    """The loop whose variable is the bare index of the target."""
    index = move.target.index
    if not isinstance(index, E.Name):
        return None
    return next((f for f in reversed(move.guarded.loops) if f.target == index), None)


def _positions(move: Move, end: Endpoint, messages: Messages) -> Iterator[Quantity]:
    index = move.target.index
    if index is None:
        return
    form, rests = folded(index, end.unit, end.function, messages.constants)
    at, text = _at(move, end, messages), _line(move, end)
    if form is not None:
        yield Quantity(OFFSET, form.terms.get((), 0), at, text, rests)
        for key, factor in form.terms.items():
            if len(key) == 1 and factor > 0:
                yield Quantity(STRIDE, factor, at, text, rests)
    loop = _loop(move)
    if loop is not None and loop.start is not None:
        start = messages.constants.resolve(loop.start, end.unit, end.function)
        if start is not None and isinstance(start.value, int):
            yield Quantity(OFFSET, start.value, at, text, start.locations)
    for part in E.walk(move.value):
        if isinstance(part, E.Binary) and part.op in ("/", "%"):
            row = messages.constants.resolve(part.right, end.unit, end.function)
            if row is not None and isinstance(row.value, int):
                yield Quantity(STRIDE, row.value, at, text, row.locations)


def _at(move: Move, end: Endpoint, messages: Messages) -> Location:
    return Location(end.unit.path, move.line, side=messages.side)


def _line(move: Move, end: Endpoint) -> str:
    return end.unit.text(move.line).strip()
