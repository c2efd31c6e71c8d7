"""Functions of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernels.emulator.standins import NotEmulated
from kernels.emulator.standins.paddle.tensor import Tensor, plain

__all__ = [
    "abs",
    "all",
    "allclose",
    "amax",
    "amin",
    "any",
    "argmax",
    "argsort",
    "assign",
    "cast",
    "ceil",
    "chunk",
    "clip",
    "clone",
    "concat",
    "cumsum",
    "equal",
    "equal_all",
    "exp",
    "expand",
    "flatten",
    "floor",
    "gather",
    "index_sample",
    "index_select",
    "isnan",
    "log",
    "logical_and",
    "logical_not",
    "logical_or",
    "masked_select",
    "matmul",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "nonzero",
    "pow",
    "reshape",
    "scatter",
    "shape",
    "sort",
    "split",
    "sqrt",
    "squeeze",
    "stack",
    "sum",
    "tile",
    "tolist",
    "topk",
    "transpose",
    "unbind",
    "unsqueeze",
    "where",
]


def concat(x: Sequence[Tensor], axis: int = 0) -> Tensor:
    return Tensor(np.concatenate([plain(t) for t in x], int(axis)), x[0].dtype_name)


def stack(x: Sequence[Tensor], axis: int = 0) -> Tensor:
    return Tensor(np.stack([plain(t) for t in x], axis), x[0].dtype_name)


def split(x: Tensor, num_or_sections: Any, axis: int = 0) -> list[Tensor]:
    sections = num_or_sections
    if isinstance(sections, (list, tuple)):
        sections = np.cumsum(sections)[:-1]
    return [Tensor(part, x.dtype_name) for part in np.split(x.array, sections, axis)]


def chunk(x: Tensor, chunks: int, axis: int = 0) -> list[Tensor]:
    return split(x, chunks, axis)


def unbind(x: Tensor, axis: int = 0) -> list[Tensor]:
    return x.unbind(axis)


def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None:
        return tuple(Tensor(part) for part in np.nonzero(plain(condition)))
    return Tensor(np.where(plain(condition), plain(x), plain(y)))


def nonzero(x: Tensor, as_tuple: bool = False) -> Any:
    if as_tuple:
        return where(x)
    return Tensor(np.argwhere(x.array))


def equal_all(x: Any, y: Any) -> Tensor:
    return Tensor(np.asarray(np.array_equal(plain(x), plain(y))))


def equal(x: Any, y: Any) -> Tensor:
    return Tensor(np.equal(plain(x), plain(y)))


def allclose(
    x: Any, y: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    close = np.allclose(plain(x), plain(y), rtol=rtol, atol=atol, equal_nan=equal_nan)
    return Tensor(np.asarray(close))


def cast(x: Tensor, dtype: Any) -> Tensor:
    return x.astype(dtype)


def clone(x: Tensor) -> Tensor:
    return x.clone()


def assign(x: Any, output: Tensor | None = None) -> Tensor:
    if output is None:
        return Tensor(np.array(plain(x)))
    return output.copy_(x)


def reshape(x: Tensor, shape: Any) -> Tensor:
    return x.reshape(shape)


def squeeze(x: Tensor, axis: Any = None) -> Tensor:
    return x.squeeze(axis)


def unsqueeze(x: Tensor, axis: Any) -> Tensor:
    return x.unsqueeze(axis)


def transpose(x: Tensor, perm: Any) -> Tensor:
    return x.transpose(perm)


def flatten(x: Tensor, *axes: int) -> Tensor:
    return x.flatten(*axes)


def expand(x: Tensor, shape: Any) -> Tensor:
    return x.expand(shape)


def tile(x: Tensor, repeat_times: Any) -> Tensor:
    return x.tile(repeat_times)


def tolist(x: Tensor) -> Any:
    return x.tolist()


def sum(x: Tensor, axis: Any = None, dtype: Any = None, keepdim: bool = False) -> Tensor:
    return x.sum(axis, dtype, keepdim)


def max(x: Tensor, axis: Any = None, keepdim: bool = False) -> Tensor:
    return x.max(axis, keepdim)


def min(x: Tensor, axis: Any = None, keepdim: bool = False) -> Tensor:
    return x.min(axis, keepdim)


def mean(x: Tensor, axis: Any = None, keepdim: bool = False) -> Tensor:
    return x.mean(axis, keepdim)


def all(x: Tensor, axis: Any = None, keepdim: bool = False) -> Tensor:
    return x.all(axis, keepdim)


def any(x: Tensor, axis: Any = None, keepdim: bool = False) -> Tensor:
    return x.any(axis, keepdim)


def amax(x: Tensor, axis: Any = None, keepdim: bool = False) -> Tensor:
    return x.max(axis, keepdim)


def amin(x: Tensor, axis: Any = None, keepdim: bool = False) -> Tensor:
    return x.min(axis, keepdim)


def shape(x: Tensor) -> Tensor:
    return Tensor(np.array(x.shape, np.int32))


def argmax(x: Tensor, axis: Any = None, keepdim: bool = False) -> Tensor:
    return x.argmax(axis, keepdim)


def argsort(x: Tensor, axis: int = -1, descending: bool = False) -> Tensor:
    return x.argsort(axis, descending)


def sort(x: Tensor, axis: int = -1, descending: bool = False) -> Tensor:
    ordered = np.sort(x.array, axis)
    return Tensor(np.flip(ordered, axis) if descending else ordered)


def topk(x: Tensor, k: int, axis: int = -1) -> tuple[Tensor, Tensor]:
    indices = np.argsort(-x.array, axis, kind="stable").take(range(int(k)), axis)
    return Tensor(np.take_along_axis(x.array, indices, axis)), Tensor(indices)


def gather(x: Tensor, index: Tensor, axis: int = 0) -> Tensor:
    return Tensor(np.take(x.array, index.array.reshape(-1), int(axis)), x.dtype_name)


def index_select(x: Tensor, index: Tensor, axis: int = 0) -> Tensor:
    return gather(x, index, axis)


def index_sample(x: Tensor, index: Tensor) -> Tensor:
    """Of each row the numbers at the places that the row of `index` names."""
    return Tensor(np.take_along_axis(x.array, index.array, 1), x.dtype_name)


def scatter(x: Tensor, index: Tensor, updates: Tensor, overwrite: bool = True) -> Tensor:
    """Rows of `updates` in the places that `index` names, the last one where it names one twice."""
    if not overwrite:
        raise NotEmulated("paddle.scatter that adds up")
    result = x.clone()
    result.array[index.array.reshape(-1)] = updates.array
    return result


def masked_select(x: Tensor, mask: Tensor) -> Tensor:
    return Tensor(x.array[mask.array], x.dtype_name)


def cumsum(x: Tensor, axis: Any = None, dtype: Any = None) -> Tensor:
    return x.cumsum(axis, dtype)


def clip(x: Tensor, min: Any = None, max: Any = None) -> Tensor:
    return Tensor(np.clip(x.array, plain(min), plain(max)))


def abs(x: Tensor) -> Tensor:
    return x.abs()


def exp(x: Tensor) -> Tensor:
    return Tensor(np.exp(x.array))


def log(x: Tensor) -> Tensor:
    return Tensor(np.log(x.array))


def sqrt(x: Tensor) -> Tensor:
    return Tensor(np.sqrt(x.array))


def ceil(x: Tensor) -> Tensor:
    return Tensor(np.ceil(x.array), x.dtype_name)


def floor(x: Tensor) -> Tensor:
    return Tensor(np.floor(x.array), x.dtype_name)


def pow(x: Tensor, y: Any) -> Tensor:
    return Tensor(np.power(x.array, plain(y)))


def isnan(x: Tensor) -> Tensor:
    return Tensor(np.isnan(x.array))


def maximum(x: Tensor, y: Any) -> Tensor:
    return Tensor(np.maximum(x.array, plain(y)))


def minimum(x: Tensor, y: Any) -> Tensor:
    return Tensor(np.minimum(x.array, plain(y)))


def logical_and(x: Tensor, y: Any) -> Tensor:
    return Tensor(np.logical_and(x.array, plain(y)))


def logical_or(x: Tensor, y: Any) -> Tensor:
    return Tensor(np.logical_or(x.array, plain(y)))


def logical_not(x: Tensor) -> Tensor:
    return Tensor(np.logical_not(x.array))


def matmul(x: Tensor, y: Tensor, transpose_x: bool = False, transpose_y: bool = False) -> Tensor:
    left = np.swapaxes(x.array, -1, -2) if transpose_x else x.array
    right = np.swapaxes(y.array, -1, -2) if transpose_y else y.array
    return Tensor(np.matmul(left, right))
