"""What tests find in place of Paddle, beside what they find on a GPU."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.emulator.standins import NotEmulated
from kernels.emulator.standins.paddle import creation, operations
from kernels.emulator.standins.paddle.nn import functional
from kernels.emulator.standins.paddle.tensor import Tensor


def test_padding_of_each_dimension_or_of_the_last_ones() -> None:
    rows = Tensor(np.ones((2, 3), np.float32))
    assert shape(rows, [0, 5]) == [2, 8]
    assert shape(rows, [1, 0, 0, 5]) == [3, 8]
    assert functional.pad(rows, [1, 0, 0, 0], value=7.0).array[0].tolist() == [7.0] * 3
    reversed_order = functional.pad(rows, [1, 0, 0, 5], pad_from_left_axis=False)
    assert list(reversed_order.shape) == [7, 4]


def test_padding_of_images() -> None:
    images = Tensor(np.zeros((1, 2, 3, 4), np.float32))
    assert shape(images, [1, 1, 0, 5]) == [1, 2, 8, 6]
    behind = functional.pad(images, Tensor(np.array([1, 1, 0, 5])), data_format="NHWC")
    assert list(behind.shape) == [1, 7, 5, 4]
    small = functional.pad(Tensor(np.zeros(3), "bfloat16"), [1, 1])
    assert small.dtype_name == "bfloat16"


def test_padding_by_what_is_there_is_not_emulated() -> None:
    with pytest.raises(NotEmulated, match="reflect"):
        functional.pad(Tensor(np.zeros((1, 2, 3))), [1, 1], mode="reflect")


def test_places_that_other_tensors_name() -> None:
    rows = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    names = Tensor(np.array([[2, 0], [1, 1]]))
    assert operations.index_sample(rows, names).tolist() == [[2.0, 0.0], [4.0, 4.0]]
    assert operations.index_select(rows, Tensor(np.array([2, 0])), 1).tolist() == [[2, 0], [5, 3]]
    changed = operations.scatter(rows, Tensor(np.array([1])), rows[:1])
    assert changed.tolist() == [[0, 1, 2], [0, 1, 2]]
    assert rows.tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(NotEmulated, match="adds up"):
        operations.scatter(rows, Tensor(np.array([1])), rows[:1], overwrite=False)


def test_a_number_by_its_own_sigmoid() -> None:
    assert functional.silu(Tensor(np.array([0.0, 2.0]))).tolist() == [0.0, 2 / (1 + np.exp(-2.0))]


def test_parts_and_steps() -> None:
    rows = Tensor(np.arange(8, dtype=np.float32).reshape(2, 4))
    assert [part.shape for part in operations.chunk(rows, 2, axis=-1)] == [[2, 2], [2, 2]]
    assert [part.tolist() for part in rows.unbind(1)] == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert creation.linspace(2.0, 0.0, 3).tolist() == [2.0, 1.0, 0.0]
    assert operations.amax(rows, axis=1).tolist() == [3.0, 7.0]
    assert operations.pow(rows[0], operations.ceil(rows[0] * 0.6)).tolist() == [1, 1, 4, 9]


def shape(tensor: Tensor, widths: list[int]) -> list[int]:
    return list(functional.pad(tensor, widths).shape)
