"""The Python end of a message: the buffers that a receiving op fills, their sizes, and where they are cut."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Location, Side
from checks.domain.messages import Endpoint, op_argument
from checks.domain.ops import callers, calls_of, expressions_of
from checks.eval.constants.lookup import Constants
from checks.eval.linear import Form, form_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, For, GuardedStmt, If, With, guarded_statements

SIZE, OFFSET, STRIDE, DTYPE = "size", "offset", "stride", "dtype"
_FILLS = frozenset({"full", "zeros", "ones", "empty"})
_VIEWS = frozenset({"numpy", "cpu", "astype", "tolist", "flatten", "ravel"})

_MOST_ARGUMENTS = 8

Atoms = dict[E.Expr, bool]


@dataclass(frozen=True, slots=True)
class Reading:
    """A call of the op that fills `buffer` (`self.tokens`) from the receiver's parameter `param`, in a class of `unit`.

    `atoms` are the conditions under which it is called, in terms of what the class's attributes stand for.
    """

    op: str
    buffer: str
    param: str
    unit: SourceFile
    owner: str
    line: int
    atoms: tuple[tuple[E.Expr, bool], ...]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of the layout as one side has it: `value` at `place`, resting on the constants at `rests_on`.

    `certain` marks a size that is surely used to its end.
    """

    kind: str
    value: int | str
    place: Location
    excerpt: str
    rests_on: tuple[Location, ...] = ()
    certain: bool = False


