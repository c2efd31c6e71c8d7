"""When a function sends or receives, as a boolean function of ranks and flags."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

from checks.domain.messages import MessageEnd, snake
from checks.domain.ops import calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.render import source_of
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import guarded_statements

_RANK = re.compile(r"(^|_)rank(_id|_idx)?$")
_TRANSFERS = re.compile(
    r"(^|_)(send|publish)(_|$)|^put(_nowait)?$|(^|_)(save|get)_(\w+_)?(output|first_token|msg|mmsg)(_|$)|save_out_"
)
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
# Above this a truth table has too many rows to go through.
_MOST_FLAGS = 5
_MOST_RANKS = 2
# The ranks that a truth table tries: enough to tell `rank > 0` from `rank == 1`.
TRIED_RANKS = (0, 1, 2)


@dataclass(frozen=True, slots=True)
class RankGate:
    """The conditions on ranks, `tests`, under which `function` reaches the transfer on `line`.

    `name` is what is called, empty for the function as a whole.
    """

    function: Function
    name: str
    tests: tuple[E.Expr, ...]
    line: int

    @property
    def ranks(self) -> tuple[str, ...]:
        """The ranks compared with a number, in order."""
        return tuple(dict.fromkeys(name for test in self.tests for name in compared_ranks(test)))

    @property
    def flags(self) -> tuple[str, ...]:
        """Everything else that the tests ask."""
        return tuple(dict.fromkeys(name for test in self.tests for name in _flags(test)))

    @property
    def first_line(self) -> int:
        """The line of the first test, or of the transfer where there is none."""
        return min((test.line for test in self.tests if test.line), default=self.line)

    def is_open(self, values: dict[str, int]) -> bool:
        """Whether the transfer happens when ranks and flags have these values."""
        return all(holds(test, values) for test in self.tests)


@dataclass(frozen=True, slots=True)
class TruthRow:
    """One line of the truth table: values, and whether the transfer happens before and after."""

    values: tuple[tuple[str, int], ...]
    before: bool
    after: bool

    @property
    def text(self) -> str:
        return ", ".join(f"{name} = {value}" for name, value in self.values)


def rank_gates(function: Function, endpoints: tuple[MessageEnd, ...]) -> list[RankGate]:
    """The gates of the transfers that `function` calls, or of its end if it is named as one."""
    transfer_lines = {e.line for e in endpoints if e.function.qualname == function.qualname}
    gates: list[RankGate] = []
    for call, guards in calls_of(function.body):
        name = E.callee(call)
        if call.line in transfer_lines or _TRANSFERS.search(snake(name)):
            gates.append(RankGate(function, name, _rank_tests(guards), call.line))
    if not gates and _TRANSFERS.search(snake(function.name)):
        own = [g for g in guarded_statements(function.body) if g.stmt in function.body]
        for last in own[-1:]:
            gates.append(RankGate(function, "", _rank_tests(last.guards), last.stmt.line))
    return gates


def _rank_tests(guards: tuple[E.Expr, ...]) -> tuple[E.Expr, ...]:
    return tuple(guard for guard in guards if asks_rank(guard))


def asks_rank(test: E.Expr) -> bool:
    """Whether a condition compares a rank with a number."""
    return bool(list(compared_ranks(test)))


def compared_ranks(test: E.Expr) -> Iterator[str]:
    """The names of ranks that `test` compares with a number."""
    for e in E.walk(test):
        if not isinstance(e, E.Binary) or e.op not in _COMPARISONS:
            continue
        if is_rank(e.left):
            rank, number = e.left, e.right
        elif is_rank(e.right):
            rank, number = e.right, e.left
        else:
            continue
        if isinstance(number, E.Const):
            yield E.dotted(rank) or ""


def is_rank(expr: E.Expr) -> bool:
    """Whether an expression is named as a rank is."""
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
        case _ if not asks_rank(test):
            yield source_of(test)


def truth_table(before: RankGate, after: RankGate) -> list[TruthRow]:
    """The rows on which the two gates differ; none where there are too many flags to go through.

    Where each gate asks one rank, it is taken to be the same one, whatever its name.
    """
    ranks = list(dict.fromkeys((*before.ranks, *after.ranks)))
    renamed: dict[str, str] = {}
    # A renamed parameter is no other rank.
    if len(before.ranks) == 1 and len(after.ranks) == 1:
        renamed = {before.ranks[0]: after.ranks[0]}
        ranks = [after.ranks[0]]
    flags = list(dict.fromkeys((*before.flags, *after.flags)))
    if len(flags) > _MOST_FLAGS or len(ranks) > _MOST_RANKS:
        return []
    rows: list[TruthRow] = []
    for values in _assignments(ranks, flags):
        old_values = dict(values)
        for old_name, name in renamed.items():
            old_values[old_name] = values[name]
        was_open, is_open = before.is_open(old_values), after.is_open(values)
        if was_open != is_open:
            rows.append(TruthRow(tuple(values.items()), was_open, is_open))
    return rows


def _assignments(ranks: list[str], flags: list[str]) -> Iterator[dict[str, int]]:
    """Every choice of a number for each rank and of 0 or 1 for each flag."""
    for numbers in product(TRIED_RANKS, repeat=len(ranks)):
        for bits in product((0, 1), repeat=len(flags)):
            rank_values = dict(zip(ranks, numbers, strict=True))
            flag_values = dict(zip(flags, bits, strict=True))
            yield rank_values | flag_values


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
        case E.Binary(op=op, left=left, right=right) if op in _COMPARISONS and asks_rank(test):
            return _COMPARISONS[op](_number(left, values), _number(right, values))
        case _:
            return bool(values.get(source_of(test), 0))


def _number(expr: E.Expr, values: dict[str, int]) -> float:
    if isinstance(expr, E.Const) and isinstance(expr.value, int | float):
        return expr.value
    return values.get(E.dotted(expr) or "", 0)
