"""Variations of recorded calls, and mistakes put into lines: what they contain, and what not."""

from __future__ import annotations

import numpy as np
import pytest

from bot.device.mutants import mutants_of
from kernels.emulator.asked_numbers import asked_numbers
from kernels.emulator.edits import Edit
from kernels.emulator.float_rows import find_row_rules
from kernels.emulator.library import HostTensor
from kernels.emulator.limits import Limit
from kernels.emulator.preconditions import Preconditions, find_preconditions
from kernels.emulator.prefix_sums import PrefixSum, find_prefix_sums
from kernels.emulator.recording import Call
from kernels.emulator.replaying import Rooms
from kernels.emulator.row_ids import RowIds, find_row_ids
from kernels.emulator.variation import Freedom, useful_kinds, vary
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


def requests(*rows: list[int]) -> Call:
    """What each request has, in several tensors."""
    return Call("f", ("a", "b", "c")[: len(rows)], [column(row) for row in rows])


def arrays_of(varied: Call) -> list[list[object]]:
    return [v.array.reshape(-1).tolist() for v in varied.values if isinstance(v, HostTensor)]


def test_a_number_meets_another_of_its_request() -> None:
    shown = [requests([4, 5, 6], [7, 8, 5])]
    rules = Preconditions(ranges={0: (4, 6), 1: (5, 8)})
    seen = set()
    for choice in range(4):
        for place in range(3):
            for donor in range(4):
                edit = Edit("meet", choice, place, donor)
                first, second = arrays_of(vary(shown, 0, [edit], Freedom(rules)))
                seen.add((tuple(first), tuple(second)))
                # In one request alone, and within what is shown of the tensor.
                assert sum(a != b for a, b in zip(first, (4, 5, 6), strict=True)) <= 1
                assert all(4 <= number <= 6 for number in first)
                assert all(5 <= number <= 8 for number in second)
    assert {((4, 5, 5), (7, 8, 5)), ((4, 5, 6), (7, 5, 5)), ((4, 5, 6), (7, 8, 6))} <= seen
    assert {((4, 5, 4), (7, 8, 5)), ((4, 5, 6), (5, 8, 5)), ((4, 5, 6), (7, 6, 5))} <= seen
    # A plain number is one too.
    plain = [Call("f", ("a", "n"), [column([4, 5, 6]), 5])]
    varied = vary(plain, 0, [Edit("meet", choice=0, place=2, donor=0)])
    assert arrays_of(varied) == [[4, 5, 5]]


def test_what_one_request_gives_another_one_gets() -> None:
    shown = [requests([4, 0, 6])]
    free = Freedom(Preconditions(ranges={0: (0, 10)}))
    assert arrays_of(vary(shown, 0, [Edit("transfer", 0, 2, 1)], free)) == [[4, 1, 5]]
    assert arrays_of(vary(shown, 0, [Edit("transfer", 1, 2, 1)], free)) == [[4, 6, 0]]
    assert arrays_of(vary(shown, 0, [Edit("transfer", 0, 1, 2)], free)) == [[4, 0, 6]]
    assert arrays_of(vary(shown, 0, [Edit("transfer", 0, 0, 0)], free)) == [[4, 0, 6]]
    narrow = Freedom(Preconditions(ranges={0: (0, 6)}))
    assert arrays_of(vary(shown, 0, [Edit("transfer", 1, 2, 0)], narrow)) == [[4, 0, 6]]


IDS = [
    Call("f", ("lens", "batch_ids"), [column([2, 0, 1]), column([0, 0, 2, -1])]),
    Call("f", ("lens", "batch_ids"), [column([1, 1, 1]), column([0, 1, 2, -1])]),
]


def test_whose_each_token_is_follows_the_lengths() -> None:
    assert find_row_ids(IDS, [1]) == [RowIds(1, 0)]
    assert find_row_ids(IDS, [0]) == []
    assert find_row_ids([], [1]) == []
    # One call without them is enough, and of one request every row of zeros is that.
    other = Call("f", ("lens", "batch_ids"), [column([1, 1, 1]), column([0, 2, 1, -1])])
    assert find_row_ids([*IDS, other], [1]) == []
    alone = Call("f", ("lens", "batch_ids"), [column([3, 0, 0]), column([0, 0, 0, -1])])
    assert find_row_ids([alone], [1]) == []

    rules = find_preconditions(IDS, lambda call, place: False)
    assert (list(rules.ids), rules.kept) == ([RowIds(1, 0)], set())
    varied = vary(IDS, 0, [Edit("transfer", 0, 0, 1)], Freedom(rules))
    assert arrays_of(varied) == [[1, 1, 1], [0, 1, 2, -1]]
    # Of fewer tokens nobody knows what stands behind them.
    assert arrays_of(vary(IDS, 0, [Edit("idle", 0, 0, 0)], Freedom(rules))) == [
        [2, 0, 1],
        [0, 0, 2, -1],
    ]


