"""An op and its copy for other hardware, on the same inputs: both are loaded into one process."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from kernels.emulator.asked_numbers import asked_numbers
from kernels.emulator.forks import Beginning
from kernels.emulator.job_ops import Ops
from kernels.emulator.library import HostTensor, OpError, OpSignature, Value
from kernels.emulator.readings import (
    Reading,
    RequestsDiffer,
    TakenByEach,
    TakenOnce,
    count_of,
    find_shift,
    read_rows,
)
from kernels.emulator.recording import Call
from kernels.emulator.replaying import FLOATS, Rooms, first_difference

# Where the sides differ each runs so often: what is random, or depends on the order of threads,
# shows itself.
_SEEDS = (0, 1, 2)
# The bytes beside the tensors of the side that is right: a result that follows them is of an input
# that no caller makes.
_ROOM_BYTES = {0: 0xA5, 1: 0x00, 2: 0x5A}
_TYPE = re.compile(r"\bDataType::(\w+)")
_READ = re.compile(r'\bgetenv\(\s*"(\w+)"')


class Agreement(StrEnum):
    """What came of one input."""

    AGREES = "agrees"
    DIFFERS = "differs"
    NOT_COMPARED = "not-compared"


class NotComparable(Exception):
    """An input that cannot be given to both sides, or on which a side has no one result."""


@dataclass(frozen=True)
class Comparison:
    """One input on both sides. `why` says why it was not compared.

    `expected` is the copy's value at `place`, `got` the op's own.
    """

    call: Call
    agreement: Agreement
    why: str = ""
    place: str = ""
    expected: str = ""
    got: str = ""


_Run = Callable[[int, Call, Sequence[Value], int], dict[str, HostTensor]]


@dataclass(frozen=True)
class _Seen:
    """What both sides gave, by name: the op's own results; where they differ, with the place and
    both values; and what is not the same each time."""

    results: Mapping[str, HostTensor]
    found: Mapping[str, tuple[str, str, str]]
    unsure: Collection[str]

    @property
    def sure(self) -> list[tuple[str, str, str]]:
        """The differences that show themselves each time."""
        return [self.found[name] for name in self.found if name not in self.unsure]


# A tensor's type, and its number of dimensions as far as that counts.
_Form = tuple[str, int]


class Pair:
    """An op and its copy, for other hardware or as it was before a change; `texts` are the sources
    of each."""

    def __init__(
        self,
        op: str,
        own: Ops,
        other: Ops,
        texts: Sequence[Sequence[str]] = ((), ()),
        *,
        for_other_hardware: bool = False,
    ) -> None:
        self._op = op
        self._sides = ((own, own.ops()[op]), (other, other.ops()[op]))
        names = [signature.parameters for _, signature in self._sides]
        self._shift = find_shift(texts[0], names[0], names[1]) or find_shift(
            texts[1], names[1], names[0]
        )
        self._texts = texts
        self.is_one_op = not for_other_hardware
        self._forms: tuple[dict[str, set[_Form]], ...] = ({}, {})
        self._readings: tuple[list[TakenOnce | TakenByEach], ...] | None = None
        self._beginning = Beginning(lambda asked: self._run(*asked))

    @property
    def parameters(self) -> set[str]:
        """What either side takes."""
        return {name for _, signature in self._sides for name in signature.parameters}

    @property
    def settings(self) -> list[str]:
        """The environment variables that both sides read."""
        read = [{name for text in texts for name in _READ.findall(text)} for texts in self._texts]
        return sorted(set.intersection(*read))

    @property
    def asked(self) -> dict[str, set[int]]:
        """The numbers that the code of both sides asks the elements of each parameter for."""
        own, other = (asked_numbers(texts, self.parameters) for texts in self._texts)
        return {name: own[name] & other[name] for name in own.keys() & other.keys()}

    @property
    def types(self) -> list[str]:
        """The types of floats that the code of both sides names, where they are one op: of copies
        those alone are known to be asked for that tests show."""
        named = [
            {name.lower() for text in texts for name in _TYPE.findall(text)}
            for texts in self._texts
        ]
        return sorted(set.intersection(*named) & set(FLOATS)) if self.is_one_op else []

    @property
    def texts_before(self) -> Sequence[str]:
        """The sources of the side that is right."""
        return self._texts[1]

    @property
    def stand_ins(self) -> dict[str, str]:
        """The functions that stand for what the copy declares and nobody defines."""
        return self._sides[1][0].stand_ins()

    def overwrites(self, call: Call, place: int) -> bool:
        """Whether nothing of a tensor is read: with other contents all results are the same."""
        value = call.values[place]
        if not isinstance(value, HostTensor) or not call.parameters:
            return False
        array = np.zeros_like(value.array) if value.array.any() else np.ones_like(value.array)
        values = list(call.values)
        values[place] = HostTensor(array, value.dtype, value.on_host)
        other = replace(call, values=values, is_shown=False)
        try:
            results = [self._run(1, c, self._arranged(1, c), _SEEDS[0]) for c in (call, other)]
        except NotComparable:
            return False
        # An op without a result shows nothing.
        return call.parameters[place] in results[0] and all(
            results[1][name].array.shape == tensor.array.shape
            and first_difference(tensor, results[1][name], _SEEDS[0], _SEEDS[0]) is None
            for name, tensor in results[0].items()
        )

    def show(self, call: Call, *, of_copy: bool) -> None:
        """Remember the forms of tensors that a side's own tests give it."""
        self._readings = None
        forms = self._forms[of_copy]
        for name, value in zip(call.parameters, call.values, strict=False):
            if isinstance(value, HostTensor):
                forms.setdefault(name, set()).add(self._form(of_copy, name, value))

    def _form(self, number: int, name: str, value: HostTensor) -> _Form:
        """A shape that a side's code does not ask for can be any: it reads one number after
        another."""
        asked = re.compile(rf"\b{re.escape(name)}\.(?:shape|dims)\(")
        is_asked = any(asked.search(text) for text in self._texts[number])
        return value.dtype, value.array.ndim if is_asked else 1

    def compare(self, call: Call) -> Comparison:
        """The call on both sides: the first tensor that both have and that differs."""
        try:
            values = [self._arranged(number, call) for number in (0, 1)]
            seen = self._look(call, values, self._run)
            if seen.found and not seen.sure:
                # What an op keeps from call to call, the state of random numbers, is then the same.
                seen = self._look(call, values, self._run_from_beginning)
            if seen.found and not seen.sure:
                return self._agreement_without(seen, call, values[0])
        except NotComparable as error:
            return Comparison(call, Agreement.NOT_COMPARED, str(error))
        if not seen.found:
            return Comparison(call, Agreement.AGREES)
        place, got, expected = seen.sure[0]
        return Comparison(call, Agreement.DIFFERS, "", place, expected, got)

    def _look(self, call: Call, values: Sequence[Sequence[Value]], run: _Run) -> _Seen:
        """What the sides give, and where they differ. Raises `NotComparable`."""
        own, other = (run(number, call, values[number], _SEEDS[0]) for number in (0, 1))
        # What one side takes once and the other for each request has two shapes.
        own_alone = {name for item in self._taken(0) for name in (item.name, item.count)}
        names = [name for name in own if name in other and name not in own_alone]
        if not names:
            raise NotComparable("no result is given back by both")
        found = {}
        for name in names:
            difference = _difference(name, own[name], other[name])
            if difference is not None:
                found[name] = difference
        # Only a difference has to be sure: that each side alone is of one mind.
        unsure: set[str] = set()
        for number, result in enumerate((own, other)) if found else ():
            # Of one op before and after a change, what was of one mind and is no longer differs.
            if number or not self.is_one_op or run != self._run_from_beginning:
                unsure |= self._unstable(number, call, values[number], result, run)
        return _Seen({name: own[name] for name in names}, found, unsure)

    def gives_result(self, number: int, call: Call) -> bool:
        """Whether a side takes the call."""
        try:
            self._run(number, call, self._arranged(number, call), _SEEDS[0])
        except NotComparable:
            return False
        return True

    def _agreement_without(self, seen: _Seen, call: Call, values: Sequence[Value]) -> Comparison:
        """Both agree in all that is the same each time. Raises `NotComparable` where none of it was
        written."""
        why = f"{', '.join(sorted(seen.unsure))} is not the same each time"
        parameters = self._sides[0][1].parameters or call.parameters
        given = dict(zip(parameters, values, strict=False))
        for name, result in seen.results.items():
            before = given.get(name)
            is_written = not isinstance(before, HostTensor) or not np.array_equal(
                before.array, result.array
            )
            if name not in seen.unsure and is_written:
                return Comparison(call, Agreement.AGREES, why)
        raise NotComparable(why)

    def _arranged(self, number: int, call: Call) -> list[Value]:
        """The call's arguments for a side. Raises `NotComparable` where its callers give others."""
        signature = self._sides[number][1]
        readings: list[Reading] = [*self._taken(number)]
        if self._shift is not None:
            readings.append(self._shift)
        try:
            values = arrange(call, signature, readings)
        except RequestsDiffer as error:
            raise NotComparable(str(error)) from error
        for name, value in zip(signature.parameters, values, strict=False):
            shown = self._forms[number].get(name)
            if shown and isinstance(value, HostTensor):
                form = self._form(number, name, value)
                if form not in shown:
                    raise NotComparable(f"one side takes {name} as {_forms_text({form}, shown)}")
        return values

    def _taken(self, number: int) -> Sequence[TakenOnce | TakenByEach]:
        """How a side takes what its tests and the other's show with another number of
        dimensions."""
        if self._readings is None:
            self._readings = (self._find_taken(0), self._find_taken(1))
        return self._readings[number]

    def _find_taken(self, number: int) -> list[TakenOnce | TakenByEach]:
        found: list[TakenOnce | TakenByEach] = []
        own_forms, forms = self._forms[number], self._forms[1 - number]
        parameters = set(self._sides[number][1].parameters)
        for name in own_forms.keys() & forms.keys():
            if len(own_forms[name]) != 1 or len(forms[name]) != 1:
                continue
            [(dtype, rank)], [(other_dtype, other_rank)] = own_forms[name], forms[name]
            if dtype != other_dtype:
                continue
            count = count_of(name, parameters)
            if rank == other_rank - 1:
                count_of_other = count_of(name, self._sides[1 - number][1].parameters)
                found.append(TakenOnce(name, rank, count_of_other, is_whole=not count))
            elif rank == other_rank + 1:
                [count_type] = {kind for kind, _ in own_forms.get(count, ())} or {""}
                found.append(TakenByEach(name, other_rank, count, count_type))
        return found

    def _unstable(
        self,
        number: int,
        call: Call,
        values: Sequence[Value],
        first: Mapping[str, HostTensor],
        run: _Run,
    ) -> set[str]:
        """The results of a side that are others under another schedule."""
        unstable = set()
        for seed in _SEEDS[1:]:
            for name, tensor in run(number, call, values, seed).items():
                is_same_shape = first[name].array.shape == tensor.array.shape
                if not is_same_shape or (
                    first_difference(first[name], tensor, _SEEDS[0], seed) is not None
                ):
                    unstable.add(name)
        return unstable

    def _run_from_beginning(
        self, number: int, call: Call, values: Sequence[Value], seed: int
    ) -> dict[str, HostTensor]:
        """A side's results as if it was called for the first time. Raises `NotComparable`."""
        results: dict[str, HostTensor] | None = self._beginning.ask((number, call, values, seed))
        if results is None:
            raise NotComparable("a side gives no result when it is called for the first time")
        return results

    def _run(
        self, number: int, call: Call, values: Sequence[Value], seed: int
    ) -> dict[str, HostTensor]:
        """A side's results by name. Raises `NotComparable` where it refuses the input."""
        library, signature = self._sides[number]
        names = signature.parameters or call.parameters
        # The op's own side may read wrongly: it always finds the same there.
        rooms = Rooms(_ROOM_BYTES[seed if number else 0])
        own = rooms.copy(values)
        library.check_types(wanted=call.has_other_types)
        try:
            with call.with_settings():
                results = library.call(self._op, own, seed)
        except OpError as error:
            raise NotComparable(f"refused: {str(error)[:200]}") from error
        if number and not call.is_shown and not rooms.are_whole():
            raise NotComparable("the other side writes beside a tensor")
        tensors = {}
        for position, result in enumerate(results):
            if isinstance(result, HostTensor):
                tensors[f"result {position}"] = result
        for name, value in zip(names, own, strict=False):
            if isinstance(value, HostTensor):
                tensors[name] = value
        shift = self._shift
        if shift is not None and shift.base in tensors and shift.offsets in tensors:
            tensors[shift.rows] = read_rows(tensors[shift.base], tensors[shift.offsets])
        return tensors


