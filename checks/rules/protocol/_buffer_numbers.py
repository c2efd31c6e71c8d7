"""The layout by which a Python class cuts a buffer: allocated size, slices and reshapes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.finding import Location, Side
from checks.domain.conditions import are_compatible
from checks.domain.ops import expressions_of
from checks.eval.constants.lookup import Constants
from checks.eval.linear import LinearForm
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign
from checks.rules.protocol._class_conditions import Conditions, statements_with_conditions
from checks.rules.protocol._layout_numbers import (
    DTYPE,
    OFFSET,
    SIZE,
    STRIDE,
    LayoutNumber,
    resolved_form,
)

_ALLOCATIONS = frozenset({"full", "zeros", "ones", "empty"})
# Calls that give the same elements in the same order.
_VIEWS = frozenset({"numpy", "cpu", "astype", "tolist", "flatten", "ravel"})


@dataclass(frozen=True, slots=True)
class _Method:
    """The method in which expressions stand, with what is needed to evaluate them."""

    function: Function
    unit: SourceFile
    constants: Constants
    side: Side

    def location(self, line: int) -> Location:
        return Location(self.unit.path, line, side=self.side)

    def form(self, expr: E.Expr) -> tuple[LinearForm | None, tuple[Location, ...]]:
        return resolved_form(expr, self.unit, self.function, self.constants)

    def integer(self, expr: E.Expr) -> tuple[int | None, tuple[Location, ...]]:
        """The whole number that `expr` is, and the definitions behind it."""
        value = self.constants.resolve(expr, self.unit, self.function)
        if value is None or not isinstance(value.value, int):
            return None, ()
        return int(value.value), value.locations

    def number(
        self, kind: str, value: int, line: int, rests_on: tuple[Location, ...]
    ) -> LayoutNumber:
        excerpt = self.unit.excerpt(line)
        return LayoutNumber(
            kind, value, self.location(line), excerpt, tuple(dict.fromkeys(rests_on))
        )


def buffer_numbers(
    buffer: str,
    owner: str,
    conditions: Conditions,
    unit: SourceFile,
    constants: Constants,
    side: Side,
) -> Iterator[LayoutNumber]:
    """What the methods of the class `owner` have for the layout of `buffer`.

    Statements that `conditions` exclude are left out: there the buffer has another message in it.
    """
    for function in unit.methods_of(owner):
        if buffer in unit.text_of(function):
            method = _Method(function, unit, constants, side)
            yield from _numbers_in(method, buffer, conditions)


def _numbers_in(method: _Method, buffer: str, conditions: Conditions) -> Iterator[LayoutNumber]:
    aliases = {buffer}
    for guarded, here in statements_with_conditions(method.function, method.unit):
        if not are_compatible(conditions, here):
            continue
        stmt = guarded.stmt
        if isinstance(stmt, Assign) and E.dotted(stmt.target) == buffer and stmt.value is not None:
            yield from _allocation_numbers(method, stmt.value)
            continue
        for expr in expressions_of(stmt):
            yield from _cut_numbers(method, expr, aliases)
        if isinstance(stmt, Assign):
            _update_aliases(aliases, stmt)


def _update_aliases(aliases: set[str], stmt: Assign) -> None:
    """A local that is set to a view of the buffer stands for the buffer from there on."""
    if not isinstance(stmt.target, E.Name) or stmt.value is None:
        return
    if _is_view(stmt.value, aliases):
        aliases.add(stmt.target.id)
    else:
        aliases.discard(stmt.target.id)


def _is_view(expr: E.Expr, aliases: set[str]) -> bool:
    """Whether `expr` is one of `aliases` in another form, uncut."""
    match expr:
        case E.Call(func=E.Attr(base=base, name=name)) if name in _VIEWS:
            return _is_view(base, aliases)
        case _:
            return _is_alias(expr, aliases)


def _is_alias(expr: E.Expr, aliases: set[str]) -> bool:
    return E.dotted(expr) in aliases


def _allocation_numbers(method: _Method, value: E.Expr) -> Iterator[LayoutNumber]:
    """The size and the element type of `full([2 + SLOTS], 0, dtype="int64")` and its like."""
    if not isinstance(value, E.Call) or E.callee(value) not in _ALLOCATIONS:
        return
    keywords = dict(value.keywords)
    shape = keywords.get("shape")
    if shape is None and value.args:
        shape = value.args[0]
    if isinstance(shape, E.Sequence):
        yield from _size(method, shape, shape.line or value.line)
    for dtype in (keywords.get("dtype"), *value.args[1:]):
        if isinstance(dtype, E.Const) and isinstance(dtype.value, str):
            excerpt = method.unit.excerpt(value.line)
            yield LayoutNumber(DTYPE, dtype.value, method.location(value.line), excerpt)
            return


def _size(method: _Method, shape: E.Sequence, line: int) -> Iterator[LayoutNumber]:
    """The elements of an array of `shape`, where every dimension is known."""
    size = 1
    rests_on: list[Location] = []
    for item in shape.items:
        dimension, definitions = method.integer(item)
        if dimension is None:
            return
        size *= dimension
        rests_on += definitions
    yield method.number(SIZE, size, line, tuple(rests_on))


def _cut_numbers(method: _Method, expr: E.Expr, aliases: set[str]) -> Iterator[LayoutNumber]:
    """The numbers in slices and reshapes of the buffer below `expr`."""
    for part in E.walk(expr):
        match part:
            case E.Index(base=base, indices=(E.Slice(step=None) as cut,)):
                if _is_alias(base, aliases):
                    yield from _slice_numbers(method, cut, part.line)
            case E.Call(func=E.Attr(base=base, name="reshape"), args=(E.Sequence(items=dims),)):
                if any(_is_alias(inner, aliases) for inner in E.walk(base)):
                    yield from _row_strides(method, dims, part.line)


def _slice_numbers(method: _Method, cut: E.Slice, line: int) -> Iterator[LayoutNumber]:
    """`buffer[2 + MAX + i * ROW : ...]`: the constant part is the offset, the factors are strides.

    A bound in which no named constant stands is local arithmetic, not the message's layout.
    """
    if cut.lower is not None:
        form, rests_on = method.form(cut.lower)
        if form is not None and rests_on:
            place = cut.lower.line or line
            yield method.number(OFFSET, form.terms.get((), 0), place, rests_on)
            yield from _strides(method, form, place, rests_on)
    if cut.upper is not None:
        form, rests_on = method.form(cut.upper)
        if form is not None and rests_on:
            yield from _strides(method, form, cut.upper.line or line, rests_on)


def _strides(
    method: _Method, form: LinearForm, line: int, rests_on: tuple[Location, ...]
) -> Iterator[LayoutNumber]:
    for symbols, factor in form.terms.items():
        if len(symbols) == 1 and factor > 1:
            yield method.number(STRIDE, factor, line, rests_on)


def _row_strides(method: _Method, dims: tuple[E.Expr, ...], line: int) -> Iterator[LayoutNumber]:
    """The strides of a reshape: the length of a row, then of rows of rows."""
    stride = 1
    rests_on: tuple[Location, ...] = ()
    for dim in reversed(dims[1:]):
        value, definitions = method.integer(dim)
        if value is None:
            return
        stride *= value
        rests_on = (*rests_on, *definitions)
        if rests_on:
            yield method.number(STRIDE, stride, dim.line or line, rests_on)
