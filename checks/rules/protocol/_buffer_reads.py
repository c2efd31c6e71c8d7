"""The Python end of a message: calls of a receiving op that fill an attribute of a class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Side
from checks.domain.messages import MessageEnd, op_argument
from checks.domain.ops import calls_of, functions_calling
from checks.eval.constants.lookup import Constants
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.rules.protocol._buffer_numbers import buffer_numbers
from checks.rules.protocol._class_conditions import class_conditions
from checks.rules.protocol._layout_numbers import LayoutNumber

_MOST_ARGUMENTS = 8


@dataclass(frozen=True, slots=True)
class BufferRead:
    """A call of an op that fills `buffer` (`self.tokens`), in a method of the class `owner`.

    `param` is the receiver's parameter that the buffer is for. `conditions` are those under which
    the call runs, in terms of what the class's attributes stand for.
    """

    op: str
    buffer: str
    param: str
    unit: SourceFile
    owner: str
    line: int
    conditions: tuple[tuple[E.Expr, bool], ...]

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """What names the same read in both trees."""
        return self.op, self.buffer, self.param, self.owner


class BufferReads:
    """The buffer reads of one side of a change, and the layout that each class reads by."""

    def __init__(self, change: ChangeSet, config: Config, constants: Constants, side: Side) -> None:
        self._change = change
        self._config = config
        self._constants = constants
        self._side = side
        self._numbers: dict[tuple[object, ...], list[LayoutNumber]] = {}

    def of_receiver(self, end: MessageEnd) -> Iterator[BufferRead]:
        """Every call of the ops of `end` in product code, with an attribute as its buffer."""
        for op in end.unit.ops:
            kernels = end.unit.named(op.kernel.rsplit("::", 1)[-1])
            if op.name not in end.ops or not kernels:
                continue
            params = _params_by_position(end, kernels[0])
            for path in self._change.tree(self._side).paths_containing(op.name, "python"):
                unit = self._change.unit(path, self._side)
                if unit is not None and not self._config.is_test(path):
                    yield from _reads_in(unit, op.name, params)

    def of_op(self, op: str, unit: SourceFile) -> Iterator[BufferRead]:
        """The calls of `op` in one file, whatever parameter each attribute is for."""
        positions = {position: str(position) for position in range(_MOST_ARGUMENTS)}
        yield from _reads_in(unit, op, positions)

    def numbers(self, read: BufferRead) -> list[LayoutNumber]:
        """The layout by which the reading class cuts the buffer."""
        # Kept, because several ops fill one buffer and the whole class is walked for it.
        key = (read.unit.path, read.owner, read.buffer, read.conditions)
        if key not in self._numbers:
            found = buffer_numbers(
                read.buffer,
                read.owner,
                dict(read.conditions),
                read.unit,
                self._constants,
                self._side,
            )
            self._numbers[key] = list(found)
        return self._numbers[key]


def _params_by_position(end: MessageEnd, kernel: Function) -> dict[int, str]:
    """Position in a call of the op -> the receiver's parameter that gets the argument."""
    names = [param.name for param in kernel.params]
    params: dict[int, str] = {}
    for param in end.function.params:
        argument = op_argument(param.name, end.function, kernel)
        if argument is not None and argument in names:
            params[names.index(argument)] = param.name
    return params


def _reads_in(unit: SourceFile, op: str, params: dict[int, str]) -> Iterator[BufferRead]:
    for function in functions_calling(op, unit):
        if not function.owner:
            continue
        for call, guards in calls_of(function.body):
            if E.callee(call) != op:
                continue
            conditions = tuple(class_conditions(guards, unit, function.owner).items())
            for position, param in params.items():
                buffer = _attribute_at(position, call)
                if buffer is not None:
                    yield BufferRead(op, buffer, param, unit, function.owner, call.line, conditions)


def _attribute_at(position: int, call: E.Call) -> str | None:
    """The attribute of `self` that is passed at `position`."""
    if position >= len(call.args):
        return None
    name = E.dotted(call.args[position])
    if name is None or not name.startswith("self."):
        return None
    return name