def floats(rows: list[list[float]], dtype: str = "float32") -> Call:
    return Call("f", ("scores",), [HostTensor(np.array(rows, dtype), dtype)])


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        ([[3.0, 2.0, 1.0], [5.0, 5.0, 0.0]], {"descending"}),
        ([[1.0, 2.0, 2.0, 3.0]], {"ascending"}),
        ([[0.5, 0.2, 0.3], [0.25, 0.75, 0.0]], {"shares"}),
        ([[0.5, 0.2, 0.4]], set()),
        ([[0.75, 0.25, 0.0], [0.5, 0.5, 0.0]], {"descending", "shares"}),
        # One number, or two, show nothing.
        ([[1.0, 1.0, 1.0]], set()),
        ([[0.5, 0.5, 0.0]], set()),
    ],
)
def test_what_rows_of_floats_are(rows: list[list[float]], wanted: set[str]) -> None:
    assert {rule.name for rule in find_row_rules([floats(rows)])} == wanted
    assert find_row_rules([]) == []
    assert find_row_rules([floats(rows), floats([[2.0, 9.0, 4.0]])]) == []


def test_floats_change_places_and_stay_what_they_are() -> None:
    shown = [floats([[4.0, 2.0, 9.0], [1.0, 8.0, 3.0]]), floats([[7.0, 5.0, 6.0]])]
    varied = [vary(shown, 0, [Edit("float", which, 4, 2)]) for which in range(3)]
    assert [arrays_of(call)[0] for call in varied] == [
        [4.0, 2.0, 9.0, 1.0, 3.0, 8.0],
        [4.0, 2.0, 9.0, 1.0, 3.0, 3.0],
        [4.0, 2.0, 9.0, 1.0, 9.0, 3.0],
    ]
    other = vary(shown, 0, [Edit("float", 2, 4, 1), Edit("float", 2, 1, 3)])
    assert arrays_of(other)[0] == [4.0, 7.0, 9.0, 1.0, 5.0, 3.0]
    # Shares may change places alone.
    shares = [floats([[0.5, 0.2, 0.3]])]
    rules = find_preconditions(shares, lambda call, place: False)
    varied = [vary(shares, 0, [Edit("float", which, 0, 1)], Freedom(rules)) for which in range(3)]
    numbers = np.array([arrays_of(call)[0] for call in varied], np.float32)
    np.testing.assert_array_equal(numbers, np.float32([[0.2, 0.5, 0.3], *[[0.5, 0.2, 0.3]] * 2]))


KERNEL = """
  // other[i] == 9
  int state = states[row];
  const int* blocks_now = blocks + row * width;
  if (state == 3 || states[i + offsets[j]] != 2) return;
  if (blocks_now[lens[i] / size] == -1 && lens[i] > 7) return;
  if (scores[i] == 0.5f || unknown == 4) return;
  other = lens[row];
  if (other == 6) return;
"""


def test_the_numbers_that_code_asks_for() -> None:
    names = ("states", "blocks", "lens", "scores", "other")
    assert asked_numbers([KERNEL], names) == {"states": {2, 3}, "blocks": {-1}, "other": {6}}
    assert asked_numbers([], names) == {}


def test_a_number_that_no_call_shows_is_given_where_the_code_asks_for_it() -> None:
    shown = [requests([4, 9, 4], [8, 8, 5])]
    rules = find_preconditions(shown, lambda call, place: False)
    rules = rules.with_asked(("a", "b", "c"), {"b": {-1}, "unknown": {3}})
    assert rules.asked == {1: [-1]}
    kinds = ("content", "mixture")
    edits = [Edit(kind, n, n % 3, donor) for kind in kinds for n in range(8) for donor in range(3)]
    for kind in kinds:
        chosen = [edit for edit in edits if edit.kind == kind]
        found = [arrays_of(vary(shown, 0, [edit], Freedom(rules))) for edit in chosen]
        assert any(-1 in second for _, second in found)
        assert not any(-1 in first for first, _ in found)


def test_edits_that_change_nothing_are_not_tried() -> None:
    assert useful_kinds([Call("f", ("n",), [3])], Freedom()) == []
    assert useful_kinds([floats([[4.0, 2.0]])], Freedom()) == ["float"]
    kinds = useful_kinds(SHOWN, Freedom(settings=("MOST",)))
    assert {"row", "length", "idle", "flag", "number", "setting"} <= set(kinds)
    assert "float" not in kinds
