"""Variations of recorded calls, and mistakes put into lines: what they contain, and what not."""

from __future__ import annotations

import numpy as np

from bot.device.mutants import mutants_of
from kernels.emulator.edits import Edit
from kernels.emulator.library import HostTensor
from kernels.emulator.limits import Limit
from kernels.emulator.preconditions import Preconditions, find_preconditions
from kernels.emulator.prefix_sums import PrefixSum, find_prefix_sums
from kernels.emulator.recording import Call
from kernels.emulator.replaying import Rooms
from kernels.emulator.variation import Freedom, vary
from tests.device.kernel_mutants import device_lines


def call(lens: list[int], stopped: list[bool], step: int, name: str = "lens") -> Call:
    tensors = [
        HostTensor(np.array(lens, np.int32), "int32"),
        HostTensor(np.array(stopped), "bool"),
    ]
    return Call("advance", (name, "stopped", "step"), [*tensors, step])


SHOWN = [call([1, 2], [False, False], 1), call([7, 8, 9], [True, True, False], 5)]


def values_of(varied: Call) -> tuple[list[int], list[bool], object]:
    lens, stopped, step = varied.values
    assert isinstance(lens, HostTensor)
    assert isinstance(stopped, HostTensor)
    return lens.array.tolist(), stopped.array.tolist(), step


def test_a_row_is_exchanged_in_all_tensors() -> None:
    varied = vary(SHOWN, 0, [Edit("row", choice=0, place=1, donor=1)])
    assert values_of(varied) == ([1, 7], [False, True], 1)
    # What was recorded stays.
    assert values_of(SHOWN[0]) == ([1, 2], [False, False], 1)


def test_a_flag_is_turned_and_a_number_is_what_another_call_shows() -> None:
    varied = vary(SHOWN, 0, [Edit("flag", choice=0, place=0, donor=1)])
    assert values_of(varied) == ([1, 2], [True, False], 1)
    varied = vary(SHOWN, 0, [Edit("flag", choice=1, place=0, donor=1)])
    assert values_of(varied) == ([1, 2], [True, True], 1)
    varied = vary(SHOWN, 0, [Edit("number", choice=0, place=0, donor=1)])
    assert values_of(varied) == ([1, 2], [False, False], 5)


def test_a_length_is_what_a_call_shows_or_there_is_room_for() -> None:
    shown = [call([5, 6], [False, False], 1), call([0, 7], [False, False], 1)]
    room = Freedom(Preconditions(limits=[Limit(place=0, of=2, axis=0)]))
    # None, one that the other call shows, one, and the most that the plain number allows.
    assert lengths_of(shown, 1, freedom=Freedom()) == [[0, 0], [0, 5], [0, 1], [0, 0]]
    shown = [call(lens, [False, False], 9) for lens in ([5, 6], [0, 7])]
    assert lengths_of(shown, 1, freedom=room) == [[0, 0], [0, 5], [0, 1], [0, 9]]
    # A call without requests stays as it is.
    assert values_of(vary([call([], [], 1)], 0, [Edit("length", 0, 0, 0)])) == ([], [], 1)


def lengths_of(shown: list[Call], index: int, freedom: Freedom) -> list[list[int]]:
    """What each choice makes of the second request's length."""
    edits = [Edit("length", choice, place=1, donor=0) for choice in range(4)]
    return [values_of(vary(shown, index, [edit], freedom))[0] for edit in edits]


def test_a_limit_in_the_environment_is_about_what_there_is() -> None:
    settings = ("MOST_ROWS", "MOST_TOKENS")
    for place in range(20):
        varied = vary(SHOWN, 1, [Edit("setting", 1, place, donor=0)], Freedom(settings=settings))
        # 7, 8 and 9 tokens.
        assert varied.settings == {"MOST_TOKENS": str(place % 25)}
        assert not varied.is_shown


def test_sums_over_rows_keep_their_rows() -> None:
    shown = [call([0, 2], [False, False], 1, "cu_lens"), call([0, 5], [True, True], 1, "cu_lens")]
    freedom = Freedom(find_preconditions(shown, lambda call, place: False))
    varied = vary(shown, 0, [Edit("row", choice=1, place=1, donor=1)], freedom)
    assert values_of(varied) == ([0, 2], [False, False], 1)
    # What the op writes itself, whatever stood there, is no sum of any caller's.
    freedom = Freedom(find_preconditions(shown, lambda call, place: place == 0))
    varied = vary(shown, 0, [Edit("row", choice=1, place=1, donor=1)], freedom)
    assert values_of(varied) == ([0, 5], [False, True], 1)