class Readers:
    """The readings of one side of a change."""

    def __init__(self, change: ChangeSet, config: Config, constants: Constants, side: Side) -> None:
        self._change, self._config, self._constants, self._side = change, config, constants, side
        self._attributes: dict[tuple[str, str], dict[str, E.Expr]] = {}
        self._flat: dict[tuple[str, str, int], list[tuple[GuardedStmt, str]]] = {}
        self._quantities: dict[tuple[object, ...], list[Quantity]] = {}
        # By the identity of a condition, which is kept so that it stays one.
        self._parts: dict[int, tuple[E.Expr, list[tuple[E.Expr, bool]]]] = {}

    def of(self, end: Endpoint) -> Iterator[Reading]:
        """Every place in product code that calls an op of the receiver `end` with attributes as buffers."""
        for op in end.unit.ops:
            kernel = next(iter(end.unit.named(op.kernel.rsplit("::", 1)[-1])), None)
            if op.name not in end.ops or kernel is None:
                continue
            names = [p.name for p in kernel.params]
            passed = [
                (p.name, op_argument(p.name, end.function, kernel)) for p in end.function.params
            ]
            places = {names.index(given): own for own, given in passed if given in names}
            for unit in self._callers(op.name):
                yield from self._in_unit(op.name, places, unit)

    def _callers(self, op: str) -> Iterator[SourceFile]:
        for path in self._change.tree(self._side).paths_containing(op, "python"):
            unit = self._change.unit(path, self._side) if not self._config.is_test(path) else None
            if unit is not None:
                yield unit

    def _in_unit(self, op: str, places: dict[int, str], unit: SourceFile) -> Iterator[Reading]:
        for function in callers(op, unit):
            if not function.owner:
                continue
            for call, guards in calls_of(function.body):
                if E.callee(call) != op:
                    continue
                atoms = self.atoms(guards, unit, function.owner)
                for place, param in places.items():
                    buffer = E.dotted(call.args[place]) if place < len(call.args) else None
                    if buffer and buffer.startswith("self."):
                        yield Reading(
                            op, buffer, param, unit, function.owner, call.line, tuple(atoms.items())
                        )

    def attributes_passed(self, op: str, unit: SourceFile) -> Iterator[Reading]:
        """The readings of `op` in one file, whichever parameter each attribute is for."""
        yield from self._in_unit(op, {n: str(n) for n in range(_MOST_ARGUMENTS)}, unit)

    def quantities(self, reading: Reading) -> list[Quantity]:
        """What the class that reads has for the layout of the buffer, under conditions that allow the reading."""
        key = (reading.unit.path, reading.owner, reading.buffer, reading.atoms)
        if key not in self._quantities:  # several ops fill one buffer
            self._quantities[key] = list(self._measured(reading))
        return self._quantities[key]

    def _measured(self, reading: Reading) -> Iterator[Quantity]:
        for function in reading.unit.functions:
            text = reading.unit.text(function.start_line, function.end_line)
            if function.owner == reading.owner and reading.buffer in text:
                yield from self._in_function(reading, function)

    def _in_function(self, reading: Reading, function: Function) -> Iterator[Quantity]:
        aliases, given = {reading.buffer}, dict(reading.atoms)
        for guarded, text in self._statements(reading.unit, function):
            if not any(alias in text for alias in aliases):
                continue
            if given and not compatible(
                given, self.atoms(guarded.guards, reading.unit, function.owner)
            ):
                continue
            stmt = guarded.stmt
            name = E.dotted(stmt.target) if isinstance(stmt, Assign) else None
            if isinstance(stmt, Assign) and stmt.value is not None and name == reading.buffer:
                yield from self._allocated(stmt.value, reading.unit, function)
                continue
            for top in expressions_of(stmt):
                yield from self._cut(top, aliases, reading.unit, function)
            if (
                isinstance(stmt, Assign)
                and isinstance(stmt.target, E.Name)
                and stmt.value is not None
            ):
                if _view_of(stmt.value, aliases):
                    aliases.add(stmt.target.id)
                else:
                    aliases.discard(stmt.target.id)

    def _statements(self, unit: SourceFile, function: Function) -> list[tuple[GuardedStmt, str]]:
        """The statements of a function, each with its own lines (of one that holds others, the first ones)."""
        key = (unit.path, function.qualname, function.start_line)
        if key not in self._flat:
            found = []
            for guarded in guarded_statements(function.body):
                stmt = guarded.stmt
                last = (
                    min(stmt.end_line, stmt.line + 5)
                    if isinstance(stmt, If | For | With)
                    else stmt.end_line
                )
                found.append((guarded, unit.text(stmt.line, last)))
            self._flat[key] = found
        return self._flat[key]

    def _allocated(self, value: E.Expr, unit: SourceFile, function: Function) -> Iterator[Quantity]:
        if not isinstance(value, E.Call) or E.callee(value) not in _FILLS:
            return
        words = dict(value.keywords)
        shape = words.get("shape") or (value.args[0] if value.args else None)
        place = Location(unit.path, value.line, side=self._side)
        excerpt = unit.text(value.line).strip()
        if isinstance(shape, E.Sequence):
            sizes = [self._number(item, unit, function) for item in shape.items]
            if all(s is not None for s, _ in sizes):
                size = math.prod(s for s, _ in sizes if s is not None)
                line = Location(unit.path, shape.line or value.line, side=self._side)
                rests = tuple(dict.fromkeys(at for _, found in sizes for at in found))
                yield Quantity(SIZE, size, line, unit.text(line.start_line).strip(), rests)
        for dtype in (words.get("dtype"), *value.args[1:]):
            if isinstance(dtype, E.Const) and isinstance(dtype.value, str):
                yield Quantity(DTYPE, dtype.value, place, excerpt)
                break

    def _cut(
        self, top: E.Expr, aliases: set[str], unit: SourceFile, function: Function
    ) -> Iterator[Quantity]:
        for expr in E.walk(top):
            match expr:
                case E.Index(
                    base=base, indices=(E.Slice(lower=lower, upper=upper, step=None),)
                ) if _is(base, aliases):
                    yield from self._span(lower, upper, expr.line, unit, function)
                case E.Call(
                    func=E.Attr(base=base, name="reshape"), args=(E.Sequence(items=dims),)
                ) if any(_is(e, aliases) for e in E.walk(base)):
                    yield from self._rows(dims, expr.line, unit, function)

    def _span(
        self,
        lower: E.Expr | None,
        upper: E.Expr | None,
        line: int,
        unit: SourceFile,
        function: Function,
    ) -> Iterator[Quantity]:
        if lower is not None:
            form, rests = self._form(lower, unit, function)
            if form is not None and rests:
                yield self._quantity(OFFSET, form.terms.get((), 0), lower.line or line, rests, unit)
                yield from self._strides(form, lower.line or line, rests, unit)
        if upper is not None:
            form, rests = self._form(upper, unit, function)
            if form is not None and rests:
                yield from self._strides(form, upper.line or line, rests, unit)

    def _strides(
        self, form: Form, line: int, rests: tuple[Location, ...], unit: SourceFile
    ) -> Iterator[Quantity]:
        for key, factor in form.terms.items():
            if len(key) == 1 and factor > 1:
                yield self._quantity(STRIDE, factor, line, rests, unit)

    def _rows(
        self, dims: tuple[E.Expr, ...], line: int, unit: SourceFile, function: Function
    ) -> Iterator[Quantity]:
        """The strides of a reshape: a row's length, and the lengths of rows of rows."""
        stride, rests = 1, tuple[Location, ...]()
        for dim in reversed(dims[1:]):
            value, found = self._number(dim, unit, function)
            if value is None:
                return
            stride, rests = stride * value, (*rests, *found)
            if rests:
                yield self._quantity(STRIDE, stride, dim.line or line, rests, unit)

    def _quantity(
        self, kind: str, value: int, line: int, rests: tuple[Location, ...], unit: SourceFile
    ) -> Quantity:
        at = Location(unit.path, line, side=self._side)
        return Quantity(kind, value, at, unit.text(line).strip(), tuple(dict.fromkeys(rests)))

    def _number(
        self, expr: E.Expr, unit: SourceFile, function: Function
    ) -> tuple[int | None, tuple[Location, ...]]:
        value = self._constants.resolve(expr, unit, function)
        whole = value is not None and isinstance(value.value, int)
        return (int(value.value), value.locations) if whole and value is not None else (None, ())  # type: ignore[arg-type]

    def _form(
        self, expr: E.Expr, unit: SourceFile, function: Function
    ) -> tuple[Form | None, tuple[Location, ...]]:
        return folded(expr, unit, function, self._constants)

    def atoms(self, guards: tuple[E.Expr, ...], unit: SourceFile, owner: str) -> Atoms:
        """Conditions taken apart at `and`, with the class's attributes replaced by what they are set to once."""
        known = self._attributes_of(unit, owner)
        found: Atoms = {}
        for guard in guards:
            if id(guard) not in self._parts:
                whole = E.substitute(
                    guard, lambda e: known.get(E.dotted(e) or "") if isinstance(e, E.Attr) else None
                )
                self._parts[id(guard)] = (guard, list(_parts(whole, True)))
            found.update(self._parts[id(guard)][1])
        return found

    def _attributes_of(self, unit: SourceFile, owner: str) -> dict[str, E.Expr]:
        key = (unit.path, owner)
        if key not in self._attributes:
            found: dict[str, list[E.Expr]] = {}
            for function in (
                f for f in unit.functions if f.owner == owner and f.name == "__init__"
            ):
                for guarded in guarded_statements(function.body):
                    stmt = guarded.stmt
                    name = E.dotted(stmt.target) if isinstance(stmt, Assign) else None
                    if (
                        isinstance(stmt, Assign)
                        and name
                        and name.startswith("self.")
                        and stmt.value is not None
                    ):
                        found.setdefault(name, []).append(stmt.value)
            single = {
                n: v[0]
                for n, v in found.items()
                if len(v) == 1 and n not in {E.dotted(e) for e in E.walk(v[0])}
            }
            self._attributes[key] = {
                n: v for n, v in single.items() if isinstance(v, E.Attr | E.Binary)
            }
        return self._attributes[key]


