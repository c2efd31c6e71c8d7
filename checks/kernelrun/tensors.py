"""Tensors of a safetensors file as bytes and as numpy arrays, without torch. bfloat16 is widened by
hand.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize

Array = NDArray[Any]

_DTYPES: dict[str, str] = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4",
    "U64": "<u8", "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8",
}  # fmt: skip


class TensorError(ValueError):
    """Bytes that are no safetensors file, or hold a type that is not compared here."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """Row-major little-endian `data`. `dtype` is as safetensors writes it: `F32`, `BF16`, `I64`."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes

    @property
    def digest(self) -> str:
        """sha256 of the bytes."""
        return hashlib.sha256(self.data).hexdigest()

    def array(self) -> Array:
        """The values: float64 for every float type, the integer or bool type otherwise.

        Raises TensorError.
        """
        if self.dtype == "BF16":
            bits = np.frombuffer(self.data, dtype="<u2").astype(np.uint32) << np.uint32(16)
            return bits.view(np.float32).astype(np.float64).reshape(self.shape)
        kind = _DTYPES.get(self.dtype)
        if kind is None:
            raise TensorError(self.dtype)
        values = np.frombuffer(self.data, dtype=kind).reshape(self.shape)
        return values.astype(np.float64) if values.dtype.kind == "f" else values


def read(data: bytes) -> dict[str, Tensor]:
    """The tensors of a file's bytes, by name. Raises TensorError."""
    try:
        found = deserialize(data)  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise TensorError(str(error)) from error
    return {name: Tensor(t["dtype"], tuple(t["shape"]), bytes(t["data"])) for name, t in found}


def write(tensors: Mapping[str, Tensor]) -> bytes:
    """A safetensors file, the same bytes for the same tensors: its names in order, data after a
    padded header.
    """
    header: dict[str, Any] = {}
    at = 0
    for name in sorted(tensors):
        tensor = tensors[name]
        end = at + len(tensor.data)
        header[name] = {
            "dtype": tensor.dtype,
            "shape": list(tensor.shape),
            "data_offsets": [at, end],
        }
        at = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return (
        len(text).to_bytes(8, "little")
        + text
        + b"".join(tensors[name].data for name in sorted(tensors))
    )


@dataclass(frozen=True, slots=True)
class Difference:
    """How far a tensor is from another one of the same type and shape.

    `largest` is None where a difference has no size (NaN or an infinity on one side).
    """

    elements: int
    differing: int
    beyond: int  # of these, how many by more than the tolerance
    largest: float | None
    new_nan: bool  # NaN where the other has none


def difference(
    got: Tensor, want: Tensor, tolerance: float = 0.0, rows: Array | None = None
) -> Difference:
    """`got` against `want`; `rows` (bool, one for each row) leaves the others out.

    Raises TensorError for another type or shape, and for a type that is not compared here.
    """
    if (got.dtype, got.shape) != (want.dtype, want.shape):
        raise TensorError(f"{got.dtype}{list(got.shape)}, not {want.dtype}{list(want.shape)}")
    a, b = got.array(), want.array()
    if rows is not None and a.ndim and a.shape[0] == rows.shape[0]:
        a, b = a[rows], b[rows]
    real = a.dtype.kind == "f"
    same = (a == b) | (np.isnan(a) & np.isnan(b)) if real else a == b
    if bool(same.all()):
        return Difference(a.size, 0, 0, 0.0, False)
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(a[~same].astype(np.float64) - b[~same].astype(np.float64))
    sized = np.isfinite(apart)
    largest = float(apart.max()) if bool(sized.all()) else None
    new_nan = bool((np.isnan(a) & ~np.isnan(b)).any()) if real else False
    # An integer that differs is a difference of at least 1, however float64 rounds a large one.
    beyond = int((~sized | (apart > tolerance)).sum()) if real else int(apart.size)
    return Difference(int(a.size), int(apart.size), beyond, largest, new_nan)
