"""The packed value that a fixture of the old form should write.

A reader that takes `word & 0xFF` and `word >> 8` out of one word, and cuts rows of `K + 1` elements
to the second, is given the whole row by `flag | ((K + 1) << 8)`: the layout determines the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.finding import Edit, Location
from checks.domain.bitfields.reading import FieldRead, field_reads
from checks.eval.constants.lookup import Constants
from checks.eval.interpreter.frames import CertainFailure
from checks.eval.interpreter.values import ValueOrigin
from checks.lang.ir import expr as E
from checks.lang.ir.render import source_of
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, guarded_statements

# What a fixture writes, at the end of its statement: `= 4`, `.set_tensor(to_tensor(4))`.
_LAST_VALUE = re.compile(r"^(?P<head>.*?(?:\s=\s*|\())(?P<value>\w[\w.]*)(?P<tail>\)*\s*(?:#.*)?)$")


@dataclass(frozen=True, slots=True)
class PackedFixture:
    """`edit` makes the fixture write `text`: the statement at `high` then sets `target` to `value`.

    That at `low` takes the field below it out, which has to stay as it was.
    """

    edit: Edit
    text: str
    high: ValueOrigin
    low: ValueOrigin
    target: str
    value: int

    def edited_file(self, change: ChangeSet) -> dict[str, bytes]:
        """The fixture's file with the edit made."""
        data = change.head.read(self.edit.path) or b""
        lines = data.decode("utf-8", "surrogateescape").split("\n")
        line_end = "\r" if lines[self.edit.start_line - 1].endswith("\r") else ""
        lines[self.edit.start_line - 1] = self.edit.lines[0] + line_end
        return {self.edit.path: "\n".join(lines).encode("utf-8", "surrogateescape")}


def packed_fixture(
    failure: CertainFailure, fixture: Location, change: ChangeSet
) -> PackedFixture | None:
    """What `fixture` should write, or None where the layout does not determine it."""
    # A word of the old form has nothing in its high bits.
    if not failure.trace or failure.trace[-1][2] != "0":
        return None
    origin = failure.trace[-1][0]
    reader = change.unit(origin.path)
    function = reader.function_at(origin.line) if reader is not None else None
    tests = change.unit(fixture.path)
    if reader is None or function is None or tests is None:
        return None
    fields = _high_and_low_field(function, origin.line)
    if fields is None:
        return None
    field, below = fields
    bound = _row_width(function, field.target)
    if bound is None or not isinstance(field.target, E.Name):
        return None
    width = _number(bound, reader, function, change)
    if width is None or width <= 0 or (field.mask is not None and width > field.mask):
        return None
    # The test may call it by the same name: then the fixture says where the number comes from.
    there = _number(bound, tests, tests.function_at(fixture.start_line), change)
    name = source_of(bound) if there == width else str(width)
    operand = name if name.isidentifier() or name.isdigit() else f"({name})"
    written = _LAST_VALUE.match(tests.text(fixture.start_line).rstrip("\r"))
    if written is None:
        return None
    text = f"{written['value']} | ({operand} << {field.shift})"
    line = f"{written['head']}{text}{written['tail']}"
    edit = Edit(tests.path, fixture.start_line, fixture.start_line, (line,))
    low = ValueOrigin(origin.path, below.guarded.stmt.line)
    return PackedFixture(edit, text, origin, low, field.target.id, width)


def _high_and_low_field(function: Function, line: int) -> tuple[FieldRead, FieldRead] | None:
    """The read at `line` of the bits above another field of the same word, and that other read."""
    reads = list(field_reads(function))
    for read in reads:
        if read.guarded.stmt.line != line or not read.shift:
            continue
        for other in reads:
            is_below = other.shift == 0 and other.mask is not None and not other.mask >> read.shift
            if is_below and other.word == read.word:
                return read, other
    return None


def _row_width(function: Function, target: E.Expr | None) -> E.Expr | None:
    """The dimension that every slice `[..., :target]` cuts; None where they differ."""
    widths: list[E.Expr | None] = []
    for guarded in guarded_statements(function.body):
        stmt = guarded.stmt
        if isinstance(stmt, Assign) and stmt.value is not None:
            widths += _widths_cut(stmt.value, target)
    if not widths or any(width != widths[0] for width in widths):
        return None
    return widths[0]


def _widths_cut(expr: E.Expr, target: E.Expr | None) -> Iterator[E.Expr | None]:
    """The dimension behind each slice up to `target`; None for one that is not written down."""
    for node in E.walk(expr):
        if isinstance(node, E.Index) and E.Slice(upper=target) in node.indices:
            place = node.indices.index(E.Slice(upper=target))
            dims = _dims(node.base)
            is_counted = E.Name("...") not in node.indices and place < len(dims)
            yield dims[place] if is_counted else None


def _dims(expr: E.Expr) -> tuple[E.Expr, ...]:
    """The shape of `x.reshape([a, b])`."""
    match expr:
        case E.Call(func=E.Attr(name="reshape" | "view"), args=(E.Sequence(items=items),)):
            return items
        case E.Call(func=E.Attr(name="reshape" | "view"), args=args):
            return args
        case _:
            return ()


def _number(
    expr: E.Expr, unit: SourceFile, function: Function | None, change: ChangeSet
) -> int | None:
    found = Constants.of(change).resolve(expr, unit, function)
    if found is None or isinstance(found.value, bool) or not isinstance(found.value, int):
        return None
    return found.value