def folded(
    expr: E.Expr, unit: SourceFile, function: Function, constants: Constants
) -> tuple[Form | None, tuple[Location, ...]]:
    """`expr` in linear form with every name that is certainly a number put in, and the definitions of those."""
    rests: list[Location] = []

    def number(part: E.Expr) -> E.Expr | None:
        if not isinstance(part, E.Name | E.Attr):
            return None
        value = constants.resolve(part, unit, function)
        if value is None or not isinstance(value.value, int) or isinstance(value.value, bool):
            return None
        rests.extend(value.locations)
        return E.Const(value.value, line=part.line)

    return form_of(E.substitute(expr, number)), tuple(dict.fromkeys(rests))


def compatible(one: Atoms, other: Atoms) -> bool:
    """Whether both sets of conditions can hold together, as far as they speak of the same things."""
    return all(one[part] == holds for part, holds in other.items() if part in one)


def _parts(test: E.Expr, holds: bool) -> Iterator[tuple[E.Expr, bool]]:
    match test:
        case E.Unary(op="not", operand=operand):
            yield from _parts(operand, not holds)
        case E.Binary(op="and", left=left, right=right) if holds:
            yield from _parts(left, True)
            yield from _parts(right, True)
        case E.Binary(op="or", left=left, right=right) if not holds:
            yield from _parts(left, False)
            yield from _parts(right, False)
        case E.Binary(op="is-not" | "!=", left=left, right=E.Const(value=None)):
            yield from _parts(left, holds)
        case E.Binary(op="is" | "==", left=left, right=E.Const(value=None)):
            yield from _parts(left, not holds)
        case _:
            yield test, holds


def _is(expr: E.Expr, aliases: set[str]) -> bool:
    return (E.dotted(expr) or "") in aliases


def _view_of(expr: E.Expr, aliases: set[str]) -> bool:
    """Whether `expr` is one of `aliases` in another form, uncut."""
    match expr:
        case E.Call(func=E.Attr(base=base, name=name)) if name in _VIEWS:
            return _view_of(base, aliases)
        case _:
            return _is(expr, aliases)