def _forms_text(given: set[_Form], shown: set[_Form]) -> str:
    """`int64[2]` of a tensor with two dimensions."""
    texts = [", ".join(f"{dtype}[{rank}]" for dtype, rank in sorted(s)) for s in (given, shown)]
    return f"{texts[0]}, the other as {texts[1]}"


def arrange(call: Call, signature: OpSignature, readings: Sequence[Reading] = ()) -> list[Value]:
    """The call's arguments in the order of another side's parameters.

    Raises `NotComparable` where a parameter is the other side's alone, and `RequestsDiffer`.
    """
    if not signature.parameters or not call.parameters:
        if signature.parameters and len(signature.parameters) != len(call.values):
            raise NotComparable("the numbers of parameters differ")
        return list(call.values)
    given = dict(zip(call.parameters, call.values, strict=False))
    for reading in readings:
        given = reading.translate(given)
    missing = [name for name in signature.parameters if name not in given]
    if missing:
        raise NotComparable(f"one side alone takes {', '.join(missing)}")
    return [given[name] for name in signature.parameters]


def _difference(name: str, own: HostTensor, other: HostTensor) -> tuple[str, str, str] | None:
    """Where, the op's own value, and the copy's."""
    if own.array.shape != other.array.shape:
        return f"{name}, shape", str(list(own.array.shape)), str(list(other.array.shape))
    if own.dtype != other.dtype:
        return f"{name}, type", own.dtype, other.dtype
    # What one side leaves unwritten is padding that no caller reads.
    place = first_difference(own, other, _SEEDS[0], _SEEDS[0], by_both=False)
    if place is None:
        return None
    where = f"{name}{list(place)}" if place else name
    return where, _text(own, place), _text(other, place)


def _text(tensor: HostTensor, place: tuple[int, ...]) -> str:
    value = tensor.array[place]
    if tensor.dtype == "bfloat16":
        return f"{(np.uint32(value) << 16).view(np.float32):.6g}"
    return str(value)
