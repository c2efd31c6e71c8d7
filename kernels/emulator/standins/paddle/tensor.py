"""`paddle.Tensor` on a numpy array."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from kernels.emulator.library import HostTensor
from kernels.emulator.standins import NotEmulated
from kernels.emulator.standins.paddle import small_floats
from kernels.emulator.standins.paddle.device import CPUPlace, CUDAPinnedPlace, CUDAPlace, Place

DTYPE_NAMES = (
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "float8_e4m3fn",
    "complex64",
)


class DType(str):
    """A type's name. `paddle.int64`, `"int64"` and numpy's own are the same in a comparison."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        if other is None:
            return False
        return str(self) == dtype_name(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def dtype_name(dtype: object) -> str:
    """The name of a type that is given in any way."""
    if isinstance(dtype, str):
        return str.__str__(dtype).removeprefix("paddle.")
    return np.dtype(dtype).name  # type: ignore[call-overload, no-any-return]


def storage_dtype(name: str) -> str:
    """The numpy type that holds the values: small floats are kept as float32."""
    return "float32" if name in small_floats.SIZES else name


class Tensor:
    """A tensor. Values of bfloat16 and 8-bit floats are rounded float32; ops get their bits."""

    __array_priority__ = 100
    __hash__ = object.__hash__

    def __init__(self, array: Any, dtype: str | None = None, place: Place | None = None) -> None:
        plain = np.asarray(array)
        name = dtype or plain.dtype.name
        if name in small_floats.SIZES:
            plain = small_floats.rounded(plain, name)
        self.array = plain.astype(storage_dtype(name), copy=False)
        self.dtype_name = name
        self.place = place or CUDAPlace(0)
        self.stop_gradient = True
        self.name = ""
        self.persistable = False

    # ---- for ops ----
    def host_tensor(self) -> HostTensor:
        """The memory that an op reads and writes; `take` brings what it wrote."""
        self.array = np.ascontiguousarray(self.array)
        if not self.array.flags.writeable:
            self.array = self.array.copy()
        array = self.array
        if self.dtype_name in small_floats.SIZES:
            array = small_floats.to_bits(array, self.dtype_name)
        return HostTensor(array, self.dtype_name, not isinstance(self.place, CUDAPlace))

    def take(self, written: HostTensor) -> None:
        """Take what an op wrote."""
        if self.dtype_name in small_floats.SIZES:
            self.array[...] = small_floats.from_bits(written.array, self.dtype_name)

    @classmethod
    def of_result(cls, result: HostTensor) -> Tensor:
        """A tensor of what an op returned."""
        if result.dtype in small_floats.SIZES:
            return cls(small_floats.from_bits(result.array, result.dtype), result.dtype)
        return cls(result.array, result.dtype)

    # ---- what it is ----
    @property
    def shape(self) -> list[int]:
        return list(self.array.shape)

    @property
    def dtype(self) -> DType:
        return DType(self.dtype_name)

    @property
    def ndim(self) -> int:
        return self.array.ndim

    @property
    def size(self) -> int:
        return self.array.size

    @property
    def T(self) -> Tensor:
        return self._like(self.array.T)

    def dim(self) -> int:
        return self.array.ndim

    def numel(self) -> Tensor:
        return Tensor(np.asarray(self.array.size))

    def element_size(self) -> int:
        return small_floats.SIZES.get(self.dtype_name, self.array.itemsize)

    def is_contiguous(self) -> bool:
        return bool(self.array.flags.c_contiguous)

    # ---- its values elsewhere ----
    def numpy(self) -> np.ndarray:
        return self.array.copy()

    def tolist(self) -> Any:
        return self.array.tolist()

    def item(self, *index: int) -> Any:
        return self.array.item(*index)

    def clone(self) -> Tensor:
        return Tensor(self.array.copy(), self.dtype_name, self.place)

    detach = contiguous = clone

    def cpu(self) -> Tensor:
        return Tensor(self.array.copy(), self.dtype_name, CPUPlace())

    def cuda(self, *_: object) -> Tensor:
        return Tensor(self.array.copy(), self.dtype_name, CUDAPlace(0))

    def pin_memory(self) -> Tensor:
        return Tensor(self.array.copy(), self.dtype_name, CUDAPinnedPlace())

    def to(self, *targets: Any, **named: Any) -> Tensor:
        result = self
        for target in (*targets, *named.values()):
            if isinstance(target, str) and dtype_name(target) in DTYPE_NAMES:
                result = result.astype(target)
        return result.clone()

    def astype(self, dtype: Any) -> Tensor:
        name = dtype_name(dtype)
        return Tensor(self.array.astype(storage_dtype(name)), name, self.place)

    cast = astype

    def copy_(self, other: Any, *_: object) -> Tensor:
        """Take the values of `other`, and its shape where that is another."""
        values = plain(other)
        if values.shape == self.array.shape:
            self.array[...] = values
        else:
            self.array = values.astype(self.array.dtype)
        return self

    set_value = copy_

    def fill_(self, value: Any) -> Tensor:
        self.array[...] = value
        return self

    def zero_(self) -> Tensor:
        return self.fill_(0)

    # ---- its shape ----
    def reshape(self, *shape: Any) -> Tensor:
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape
        return self._like(self.array.reshape([int(size) for size in sizes]))

    view = reshape

    def flatten(self, start_axis: int = 0, stop_axis: int = -1) -> Tensor:
        if (start_axis, stop_axis) != (0, -1):
            raise NotEmulated("paddle.Tensor.flatten of some axes")
        return self._like(self.array.flatten())

    def squeeze(self, axis: Any = None) -> Tensor:
        return self._like(self.array.squeeze(tuple(axis) if isinstance(axis, list) else axis))

    def unsqueeze(self, axis: Any) -> Tensor:
        return self._like(np.expand_dims(self.array, axis))

    def transpose(self, perm: Any, *rest: Any) -> Tensor:
        return self._like(self.array.transpose(perm if not rest else (perm, *rest)))

    def expand(self, shape: Any) -> Tensor:
        sizes = [
            own if wanted == -1 else wanted for own, wanted in zip(self.shape, shape, strict=True)
        ]
        return self._like(np.broadcast_to(self.array, sizes).copy())

    def tile(self, repeats: Any) -> Tensor:
        return self._like(np.tile(self.array, repeats))

    def unbind(self, axis: int = 0) -> list[Tensor]:
        return [self._like(part) for part in np.moveaxis(self.array, axis, 0)]

    def _like(self, array: np.ndarray) -> Tensor:
        return Tensor(array, self.dtype_name, self.place)

    # ---- reductions ----
    def _reduce(self, function: Callable[..., Any], axis: Any, keepdim: bool) -> Tensor:
        axes = tuple(axis) if isinstance(axis, (list, tuple)) else axis
        return Tensor(np.asarray(function(self.array, axis=axes, keepdims=keepdim)))

    def sum(self, axis: Any = None, dtype: Any = None, keepdim: bool = False) -> Tensor:
        result = self._reduce(np.sum, axis, keepdim)
        return result if dtype is None else result.astype(dtype)

    def max(self, axis: Any = None, keepdim: bool = False) -> Tensor:
        return self._reduce(np.max, axis, keepdim)

    def min(self, axis: Any = None, keepdim: bool = False) -> Tensor:
        return self._reduce(np.min, axis, keepdim)

    def mean(self, axis: Any = None, keepdim: bool = False) -> Tensor:
        return self._reduce(np.mean, axis, keepdim)

    def all(self, axis: Any = None, keepdim: bool = False) -> Tensor:
        return self._reduce(np.all, axis, keepdim)

    def any(self, axis: Any = None, keepdim: bool = False) -> Tensor:
        return self._reduce(np.any, axis, keepdim)

    def argmax(self, axis: Any = None, keepdim: bool = False) -> Tensor:
        return Tensor(np.asarray(np.argmax(self.array, axis=axis, keepdims=keepdim)))

    def argsort(self, axis: int = -1, descending: bool = False) -> Tensor:
        keys = -self.array if descending else self.array
        return Tensor(np.argsort(keys, axis, kind="stable"))

    def cumsum(self, axis: Any = None, dtype: Any = None) -> Tensor:
        result = Tensor(np.cumsum(self.array, axis))
        return result if dtype is None else result.astype(dtype)

    def abs(self) -> Tensor:
        return self._like(np.abs(self.array))

    def logical_not(self) -> Tensor:
        return Tensor(np.logical_not(self.array))

    # ---- as a sequence and as a number ----
    def __getitem__(self, index: Any) -> Tensor:
        return self._like(np.asarray(self.array[_index(index)]))

    def __setitem__(self, index: Any, value: Any) -> None:
        self.array[_index(index)] = plain(value)

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator[Tensor]:
        return (self._like(np.asarray(row)) for row in self.array)

    def __int__(self) -> int:
        return int(self.array.reshape(-1)[0])

    def __float__(self) -> float:
        return float(self.array.reshape(-1)[0])

    def __bool__(self) -> bool:
        return bool(self.array.reshape(-1)[0])

    __index__ = __int__

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.array.astype(dtype) if dtype is not None else self.array

    def __repr__(self) -> str:
        return f"Tensor({self.array!r}, {self.dtype_name})"

    def __neg__(self) -> Tensor:
        return self._like(-self.array)

    def __invert__(self) -> Tensor:
        return self._like(~self.array)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotEmulated(f"paddle.Tensor.{name}")


def plain(value: Any) -> Any:
    """The array of a tensor, tuples of tensors too; anything else as it is."""
    if isinstance(value, Tensor):
        return value.array
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    return value


def _index(index: Any) -> Any:
    """An index for numpy: a tensor of one integer is that integer, so that a row is a view."""
    if isinstance(index, tuple):
        return tuple(_index(part) for part in index)
    if isinstance(index, Tensor) and index.ndim == 0 and index.array.dtype.kind in "iu":
        return int(index)
    if isinstance(index, slice):
        return slice(_index(index.start), _index(index.stop), _index(index.step))
    return plain(index)


def _add_operator(name: str) -> None:
    function = getattr(np.ndarray, f"__{name}__")

    def operate(self: Tensor, other: Any) -> Tensor:
        result = function(self.array, plain(other))
        # A Python number does not widen a tensor's type.
        if not isinstance(other, Tensor) and result.dtype.kind == self.array.dtype.kind == "f":
            return self._like(result)
        return Tensor(result)

    setattr(Tensor, f"__{name}__", operate)


_OPERATORS = (
    "add radd sub rsub mul rmul truediv rtruediv floordiv mod pow eq ne lt le gt ge and or xor "
    "lshift rshift matmul"
)
for _operator in _OPERATORS.split():
    _add_operator(_operator)
