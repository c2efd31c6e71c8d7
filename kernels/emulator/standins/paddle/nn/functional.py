"""`paddle.nn.functional`: only the functions that references of tests use."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernels.emulator.standins import NotEmulated
from kernels.emulator.standins.paddle.tensor import Tensor


def softmax(x: Tensor, axis: int = -1, dtype: Any = None) -> Tensor:
    powers = np.exp(x.array - x.array.max(axis, keepdims=True))
    result = powers / powers.sum(axis, keepdims=True)
    return Tensor(result.astype(x.array.dtype), x.dtype_name if dtype is None else None)


def sigmoid(x: Tensor) -> Tensor:
    return Tensor((1 / (1 + np.exp(-x.array))).astype(x.array.dtype))


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotEmulated(f"paddle.nn.functional.{name}")
