"""When a function sends or receives, as a boolean function of ranks and flags."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from checks.domain.bitfields.ranges import source_of
from checks.domain.messages import Endpoint, snake
from checks.domain.ops import calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import guarded_statements

_RANK = re.compile(r"(^|_)rank(_id|_idx)?$")
_TRANSFERS = re.compile(
    r"(^|_)(send|publish)(_|$)|^put(_nowait)?$|(^|_)(save|get)_(\w+_)?(output|first_token|msg|mmsg)(_|$)|save_out_"
)
_COMPARES = frozenset({"==", "!=", "<", "<=", ">", ">="})
_MOST_FLAGS = 5
RANKS = (0, 1, 2)


@dataclass(frozen=True, slots=True)
class Gate:
    """The conditions on ranks under which `function` reaches the transfer on `line`: all of `tests` hold there.
    `name` is what is called, empty for the function as a whole."""

    function: Function
    name: str
    tests: tuple[E.Expr, ...]
    line: int

    @property
    def ranks(self) -> tuple[str, ...]:
        """The ranks compared with a number, in order."""
        return tuple(dict.fromkeys(n for t in self.tests for n in ranks(t)))

    @property
    def flags(self) -> tuple[str, ...]:
        """Everything else that the tests ask."""
        return tuple(dict.fromkeys(n for t in self.tests for n in _flags(t)))

    @property
    def place(self) -> int:
        """The line of the first test, or of the transfer where there is none."""
        return min((t.line for t in self.tests if t.line), default=self.line)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the truth table: what the names are, and whether the transfer happens before and after."""

    values: tuple[tuple[str, int], ...]
    before: bool
    after: bool

    @property
    def text(self) -> str:
        return ", ".join(f"{name} = {value}" for name, value in self.values)


def gates(function: Function, ends: tuple[Endpoint, ...]) -> list[Gate]:
    """The gates of `function`: of each transfer that it calls, or of its end where it is named as one."""
    lines = {e.line: e for e in ends if e.function.qualname == function.qualname}
    found: list[Gate] = []
    for call, guards in calls_of(function.body):
        name = E.callee(call)
        if call.line in lines or _TRANSFERS.search(snake(name)):
            found.append(
                Gate(function, name, tuple(g for g in guards if list(ranks(g))), call.line)
            )
    if not found and _TRANSFERS.search(snake(function.name)):
        last = [g for g in guarded_statements(function.body) if g.stmt in function.body][-1:]
        found = [
            Gate(function, "", tuple(t for t in g.guards if list(ranks(t))), g.stmt.line)
            for g in last
        ]
    return found


def ranks(test: E.Expr) -> Iterator[str]:
    """The names of ranks that `test` compares with a number."""
    for e in E.walk(test):
        if isinstance(e, E.Binary) and e.op in _COMPARES:
            side = next((s for s in (e.left, e.right) if is_rank(s)), None)
            other = e.right if side is e.left else e.left
            if side is not None and isinstance(other, E.Const):
                yield E.dotted(side) or ""


def is_rank(expr: E.Expr) -> bool:
    name = E.dotted(expr)
    return name is not None and bool(_RANK.search(name.rsplit(".", 1)[-1]))


def _flags(test: E.Expr) -> Iterator[str]:
    match test:
        case E.Binary(op="and" | "or", left=left, right=right):
            yield from _flags(left)
            yield from _flags(right)
        case E.Unary(op="not", operand=operand):
            yield from _flags(operand)
        case E.Const():
            return
        case _ if not list(ranks(test)):
            yield source_of(test)


def table(before: Gate, after: Gate) -> list[Row]:
    """The rows on which the two gates differ; none where there are too many flags to go through.

    Where each gate asks one rank, it is taken to be the same one, whatever its name.
    """
    names = list(dict.fromkeys((*before.ranks, *after.ranks)))
    renamed: dict[str, str] = {}
    if len(before.ranks) == len(after.ranks) == 1:
        renamed = {before.ranks[0]: after.ranks[0]}
        names = [after.ranks[0]]
    flags = list(dict.fromkeys((*before.flags, *after.flags)))
    if len(flags) > _MOST_FLAGS or len(names) > 2:
        return []
    rows: list[Row] = []
    for numbers in product(*(RANKS for _ in names)):
        for bits in product((0, 1), repeat=len(flags)):
            values = dict(zip(names, numbers, strict=True)) | dict(zip(flags, bits, strict=True))
            old = values | {n: values[m] for n, m in renamed.items()}
            one, two = (
                all(holds(t, old) for t in before.tests),
                all(holds(t, values) for t in after.tests),
            )
            if one != two:
                rows.append(Row(tuple(values.items()), one, two))
    return rows


def holds(test: E.Expr, values: dict[str, int]) -> bool:
    """Whether `test` holds when its ranks and flags have these values."""
    match test:
        case E.Binary(op="and", left=left, right=right):
            return holds(left, values) and holds(right, values)
        case E.Binary(op="or", left=left, right=right):
            return holds(left, values) or holds(right, values)
        case E.Unary(op="not", operand=operand):
            return not holds(operand, values)
        case E.Const(value=value):
            return bool(value)
        case E.Binary(op=op, left=left, right=right) if op in _COMPARES and list(ranks(test)):
            one, two = _value(left, values), _value(right, values)
            return _compare(op, one, two)
        case _:
            return bool(values.get(source_of(test), 0))


def _value(expr: E.Expr, values: dict[str, int]) -> float:
    if isinstance(expr, E.Const) and isinstance(expr.value, int | float):
        return expr.value
    return values.get(E.dotted(expr) or "", 0)


def _compare(op: str, one: float, two: float) -> bool:
    match op:
        case "==":
            return one == two
        case "!=":
            return one != two
        case "<":
            return one < two
        case "<=":
            return one <= two
        case ">":
            return one > two
        case _:
            return one >= two
