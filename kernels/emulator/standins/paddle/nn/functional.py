"""`paddle.nn.functional`: only the functions that references of tests use."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernels.emulator.standins import NotEmulated
from kernels.emulator.standins.paddle.tensor import Tensor, plain

# The dimensions of a batch of images that `pad` leaves as they are: images and channels.
_OF_IMAGES = 2


def softmax(x: Tensor, axis: int = -1, dtype: Any = None) -> Tensor:
    powers = np.exp(x.array - x.array.max(axis, keepdims=True))
    result = powers / powers.sum(axis, keepdims=True)
    return Tensor(result.astype(x.array.dtype), x.dtype_name if dtype is None else None)


def sigmoid(x: Tensor) -> Tensor:
    return Tensor((1 / (1 + np.exp(-x.array))).astype(x.array.dtype))


def silu(x: Tensor) -> Tensor:
    return x * sigmoid(x)


def pad(
    x: Tensor,
    pad: Any,
    mode: str = "constant",
    value: float = 0.0,
    data_format: str = "NCHW",
    pad_from_left_axis: bool = True,
    name: str | None = None,
) -> Tensor:
    """Two numbers for each dimension, the first one first; or for some of them, the last one first,
    where channels may stand behind what is padded."""
    widths = [int(number) for number in plain(pad)]
    pairs = list(zip(widths[::2], widths[1::2], strict=True))
    rank = x.array.ndim
    if mode != "constant":
        raise NotEmulated(f"paddle.nn.functional.pad with mode {mode!r}")
    others = [(0, 0)] * (rank - len(pairs))
    ordered = pairs
    if others or not pad_from_left_axis:
        ordered = others + pairs[::-1]
    if len(others) == _OF_IMAGES and not data_format.startswith("NC"):
        ordered = [(0, 0), *pairs[::-1], (0, 0)]
    return Tensor(np.pad(x.array, ordered, constant_values=value), x.dtype_name)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotEmulated(f"paddle.nn.functional.{name}")
