"""An op beside the one that is right, both written here: which inputs count, and which is shown."""

from __future__ import annotations

import ctypes
import os
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from kernels.emulator.edits import Filling, Retyping
from kernels.emulator.library import HostTensor, MissingPart, OpError, OpSignature, Value
from kernels.emulator.recording import Call
from kernels.emulator.replaying import compare, make_call
from kernels.emulator.siblings import Agreement, Pair
from kernels.emulator.variation import find_difference, find_fillings, find_retypings, reform

Body = Callable[[list[np.ndarray]], None]
_NAMES = ("lens", "flags", "out")


class Written:
    """An op `f` in Python; it takes floats of the types `takes` alone where these are checked."""

    def __init__(self, body: Body, takes: Sequence[str] = ("float32",)) -> None:
        self._body = body
        self._takes = takes
        self._is_checked = False

    def ops(self) -> dict[str, OpSignature]:
        return {"f": OpSignature(_NAMES, ())}

    def check_types(self, *, wanted: bool) -> None:
        self._is_checked = wanted

    def call(self, name: str, values: Sequence[Value], seed: int = 0) -> list[Value]:
        tensors = [value for value in values if isinstance(value, HostTensor)]
        for tensor in tensors:
            if self._is_checked and "float" in tensor.dtype and tensor.dtype not in self._takes:
                raise OpError("another type")
        self._body([tensor.array for tensor in tensors])
        return []

    def stand_ins(self) -> dict[str, str]:
        return {}


def add(arrays: list[np.ndarray]) -> None:
    lens, flags, out = arrays
    out[:] = lens + flags


def asked(lens: Sequence[int], *, is_shown: bool = True) -> Call:
    numbers = HostTensor(np.array(lens, np.int64), "int64")
    flags = HostTensor(np.zeros(len(lens), bool), "bool")
    out = HostTensor(np.full(len(lens), -5, np.int64), "int64")
    return Call("f", _NAMES, [numbers, flags, out], is_shown)


def pair_of(own: Body, other: Body = add) -> Pair:
    return Pair("f", Written(own), Written(other))


def behind(array: np.ndarray) -> int:
    """The address of the byte behind an array."""
    return int(array.ctypes.data) + array.nbytes


def follow(arrays: list[np.ndarray]) -> None:
    """What lies behind the lengths comes into the result."""
    add(arrays)
    arrays[2][0] += ctypes.c_uint8.from_address(behind(arrays[0])).value


def spill(arrays: list[np.ndarray]) -> None:
    """A byte is written behind the lengths."""
    add(arrays)
    arrays[2][0] += 1
    ctypes.c_uint8.from_address(behind(arrays[0])).value = 7


@pytest.mark.parametrize(
    ("own", "other", "is_shown", "agreement"),
    [
        (add, add, False, Agreement.AGREES),
        # What the op reads beside a tensor is its own mistake, always the same.
        (follow, add, False, Agreement.DIFFERS),
        (spill, add, False, Agreement.DIFFERS),
        # Where the one that is right does, no caller makes such an input.
        (add, follow, False, Agreement.NOT_COMPARED),
        (add, spill, False, Agreement.NOT_COMPARED),
        # A test has made it all the same.
        (add, spill, True, Agreement.DIFFERS),
    ],
)
def test_which_inputs_count(
    own: Body, other: Body, *, is_shown: bool, agreement: Agreement
) -> None:
    call = asked([3, 4, 5], is_shown=is_shown)
    assert pair_of(own, other).compare(call).agreement == agreement


def counting(added: int) -> Body:
    """What is counted from call to call comes into the result, and what is `added`."""
    calls = [0]

    def body(arrays: list[np.ndarray]) -> None:
        add(arrays)
        if arrays[0][0] == 0:
            raise OpError("no first request")
        calls[0] += 1
        arrays[2][-1] += 10 * calls[0] + added

    return body


def by_chance(arrays: list[np.ndarray]) -> None:
    """The result is another each time."""
    add(arrays)
    arrays[2][-1] += int.from_bytes(os.urandom(4), "big")


@pytest.mark.parametrize(
    ("own", "other", "agreement"),
    [
        (counting(0), counting(0), Agreement.AGREES),
        (counting(1), counting(0), Agreement.DIFFERS),
        (by_chance, by_chance, Agreement.NOT_COMPARED),
    ],
)
def test_what_an_op_keeps_from_call_to_call(own: Body, other: Body, agreement: Agreement) -> None:
    pair = pair_of(own, other)
    # One side alone is called once more.
    assert pair.gives_result(1, asked([3, 4, 5]))
    compared = pair.compare(asked([3, 4, 5]))
    assert compared.agreement == agreement
    if agreement is Agreement.DIFFERS:
        assert (compared.place, compared.got, compared.expected) == ("out[2]", "16", "15")
    # What the first call refuses is refused, whatever was called before.
    assert pair.compare(asked([0, 4, 5])).agreement == (
        Agreement.NOT_COMPARED if own is not by_chance else agreement
    )


