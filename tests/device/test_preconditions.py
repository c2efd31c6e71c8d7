"""What recorded calls show of what every caller sees to, and what a changed input has to keep."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.emulator.edits import Edit, Retyping
from kernels.emulator.library import HostTensor, Value
from kernels.emulator.limits import Limit, find_limits, largest
from kernels.emulator.preconditions import Preconditions, find_preconditions
from kernels.emulator.recording import Call
from kernels.emulator.relations import Relation, find_relations
from kernels.emulator.variation import Freedom, reform, vary

_NAMES = ("first", "second", "third")


def integers(numbers: list[int] | list[list[int]]) -> HostTensor:
    return HostTensor(np.array(numbers, np.int64), "int64")


def call(*values: Value) -> Call:
    return Call("op", _NAMES[: len(values)], list(values))


def calls(*rows: list[list[int]]) -> list[Call]:
    """A call for each of `rows`, which has the numbers of each tensor."""
    return [call(*map(integers, numbers)) for numbers in rows]


def shown(found: list[Relation]) -> set[tuple[str, tuple[int, ...]]]:
    return {(relation.name, relation.places) for relation in found}


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        ([[[1, 3, 3]]], {("sorted", (0,))}),
        ([[[5, 2, 9]], [[-1, -1, 4]]], {("unique", (0,))}),
        ([[[2, 1, 1], [2, 1, 1]]], {("equal", (0, 1)), ("at-most", (0, 1)), ("at-most", (1, 0))}),
        ([[[2, 1, 1], [4, 2, 2]], [[7, 7, 7], [8, 8, 9]]], {("less", (0, 1)), ("at-most", (0, 1))}),
        (
            [[[2, 0, 2], [1, 3, 1], [3, 3, 3]], [[5, 1, 1], [3, 1, 1], [8, 2, 2]]],
            {("sum", (0, 1, 2)), ("sum", (1, 0, 2)), ("less", (0, 2)), ("at-most", (0, 2))}
            | {("at-most", (1, 2))},
        ),
        # Three requests that have the one, and three that have the other.
        ([[[4, 0, 9, 0, 4, 0], [0, 2, 0, 2, 0, 1]]], {("exclude", (0, 1))}),
        # A call in which all have the one, and another in which all have the other.
        ([[[4, 4, 4], [0, 0, 0]], [[0, 0, 0], [2, 2, 2]]], set()),
        # Two that have it are few, and one number is every other's.
        ([[[4, 0, 9, 0], [0, 2, 0, 2]]], set()),
        ([[[1, 1, 1], [2, 2, 2]], [[3, 0, 1], [2, 2, 2]]], set()),
        # One call without it is enough.
        ([[[1, 3, 3]], [[3, 1, 1]]], set()),
    ],
)
def test_what_holds_in_all_calls(
    rows: list[list[list[int]]], wanted: set[tuple[str, tuple[int, ...]]]
) -> None:
    assert shown(find_relations(calls(*rows))) == wanted


def test_nothing_is_known_of_no_call() -> None:
    assert find_relations([]) == []
    assert find_limits([], [0]) == []
    assert find_preconditions([], lambda call, place: False) == Preconditions()


def test_a_relation_of_other_forms_holds() -> None:
    less = Relation("less", (0, 1))
    assert less.holds(call(integers([1]), integers([2])).values)
    assert not less.holds(call(integers([2]), integers([2])).values)
    assert less.holds(call(integers([2]), integers([1, 1])).values)
    assert less.holds(call(integers([2]), None).values)


def test_dimensions_and_plain_numbers_are_limits() -> None:
    rows = integers([[0] * 5] * 4)
    values = [integers([3, 4, 0, 1]), rows, 6]
    limits = find_limits([call(*values)], [0])
    assert set(limits) == {
        Limit(0, 0, 0),
        Limit(0, 1, 0),
        Limit(0, 1, 1),
        Limit(0, 2, 0),
    }
    assert largest(limits, values, 0) == 4
    assert largest([limit for limit in limits if limit.of == 2], values, 0) == 6
    assert largest(limits, values, 1) is None
    # A dimension of 1 is none.
    column = integers([[7], [7], [7], [7]])
    assert find_limits([call(integers([1, 0, 1, 1]), column)], [0]) == [
        Limit(0, 0, 0),
        Limit(0, 1, 0),
    ]
    # A larger number in another call takes the smaller limits away.
    other = call(integers([6, 0, 0, 0]), rows, 6)
    assert find_limits([call(*values), other], [0]) == [Limit(0, 2, 0)]


def test_the_sum_of_all_is_a_limit_once_it_is_reached() -> None:
    tokens = integers([7] * 8)
    full = call(integers([3, 5]), tokens)
    assert Limit(0, 1, 0, is_sum=True) in find_limits([full], [0])
    half = call(integers([3, 1]), tokens)
    assert Limit(0, 1, 0, is_sum=True) not in find_limits([half], [0])
    assert Limit(0, 1, 0, is_sum=True) in find_limits([half, full], [0])
    assert not Limit(0, 1, 0, is_sum=True).holds(call(integers([9, 0]), tokens).values)


def test_an_edit_that_breaks_what_holds_is_none() -> None:
    asked = [call(integers([1, 2, 3]), integers([4, 4, 5]))]
    rules = find_preconditions(asked, lambda call, place: False)
    for choice in range(24):
        for place in range(3):
            edit = Edit("content", choice, place, choice)
            varied = vary(asked, 0, [edit], Freedom(rules))
            first, second = (
                value.array for value in varied.values if isinstance(value, HostTensor)
            )
            assert sorted(first) == list(first)
            assert (first < second).all()


def test_contents_are_others_that_lie_in_what_is_shown() -> None:
    asked = [call(integers([[9, 4], [5, 7]]), integers([[4, 100], [6, 9]]))]
    rules = Preconditions(ranges={0: (4, 9), 1: (4, 100)})
    seen = set()
    for choice in range(4):
        for donor in range(4):
            varied = vary(asked, 0, [Edit("content", choice, 3, donor)], Freedom(rules))
            value = varied.values[choice % 2]
            assert isinstance(value, HostTensor)
            seen.add((choice % 2, int(value.array[1, 1])))
    # 100 is no token of the first tensor, and 6 is one though it never was there.
    assert {number for tensor, number in seen if tensor == 0} == {4, 5, 6, 7, 9}
    assert 100 in {number for tensor, number in seen if tensor == 1}


def test_what_is_derived_in_an_unknown_way_is_left_alone() -> None:
    asked = [
        Call(
            "op", ("lens", "cu_lens", "ids"), [integers(n) for n in ([2, 1], [0, 3], [8, 9, 7, 8])]
        )
    ]
    rules = find_preconditions(asked, lambda call, place: False)
    assert list(rules.derived) == [1]
    changed = set()
    for choice in range(30):
        for place in range(3):
            varied = vary(asked, 0, [Edit("content", choice, place, choice)], Freedom(rules))
            for number, value in enumerate(varied.values):
                before = asked[0].values[number]
                assert isinstance(value, HostTensor)
                assert isinstance(before, HostTensor)
                if not np.array_equal(value.array, before.array):
                    changed.add(number)
    assert changed == {2}


def test_floats_of_other_types() -> None:
    numbers = HostTensor(np.array([1.5, -2.0], np.float32), "float32")
    asked = call(numbers, numbers, integers([1]))
    retyped = reform(asked, Retyping((0,), "float16"))
    first, second, _ = retyped.values
    assert isinstance(first, HostTensor)
    assert isinstance(second, HostTensor)
    assert (first.dtype, first.array.tolist()) == ("float16", [1.5, -2.0])
    assert (second.dtype, retyped.has_other_types, retyped.is_shown) == ("float32", True, False)
    retyped = reform(asked, Retyping((0, 1), "bfloat16"))
    bits = [value.array.tolist() for value in retyped.values[:2] if isinstance(value, HostTensor)]
    assert bits == [[0x3FC0, 0xC000]] * 2
    assert not reform(asked, Retyping((0, 2), "float32")).has_other_types


def test_neither_what_is_derived_nor_its_sources_are_free() -> None:
    rules = Preconditions(derived=[2], bound=[0])
    assert rules.kept == {0, 2}
    less = Preconditions(relations=[Relation("less", (0, 1)), Relation("less", (1, 0))])
    assert not less.hold([integers([1]), integers([2])])


def test_no_content_is_smaller_than_what_is_shown() -> None:
    asked = [call(integers([[9, 4], [5, 7]]), integers([[1, 2], [3, 9]]))]
    rules = Preconditions(ranges={0: (4, 9), 1: (1, 9)})
    for choice in range(4):
        for donor in range(4):
            varied = vary(asked, 0, [Edit("content", choice, 3, donor)], Freedom(rules))
            assert isinstance(varied.values[0], HostTensor)
            assert varied.values[0].array.min() >= 4


def test_a_mixture_has_few_numbers_and_leaves_what_must_differ() -> None:
    asked = calls([[11, 12, 13, 14], [13, 19, 12, 18]], [[15, 16, 17, 18], [11, 11, 14, 12]])
    rules = find_preconditions(asked, lambda call, place: False)
    assert Relation("unique", (0,)) in rules.relations
    for number in range(20):
        varied = vary(asked, 0, [Edit("mixture", 3, number, number)], Freedom(rules))
        first, second = (value.array for value in varied.values if isinstance(value, HostTensor))
        assert first.tolist() == [11, 12, 13, 14]
        assert len(set(second.tolist())) <= 3
        assert set(second.tolist()) <= {*range(11, 20)}


def test_requests_whose_numbers_explain_nothing_are_free() -> None:
    names = ("lens", "steps", "cu_lens")
    asked = [Call("op", names, [integers(n) for n in ([0, 0, 0, 0], [3, 1, 4, 2], [0, 9, 18, 27])])]
    rules = find_preconditions(asked, lambda call, place: False)
    assert (list(rules.derived), list(rules.bound)) == ([2], [0])
    # Not where each request adds another number.
    asked[0].values[2] = integers([0, 9, 10, 27])
    assert list(find_preconditions(asked, lambda call, place: False).bound) == [0, 1, 2]
