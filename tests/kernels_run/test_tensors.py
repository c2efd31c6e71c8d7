"""Tensors as bytes: what is written is what the library reads, bfloat16 is widened right, garbage
is refused."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from safetensors.numpy import load

from checks.kernelrun.tensors import Tensor, TensorError, difference, read, write

KINDS = {
    "F32": "<f4",
    "F64": "<f8",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "U8": "u1",
    "BOOL": "?",
}
VALUES = st.sampled_from(sorted(KINDS)).flatmap(
    lambda kind: arrays(
        KINDS[kind], array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
    ).map(lambda a: Tensor(kind, a.shape, a.tobytes()))
)


@given(st.dictionaries(st.text(min_size=1, max_size=9), VALUES, max_size=4))
def test_written_files_are_read_by_the_library(tensors):
    tensors.pop("__metadata__", None)
    data = write(tensors)
    assert read(data) == tensors
    theirs = load(data)
    assert theirs.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert theirs[name].tobytes() == tensor.data
        assert theirs[name].shape == tensor.shape


@given(st.dictionaries(st.sampled_from("abc"), VALUES, min_size=1), st.data())
def test_damaged_files_are_refused_or_whole(tensors, data):
    whole = write(tensors)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    with pytest.raises(TensorError):
        read(cut)


@given(st.binary(max_size=64))
def test_garbage_is_refused(data):
    try:
        found = read(data)
    except TensorError:
        return
    assert read(write(found)) == found


@given(st.integers(0, 0xFFFF))
def test_bfloat16_is_the_upper_half_of_float32(bits):
    value = Tensor("BF16", (1,), struct.pack("<H", bits)).array()[0]
    want = struct.unpack("<f", struct.pack("<I", bits << 16))[0]
    assert value == want or (math.isnan(value) and math.isnan(want))


def test_types_that_are_not_compared():
    tensor = Tensor("F8_E4M3", (2,), b"\0\1")
    with pytest.raises(TensorError):
        tensor.array()


def f32(*values):
    return Tensor("F32", (len(values),), np.array(values, dtype="<f4").tobytes())


@given(st.lists(st.floats(width=32), min_size=1, max_size=8))
def test_a_tensor_is_like_itself(values):
    apart = difference(f32(*values), f32(*values))
    assert (apart.differing, apart.beyond, apart.largest, apart.new_nan) == (0, 0, 0.0, False)


def test_differences_are_counted_and_sized():
    apart = difference(f32(1, 2.5, 3, -4), f32(1, 2, 3, -4.25), 0.25)
    assert (apart.elements, apart.differing, apart.beyond, apart.largest) == (4, 2, 1, 0.5)


def test_nan_and_infinities():
    nan, inf = math.nan, math.inf
    assert difference(f32(nan, inf), f32(nan, inf)).differing == 0
    apart = difference(f32(nan, 1), f32(0, 1), 1e9)
    assert (apart.new_nan, apart.beyond, apart.largest) == (True, 1, None)
    lost = difference(f32(0.0), f32(nan), 1e9)
    assert (lost.new_nan, lost.beyond) == (False, 1)
    assert difference(f32(inf), f32(-inf), 1e9).beyond == 1


def test_large_integers_differ_by_one():
    one, other = (Tensor("I64", (1,), struct.pack("<q", n)) for n in (2**62, 2**62 + 1))
    assert difference(one, other, tolerance=5).beyond == 1


def test_rows_that_may_differ_are_left_out():
    got, want = (
        Tensor("I64", (2, 2), struct.pack("<4q", *n)) for n in ((1, 2, 3, 4), (1, 2, 9, 9))
    )
    assert difference(got, want, rows=np.array([True, False])).beyond == 0
    assert difference(got, want, rows=np.array([False, True])).beyond == 2
    # Outputs that have other rows than the mask are compared whole.
    assert difference(got, want, rows=np.array([True, False, True])).beyond == 2
