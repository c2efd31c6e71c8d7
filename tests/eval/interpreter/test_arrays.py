"""Abstract arrays against numpy: the same views, writes, reshapes and errors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.eval.interpreter import array_shapes, arrays
from checks.eval.interpreter.values import UNKNOWN_VALUE, Array, SimulatedException, Value

settings.register_profile("interp", derandomize=True, deadline=None, max_examples=150)
settings.load_profile("interp")

SHAPES = st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple)


def abstract(array):
    made = Array.full(tuple(Value(d) for d in array.shape), UNKNOWN_VALUE)
    for place in made.places():
        made.put(place, Value(int(array[place])))
    return made


def concrete(value):
    if not isinstance(value.value, Array):
        return value.value
    result = np.zeros(value.value.dims, dtype="int64")
    for place in value.value.places():
        result[place] = value.value.get(place).value
    return result


def numbered(shape):
    return np.arange(int(np.prod(shape)), dtype="int64").reshape(shape)


bounds = st.none() | st.integers(-5, 5)
slices = st.builds(slice, bounds, bounds, st.sampled_from([None, 1, 2, -1]))
indices = st.lists(slices | st.integers(-5, 4) | st.just(...), min_size=1, max_size=3).filter(
    lambda given: sum(i is ... for i in given) <= 1
)


def wrapped(index):
    if isinstance(index, slice):
        return slice(
            *(None if p is None else Value(p) for p in (index.start, index.stop, index.step))
        )
    return index if index is ... else Value(index)


@given(SHAPES, indices)
def test_indexing_gives_what_numpy_gives(shape, given_indices):
    array = numbered(shape)
    try:
        expected = array[tuple(given_indices)]
    except IndexError:
        with pytest.raises(SimulatedException) as caught:
            arrays.view(abstract(array), [wrapped(i) for i in given_indices])
        assert caught.value.name == "IndexError"
        return
    found = concrete(arrays.view(abstract(array), [wrapped(i) for i in given_indices]))
    assert np.array_equal(expected, found)
    assert np.shape(expected) == np.shape(found)


@given(SHAPES, indices)
def test_writing_through_an_index_reaches_the_array(shape, given_indices):
    array = numbered(shape)
    model = abstract(array)
    try:
        array[tuple(given_indices)] = -7
    except IndexError:
        return
    arrays.assign(model, [wrapped(i) for i in given_indices], Value(-7))
    assert np.array_equal(array, concrete(Value(model)))


@given(SHAPES, st.lists(st.integers(-1, 6), min_size=1, max_size=3))
def test_reshape_agrees_with_numpy(shape, target):
    array = numbered(shape)
    try:
        expected = array.reshape(target)
    except ValueError:
        if 0 in array.shape and -1 in target:
            return  # numpy's words for an empty array and a free dimension are its own
        with pytest.raises(SimulatedException):
            array_shapes.reshape(abstract(array), [Value(d) for d in target])
        return
    assert np.array_equal(
        expected, concrete(array_shapes.reshape(abstract(array), [Value(d) for d in target]))
    )


@given(SHAPES)
def test_to_list_keeps_values_and_lengths(shape):
    array = numbered(shape)

    def plain(v):
        return [plain(i) for i in v.value.items] if hasattr(v.value, "items") else v.value

    assert plain(array_shapes.to_list(abstract(array))) == array.tolist()


def test_a_view_shares_its_elements():
    array = abstract(numbered((3, 2)))
    row = arrays.view(array, [Value(1)])
    arrays.assign(row.value, [Value(0)], Value(99))
    assert array.get((1, 0)).value == 99


def test_forgetting_a_view_forgets_the_array_there_only():
    array = abstract(numbered((3, 2)))
    arrays.view(array, [Value(1)]).value.forget()
    assert array.get((1, 0)) == UNKNOWN_VALUE
    assert array.get((0, 1)).value == 1