def test_mistakes_are_put_into_code_alone() -> None:
    text = 'int i = 0;\nif (i < n && ok) f<int>(i);  // a < b\ncheck("a == b");\n'
    changes = [(m.line, m.after) for m in mutants_of("a.cu", text, [2, 3])]
    assert (2, "if (i <= n && ok) f<int>(i);  // a < b") in changes
    assert (2, "if (i < n || ok) f<int>(i);  // a < b") in changes
    assert all(line == 2 for line, _ in changes)
    assert all("f<int>" in after and "// a < b" in after for _, after in changes)
    [first, *_] = mutants_of("a.cu", text, [1])
    assert first.text.splitlines()[0] == "int i = 1;"
    assert first.text.splitlines()[1:] == text.splitlines()[1:]


def test_barriers_guards_and_indices() -> None:
    lines = [
        "if (row >= rows) return;",
        "__syncthreads();",
        "sum += values[row];",
        "table[row][column] = threadIdx.x;",
    ]
    text = "\n".join(lines)
    changes = {(m.line, m.after) for m in mutants_of("a.cu", text, [1, 2, 3, 4])}
    assert changes >= {
        (1, ";"),
        (2, ";"),
        (3, "sum += values[row + 1];"),
        (4, "table[column][row] = threadIdx.x;"),
        (4, "table[row][column] = blockIdx.x;"),
    }


def test_mistakes_of_kernels_are_in_device_functions() -> None:
    text = """
__device__ int twice(int x) { return 2 * x; }
__global__ void kernel(int* a);
__global__ void kernel(int* a) {
  a[0] = twice(a[0]);
}
void host(int* a) {
  kernel<<<1, 1>>>(a);
}
"""
    assert device_lines(text) == [2, 4, 5, 6]


def summed(lens: list[int], cu_lens: list[int], rest: list[int]) -> Call:
    numbers = [HostTensor(np.array(row, np.int32), "int32") for row in (lens, cu_lens, rest)]
    return Call("pack", ("lens", "cu_lens", "cum_offsets"), list(numbers))


# The sums of lengths with a 0 before them, and those of what is missing to 8.
SUMMED = [summed([3, 0, 5], [0, 3, 3, 8], [5, 13, 16]), summed([2, 2], [0, 2, 4], [6, 12])]
SUMS = [
    PrefixSum(1, 0, inclusive=False, of_rest=False),
    PrefixSum(2, 0, inclusive=True, of_rest=True),
]


def test_which_arguments_are_sums_of_others() -> None:
    assert find_prefix_sums(SUMMED) == SUMS
    # One call without them is enough, and calls that would fit anything are none.
    assert find_prefix_sums([*SUMMED, summed([1, 2], [0, 1, 4], [7, 13])]) == SUMS[1:]
    assert find_prefix_sums([summed([0, 0], [0, 0, 0], [0, 0])]) == []
    assert find_prefix_sums([]) == []


def test_sums_follow_the_lengths() -> None:
    edit = Edit("idle", choice=2, place=0, donor=0)
    varied = vary(SUMMED, 0, [edit], Freedom(Preconditions(SUMS)))
    numbers = [value.array.tolist() for value in varied.values if isinstance(value, HostTensor)]
    assert numbers == [[0, 0, 5], [0, 0, 0, 5], [8, 16, 19]]
    # Sums that nobody knows forbid it, and so does a row from elsewhere where there are sums.
    for kind, rules in (
        ("idle", Preconditions(SUMS[:1], derived=[2], bound=[0])),
        ("row", Preconditions(SUMS)),
    ):
        same = vary(SUMMED, 0, [Edit(kind, 1, 0, 1)], Freedom(rules))
        assert isinstance(same.values[0], HostTensor)
        assert same.values[0].array.tolist() == [3, 0, 5]


def test_an_idle_request_among_others() -> None:
    shown = [Call("f", ("a", "b"), [column([4, 5, 6]), column([7, 8, 9])])]
    varied = vary(shown, 0, [Edit("idle", choice=1, place=1, donor=0)])
    arrays = [value.array.tolist() for value in varied.values if isinstance(value, HostTensor)]
    assert arrays == [[[4], [5], [6]], [[7], [0], [9]]]


def column(numbers: list[int]) -> HostTensor:
    return HostTensor(np.array(numbers, np.int64).reshape(-1, 1), "int64")


def test_a_copy_of_arguments_has_room_around_each_tensor() -> None:
    arrays = [np.arange(6).reshape(2, 3).T, np.zeros((0, 5)), np.array(3)]
    for array in arrays:
        [copied], number = Rooms().copy([[HostTensor(array, "int64")], 7])
        assert number == 7
        np.testing.assert_array_equal(copied.array, array)
        assert copied.array.size == 0 or copied.array.strides == array.strides
        assert copied.array.base is not None


def test_two_requests_show_no_sum() -> None:
    chance = call([1, 4], [False, True], 5).values[0], call([1, 5], [False, True], 5).values[0]
    assert find_prefix_sums([Call("gather", ("encoder", "decoder"), list(chance))]) == []


def test_sums_that_the_op_writes_itself_are_not_made_again() -> None:
    assert find_preconditions(SUMMED, lambda call, place: False).sums == SUMS
    assert find_preconditions(SUMMED, lambda call, place: place == 1).sums == SUMS[1:]
