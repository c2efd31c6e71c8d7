"""Functions that make tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernels.emulator.standins.paddle.device import CPUPlace, CUDAPinnedPlace, Place
from kernels.emulator.standins.paddle.tensor import Tensor, dtype_name, plain, storage_dtype

# Fresh memory has no zeros by luck.
_POISON = 0xAB


def to_tensor(
    data: Any, dtype: Any = None, place: Any = None, stop_gradient: bool = True
) -> Tensor:
    """Python's floats become float32, as in Paddle; numpy's types stay."""
    is_typed = isinstance(data, (np.ndarray, np.generic, Tensor))
    if isinstance(data, (list, tuple)):
        data = [plain(item) for item in data]
    if dtype is None and isinstance(data, Tensor):
        return data.clone()
    array = np.array(plain(data))
    if dtype is not None:
        name = dtype_name(dtype)
    elif array.dtype == np.float64 and not is_typed:
        name = "float32"
    else:
        name = array.dtype.name
    return Tensor(array.astype(storage_dtype(name)), name, _place(place))


def _place(place: Any) -> Place | None:
    if isinstance(place, Place):
        return place
    if place == "cpu":
        return CPUPlace()
    if place == "gpu_pinned":
        return CUDAPinnedPlace()
    return None


def _sizes(shape: Any) -> list[int]:
    if isinstance(shape, (int, np.integer)):
        return [int(shape)]
    return [int(size) for size in plain(shape)]


def full(shape: Any, fill_value: Any, dtype: Any = None, **_: Any) -> Tensor:
    """Every element is `fill_value`; the type is the value's where none is given."""
    name = dtype_name(dtype) if dtype is not None else _natural(fill_value)
    # A value that the type cannot hold wraps around.
    value = np.asarray(plain(fill_value)).astype(storage_dtype(name))
    return Tensor(np.full(_sizes(shape), value), name)


def _natural(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    return "int64" if isinstance(value, int) else "float32"


def zeros(shape: Any, dtype: Any = "float32", **_: Any) -> Tensor:
    return full(shape, 0, dtype or "float32")


def ones(shape: Any, dtype: Any = "float32", **_: Any) -> Tensor:
    return full(shape, 1, dtype or "float32")


def empty(shape: Any, dtype: Any = "float32", **_: Any) -> Tensor:
    """Poisoned."""
    tensor = zeros(shape, dtype)
    if tensor.dtype_name != "bool":
        tensor.array.view(np.uint8)[...] = _POISON
    return tensor


def _like(x: Tensor, dtype: Any) -> Any:
    return x.dtype_name if dtype is None else dtype


def full_like(x: Tensor, fill_value: Any, dtype: Any = None) -> Tensor:
    return full(x.shape, fill_value, _like(x, dtype))


def zeros_like(x: Tensor, dtype: Any = None) -> Tensor:
    return full_like(x, 0, dtype)


def ones_like(x: Tensor, dtype: Any = None) -> Tensor:
    return full_like(x, 1, dtype)


def empty_like(x: Tensor, dtype: Any = None) -> Tensor:
    return empty(x.shape, _like(x, dtype))


def arange(start: Any = 0, end: Any = None, step: Any = 1, dtype: Any = None, **_: Any) -> Tensor:
    first, last = (0, start) if end is None else (start, end)
    array = np.arange(plain(first), plain(last), plain(step))
    return to_tensor(array) if dtype is None else Tensor(array).astype(dtype)


def linspace(start: Any, stop: Any, num: Any, dtype: Any = None, **_: Any) -> Tensor:
    array = np.linspace(plain(start), plain(stop), int(num))
    return Tensor(array).astype(dtype or "float32")


def seed(number: int) -> None:
    """Numbers follow numpy's generator, not Paddle's."""
    np.random.seed(number % (1 << 32))


def rand(shape: Any, dtype: Any = "float32") -> Tensor:
    return Tensor(np.random.rand(*_sizes(shape))).astype(dtype or "float32")


def randn(shape: Any, dtype: Any = "float32") -> Tensor:
    return Tensor(np.random.randn(*_sizes(shape))).astype(dtype or "float32")


def uniform(shape: Any, dtype: Any = "float32", min: float = -1.0, max: float = 1.0) -> Tensor:
    return Tensor(np.random.uniform(min, max, _sizes(shape))).astype(dtype or "float32")


def randint(low: Any = 0, high: Any = None, shape: Any = (1,), dtype: Any = "int64") -> Tensor:
    first, last = (0, low) if high is None else (low, high)
    return Tensor(np.random.randint(first, last, _sizes(shape))).astype(dtype or "int64")


def randperm(n: int, dtype: Any = "int64") -> Tensor:
    return Tensor(np.random.permutation(n)).astype(dtype)
