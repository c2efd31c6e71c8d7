"""One number of a message's layout: a length, an offset, a row stride or an element type."""

from __future__ import annotations

from dataclasses import dataclass

from checks.core.finding import Location
from checks.eval.constants.lookup import Constants
from checks.eval.linear import LinearForm, form_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile

SIZE = "size"
OFFSET = "offset"
STRIDE = "stride"
DTYPE = "dtype"


@dataclass(frozen=True, slots=True)
class LayoutNumber:
    """A number that one side has for the layout. Sizes, offsets and strides count elements.

    `rests_on` are the constants' definitions that `value` comes from. `certain` marks a size that
    is surely used to its end.
    """

    kind: str
    value: int | str
    place: Location
    excerpt: str
    rests_on: tuple[Location, ...] = ()
    certain: bool = False


def kinds_and_values(numbers: list[LayoutNumber]) -> list[tuple[str, int | str]]:
    """What is compared between two trees: neither the place nor the constants behind a number."""
    return [(number.kind, number.value) for number in numbers]


def resolved_form(
    expr: E.Expr, unit: SourceFile, function: Function, constants: Constants
) -> tuple[LinearForm | None, tuple[Location, ...]]:
    """`expr` as a linear form, with every name that is certainly a number replaced by it.

    The second item are the definitions of the replaced names.
    """
    definitions: list[Location] = []

    def number(part: E.Expr) -> E.Expr | None:
        if not isinstance(part, E.Name | E.Attr):
            return None
        value = constants.resolve(part, unit, function)
        if value is None or not isinstance(value.value, int) or isinstance(value.value, bool):
            return None
        definitions.extend(value.locations)
        return E.Const(value.value, line=part.line)

    return form_of(E.substitute(expr, number)), tuple(dict.fromkeys(definitions))
