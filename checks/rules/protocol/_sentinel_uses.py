"""Sentinels: numbers with a meaning of their own, such as `-9` for a preempted slot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.finding import Definition, Location, Side
from checks.domain.ops import expressions_of
from checks.eval.constants.lookup import Constants
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import guarded_statements


@dataclass(frozen=True, slots=True)
class SentinelUse:
    """A sentinel that is written or compared with at `place`.

    `key` names the place in both trees, `rests_on` are the definitions of a named constant.
    """

    key: tuple[object, ...]
    value: int
    place: Location
    excerpt: str
    rests_on: tuple[Location, ...] = ()

    def definition(self, name: str) -> Definition:
        return Definition(name, self.place, str(self.value), self.excerpt)


def sentinel_use(
    key: tuple[object, ...],
    expr: E.Expr,
    line: int,
    unit: SourceFile,
    function: Function | None,
    constants: Constants,
    side: Side,
) -> SentinelUse | None:
    """The use of `expr` on `line`, None where it is no sentinel."""
    value = constants.resolve(expr, unit, function)
    if value is None or not is_sentinel(value.value):
        return None
    place = Location(unit.path, line, side=side)
    return SentinelUse(key, int(str(value.value)), place, unit.excerpt(line), value.locations)


def compared_sentinels(
    unit: SourceFile, owner: str, constants: Constants, side: Side
) -> Iterator[SentinelUse]:
    """The sentinels that the methods of the class `owner` compare something with."""
    for function in unit.functions:
        if function.owner != owner:
            continue
        for comparison in _comparisons(function):
            key = (function.qualname, comparison.op, comparison.left)
            use = sentinel_use(
                key, comparison.right, comparison.line, unit, function, constants, side
            )
            if use is not None:
                yield use


def _comparisons(function: Function) -> Iterator[E.Binary]:
    """Every `x == 9` and `x != NAME` of a function."""
    for guarded in guarded_statements(function.body):
        for top in expressions_of(guarded.stmt):
            for expr in E.walk(top):
                if not isinstance(expr, E.Binary) or expr.op not in ("==", "!="):
                    continue
                if _may_be_sentinel(expr.right):
                    yield expr


def _may_be_sentinel(expr: E.Expr) -> bool:
    """A number, or a name that is written like a constant."""
    match expr:
        case E.Const(value=value):
            return is_sentinel(value)
        case E.Unary(op="-", operand=E.Const()):
            return True
        case E.Name(id=name) | E.Attr(name=name):
            return name.isupper()
        case _:
            return False


def is_sentinel(value: object) -> bool:
    """Whether a value is a number that says something: 0 and 1 stand for too much else."""
    return isinstance(value, int) and not isinstance(value, bool) and value not in (0, 1)
