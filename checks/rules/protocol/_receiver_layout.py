"""The C++ end of a message in numbers: elements, offsets and strides that a receiver hands on."""

from __future__ import annotations

import math
from collections.abc import Iterator

from checks.core.finding import Location
from checks.domain.cpp_places import Move
from checks.domain.message_roles import SEND
from checks.domain.messages import MessageEnd, Messages
from checks.eval.linear import difference
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import For
from checks.rules.protocol._layout_numbers import (
    DTYPE,
    OFFSET,
    SIZE,
    STRIDE,
    LayoutNumber,
    resolved_form,
)

# What a tensor library calls the element types of C++.
_DTYPES = {
    "int64_t": "int64",
    "long": "int64",
    "int": "int32",
    "int32_t": "int32",
    "int16_t": "int16",
    "int8_t": "int8",
    "uint8_t": "uint8",
    "float": "float32",
    "double": "float64",
    "bool": "bool",
    "phi::dtype::bfloat16": "bfloat16",
    "paddle::bfloat16": "bfloat16",
    "phi::dtype::float16": "float16",
    "paddle::float16": "float16",
}


def receiver_layout(end: MessageEnd, param: str, messages: Messages) -> Iterator[LayoutNumber]:
    """What the receiver `end` has for the layout of the buffer `param`.

    Where the receiver copies element by element, the senders decide what stands where, and their
    numbers follow.
    """
    moves = [move for move in messages.forwards(end) if move.target.root == param]
    if not moves:
        return
    yield from _size(moves, end, messages)
    yield from _element_type(moves, end, messages)
    for move in moves:
        yield from _positions(move, end, messages)
    if not any(_is_copy(move) for move in moves):
        return
    for peer in messages.peers(end):
        if peer.role == SEND:
            for move in messages.writes(peer):
                yield from _positions(move, peer, messages)


def _size(moves: list[Move], end: MessageEnd, messages: Messages) -> Iterator[LayoutNumber]:
    """The elements of all members that are handed on.

    Certain where a loop copies that many, whatever was received.
    """
    total = _elements_of_members(moves, end, messages)
    if total is None:
        return
    copied = [_loop_stop(move, end, messages) for move in moves if _is_copy(move)]
    struct = end.struct
    home = messages.change.unit(struct.path, messages.side) or end.unit
    rests_on: list[Location] = []
    for member in struct.members:
        for dim in member.dims:
            value = messages.constants.resolve(dim, home)
            if value is not None:
                rests_on += value.locations
    yield LayoutNumber(
        SIZE,
        total,
        Location(struct.path, struct.start_line, struct.end_line, messages.side),
        home.excerpt(struct.start_line),
        tuple(dict.fromkeys(rests_on)),
        certain=total in copied,
    )


def _elements_of_members(moves: list[Move], end: MessageEnd, messages: Messages) -> int | None:
    dims = {field.name: field.dims for field in messages.structs.layout(end.struct, end.unit)}
    members = dict.fromkeys(move.source.member for move in moves if move.source is not None)
    total = 0
    for member in members:
        sizes = [dim for dim in dims.get(member, (None,)) if dim is not None]
        if len(sizes) < len(dims.get(member, (None,))):
            return None
        total += math.prod(sizes)
    return total


def _element_type(moves: list[Move], end: MessageEnd, messages: Messages) -> Iterator[LayoutNumber]:
    types = {_DTYPES.get(move.target.element.removeprefix("const ").strip()) for move in moves}
    dtype = types.pop() if len(types) == 1 else None
    if dtype is not None:
        place, excerpt = _quoted(moves[0], end, messages)
        yield LayoutNumber(DTYPE, dtype, place, excerpt)


def _is_copy(move: Move) -> bool:
    """Whether element n of the message becomes element n of the buffer."""
    if move.source is None or move.source.index is None:
        return False
    target = move.target.index
    return isinstance(target, E.Name) and difference(target, move.source.index) == 0


def _loop_stop(move: Move, end: MessageEnd, messages: Messages) -> int | None:
    loop = _loop(move)
    if loop is None or loop.stop is None:
        return None
    return messages.structs.number(loop.stop, end.unit, end.function)


def _loop(move: Move) -> For | None:
    """The loop whose variable is the bare index of the target."""
    index = move.target.index
    if not isinstance(index, E.Name):
        return None
    for loop in reversed(move.guarded.loops):
        if loop.target == index:
            return loop
    return None


def _positions(move: Move, end: MessageEnd, messages: Messages) -> Iterator[LayoutNumber]:
    """The offsets and strides in the index that a store writes to."""
    index = move.target.index
    if index is None:
        return
    place, excerpt = _quoted(move, end, messages)
    form, rests_on = resolved_form(index, end.unit, end.function, messages.constants)
    if form is not None:
        yield LayoutNumber(OFFSET, form.terms.get((), 0), place, excerpt, rests_on)
        for symbols, factor in form.terms.items():
            if len(symbols) == 1 and factor > 0:
                yield LayoutNumber(STRIDE, factor, place, excerpt, rests_on)
    loop = _loop(move)
    if loop is not None and loop.start is not None:
        start = messages.constants.resolve(loop.start, end.unit, end.function)
        if start is not None and isinstance(start.value, int):
            yield LayoutNumber(OFFSET, start.value, place, excerpt, start.locations)
    # `rows[i / ROW]` and `i % ROW`: the row's length stands in the value, not in the index.
    for part in E.walk(move.value):
        if isinstance(part, E.Binary) and part.op in ("/", "%"):
            row = messages.constants.resolve(part.right, end.unit, end.function)
            if row is not None and isinstance(row.value, int):
                yield LayoutNumber(STRIDE, row.value, place, excerpt, row.locations)


def _quoted(move: Move, end: MessageEnd, messages: Messages) -> tuple[Location, str]:
    """Where a store stands, and its line."""
    place = Location(end.unit.path, move.line, side=messages.side)
    return place, end.unit.excerpt(move.line)
