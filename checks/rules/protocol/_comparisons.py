"""Numbers that code compares something with: what a reader takes for a value with a meaning of its own."""

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
class Marked:
    """A sentinel in one place: `key` says which place that is, in both trees."""

    key: tuple[object, ...]
    value: int
    place: Location
    excerpt: str
    rests_on: tuple[Location, ...] = ()

    def definition(self, name: str) -> Definition:
        return Definition(name, self.place, str(self.value), self.excerpt)


def compared(unit: SourceFile, owner: str, constants: Constants, side: Side) -> list[Marked]:
    """The numbers that the methods of a class compare something with."""
    found: list[Marked] = []
    for function in (f for f in unit.functions if f.owner == owner):
        whole = unit.text(function.start_line, function.end_line)
        for guarded in guarded_statements(function.body) if "==" in whole or "!=" in whole else ():
            stmt = guarded.stmt
            text = unit.text(stmt.line, min(stmt.end_line, stmt.line + 5))
            for top in expressions_of(stmt) if "==" in text or "!=" in text else ():
                for expr in E.walk(top):
                    if (
                        isinstance(expr, E.Binary)
                        and expr.op in ("==", "!=")
                        and _may_be_number(expr.right)
                    ):
                        found += _compared(expr, unit, function, constants, side)
    return found


def _compared(
    expr: E.Binary, unit: SourceFile, function: Function, constants: Constants, side: Side
) -> Iterator[Marked]:
    value = constants.resolve(expr.right, unit, function)
    if value is not None and tells(value.value):
        at = Location(unit.path, expr.line, side=side)
        key = (function.qualname, expr.op, expr.left)
        yield Marked(key, int(str(value.value)), at, unit.text(expr.line).strip(), value.locations)


def _may_be_number(expr: E.Expr) -> bool:
    """A number, or a name that is written like a constant."""
    match expr:
        case E.Const(value=value):
            return tells(value)
        case E.Unary(op="-", operand=E.Const()):
            return True
        case E.Name(id=name) | E.Attr(name=name):
            return name.isupper()
        case _:
            return False


def tells(value: object) -> bool:
    """Whether a value is a number that says something: 0 and 1 do not."""
    return isinstance(value, int) and not isinstance(value, bool) and value not in (0, 1)