def test_what_is_no_longer_the_same_each_time() -> None:
    call = asked([3, 4, 5])
    assert pair_of(by_chance, add).compare(call).agreement is Agreement.DIFFERS
    assert pair_of(add, by_chance).compare(call).agreement is Agreement.NOT_COMPARED
    calls = [0]

    def counted(arrays: list[np.ndarray]) -> None:
        add(arrays)
        arrays[2][-1] += calls[0]
        calls[0] += 1

    # What is another with each call is the same with each first one.
    pair = pair_of(counted)
    assert pair.gives_result(0, call)
    assert pair.compare(call).agreement is Agreement.AGREES
    # On other hardware it may well be.
    copies = Pair("f", Written(by_chance), Written(add), for_other_hardware=True)
    assert copies.compare(call).agreement is Agreement.NOT_COMPARED


def test_what_is_overwritten() -> None:
    pair = pair_of(add)
    call = asked([3, 4, 5])
    assert [pair.overwrites(call, place) for place in range(3)] == [False, False, True]

    def accumulate(arrays: list[np.ndarray]) -> None:
        arrays[2][:] += arrays[0]

    assert not pair_of(add, accumulate).overwrites(call, 2)


def test_the_first_difference_is_made_small() -> None:
    def differ(arrays: list[np.ndarray]) -> None:
        add(arrays)
        # Where a request has nothing and its flag is set.
        arrays[2][(arrays[0] == 0) & arrays[1]] += 100

    counts: Counter[str] = Counter()
    calls = [asked([3, 4, 5]), asked([6, 7, 8, 9])]
    found = find_difference(pair_of(differ), calls, 300, counts)
    assert found is not None
    lens, flags = (value.array for value in found.call.values[:2] if isinstance(value, HostTensor))
    # One length of a call is another, and no more.
    before = [3, 4, 5] if len(lens) == 3 else [6, 7, 8, 9]
    assert int((lens != before).sum()) == 1
    assert flags[lens == 0].all()
    assert int(found.got) == int(found.expected) + 100
    assert counts[Agreement.DIFFERS] > 0
    assert not found.call.is_shown


@pytest.mark.parametrize("first", [3, 6, 11])
def test_nothing_is_changed_that_need_not_be(first: int) -> None:
    def differ(arrays: list[np.ndarray]) -> None:
        add(arrays)
        arrays[2][0] += arrays[1].any() * first

    calls = [asked([first, 4, 5]), asked([6, 7, 8, 9])]
    found = find_difference(pair_of(differ), calls, 300, Counter())
    assert found is not None
    lens, flags, out = (v.array for v in found.call.values if isinstance(v, HostTensor))
    # The smaller call, and what it has beside the flags.
    assert lens.tolist() == [first, 4, 5]
    assert out.tolist() == [-5, -5, -5]
    assert flags.any()


def test_no_difference_is_found_where_there_is_none() -> None:
    counts: Counter[str] = Counter()
    assert find_difference(pair_of(add), [asked([3, 4, 5])], 40, counts) is None
    assert counts == {Agreement.AGREES: 40}
    assert find_difference(pair_of(add), [], 40, counts) is None


def test_no_input_is_tried_twice() -> None:
    asked_of: list[bytes] = []

    def keep(arrays: list[np.ndarray]) -> None:
        asked_of.append(b"".join(array.tobytes() for array in arrays))
        add(arrays)

    counts: Counter[str] = Counter()
    assert find_difference(pair_of(keep), [asked([3, 4, 5])], 100, counts) is None
    # What is asked before the first variation is what is read at all.
    tried = asked_of[-100:]
    assert len(set(tried)) == 100
    assert counts == {Agreement.AGREES: 100}
    # Where there are fewer than that, it comes to an end.
    few = Call("f", _NAMES, [None, HostTensor(np.zeros(1, bool), "bool"), None])
    nothing = pair_of(lambda arrays: None, lambda arrays: None)
    assert find_difference(nothing, [few], 40, counts) is None


def test_numbers_that_both_sides_ask_for() -> None:
    texts = [["if (lens[i] == 3 || lens[i] == 4) return;"], ["if (lens[i] != 4) return;"]]
    assert Pair("f", Written(add), Written(add), texts).asked == {"lens": {4}}


def test_the_types_in_which_an_op_takes_its_floats() -> None:
    texts = [["case DataType::FLOAT32: case DataType::FLOAT16:"], ["DataType::FLOAT16, BFLOAT16"]]

    def ignore(arrays: list[np.ndarray]) -> None:
        assert len(arrays) == 3

    sides = [Written(ignore, ("float32", "float16")) for _ in range(2)]
    pair = Pair("f", *sides, texts)
    # Those that both sides name.
    assert pair.types == ["float16"]
    tensors = [HostTensor(np.ones(3, np.float32), "float32") for _ in range(2)]
    call = Call("f", _NAMES, [*tensors, HostTensor(np.ones(3, np.int64), "int64")])
    assert find_retypings(pair, call) == [
        Retyping((0,), "float16"),
        Retyping((1,), "float16"),
        Retyping((0, 1), "float16"),
    ]
    # The type that the call has is no other.
    both = Pair("f", *sides, [texts[0], texts[0]])
    assert both.types == ["float16", "float32"]
    assert {retyping.dtype for retyping in find_retypings(both, call)} == {"float16"}
    narrow = Pair("f", sides[0], Written(ignore, ("float32",)), texts)
    assert find_retypings(narrow, call) == []
    # Of copies only those are known that tests show.
    assert Pair("f", *sides, texts, for_other_hardware=True).types == []


class Optional(Written):
    """An op that takes `flags` and `more` or neither, and only flags for `flags`."""

    def __init__(self, added: int) -> None:
        super().__init__(add)
        self._added = added

    def ops(self) -> dict[str, OpSignature]:
        return {"f": OpSignature(("lens", "flags", "more", "out"), ())}

    def call(self, name: str, values: Sequence[Value], seed: int = 0) -> list[Value]:
        lens, flags, more, out = values
        assert isinstance(lens, HostTensor) and isinstance(out, HostTensor)
        out.array[:] = lens.array
        if flags is None and more is None:
            return []
        if not isinstance(flags, HostTensor) or not isinstance(more, HostTensor):
            raise OpError("both or neither")
        if self._is_checked and flags.dtype != "bool":
            raise OpError("another type")
        out.array[more.array == 4] += self._added
        return []


def test_what_no_call_gives_is_given() -> None:
    lens, _, out = asked([3, 4, 5]).values
    names = ("lens", "flags", "more", "out")
    calls = [Call("f", names, [lens, None, None, out])]
    none = Pair("f", Optional(1), Optional(0))
    # No tensor of the call is one of flags.
    assert find_fillings(none, calls) == []
    assert find_difference(none, calls, 50, Counter()) is None


class Rows(Optional):
    """The same for tensors of any type."""

    def check_types(self, *, wanted: bool) -> None:
        return


def test_a_difference_in_what_no_call_gives() -> None:
    lens, _, out = asked([3, 4, 5]).values
    names = ("lens", "flags", "more", "out")
    calls = [Call("f", names, [lens, None, None, out]), Call("f", names, [out, None, None, lens])]
    pair = Pair("f", Rows(1), Rows(0))
    # Either alone is refused; there is one kind of tensor to give.
    assert find_fillings(pair, calls) == [
        Filling((1, 2), (0, 0), (False, False)),
        Filling((1, 2), (0, 0), (False, True)),
    ]
    found = find_difference(pair, calls, 50, Counter())
    assert found is not None
    assert not found.call.is_shown
    flags, more = found.call.values[1:3]
    assert isinstance(flags, HostTensor) and isinstance(more, HostTensor)
    assert more.array.tolist() == [5, 4, 3]
    with_zeros = reform(calls[0], Filling((1,), (0,), (True,)))
    assert isinstance(with_zeros.values[1], HostTensor)
    assert with_zeros.values[1].array.tolist() == [0, 0, 0]
    # What one call gives is left to itself, and of copies for other hardware nothing is made up.
    given = Call("f", names, [lens, lens, lens, out])
    assert find_fillings(pair, [*calls, given]) == []
    copies = Pair("f", Rows(1), Rows(0), for_other_hardware=True)
    assert find_fillings(copies, calls) == []


class Missing(Written):
    """An op that comes to what the emulator does not have."""

    def call(self, name: str, values: Sequence[Value], seed: int = 0) -> list[Value]:
        raise MissingPart("clusters")


def test_what_the_emulator_does_not_have_is_no_result() -> None:
    call = asked([3, 4, 5])
    missing, result = make_call(Missing(add), call, 0), make_call(Written(add), call, 0)
    assert compare(missing, result, 0, 0) == ""
    assert compare(result, missing, 0, 0) == ""
    assert (missing.error, missing.is_missing, result.is_missing) == ("clusters", True, False)
