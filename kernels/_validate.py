"""Checks of an op's arguments: every error names the op, the argument, and its shape, dtype and
device.

Values that live on a GPU are never read here, because that would be a host sync; what a kernel does
with an out-of-range value (a count above the width, a token id above the vocabulary) is part of
each op's docstring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, Field, field, fields
from typing import Any

import torch

FLOATS = (torch.bfloat16, torch.float16, torch.float32)
LOGITS = (*FLOATS, torch.float8_e4m3fn, torch.float8_e5m2)
INTS = (torch.int32, torch.int64)
FLOAT32 = (torch.float32,)
INT64 = (torch.int64,)
INT32 = (torch.int32,)
BOOL = (torch.bool,)


def tensor(*dims: str | int, dtypes: Sequence[torch.dtype]) -> Any:
    """A dataclass field that must hold a tensor of this shape and one of these types."""
    return field(metadata={"dims": dims, "dtypes": dtypes})


def optional(*dims: str | int, dtypes: Sequence[torch.dtype]) -> Any:
    """As ``tensor``, but the field is None where nothing is given."""
    return field(default=None, metadata={"dims": dims, "dtypes": dtypes})


def describe(value: object) -> str:
    """``float32[4, 5] on cpu`` for a tensor, the type's name for anything else."""
    if not isinstance(value, torch.Tensor):
        return type(value).__name__
    return f"{_dtype_name(value.dtype)}{list(value.shape)} on {value.device}"


def _dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def given_out(out: Any) -> tuple[Any, ...]:
    """The tensors of a result that the caller gave to be written; none without one."""
    return () if out is None else tuple(vars(out).values())


def written(
    made: tuple[torch.Tensor, ...], out: tuple[torch.Tensor, ...]
) -> tuple[torch.Tensor, ...]:
    """What was made; in the tensors ``out`` instead, if there are any."""
    for target, value in zip(out, made, strict=False):
        target.copy_(value)
    return out or made


class Args:
    """The arguments of one call. A size named by a letter must be the same in every tensor that
    names it."""

    def __init__(self, op: str) -> None:
        self.op = op
        self.sizes: dict[str, int] = {}
        self.device: torch.device | None = None

    def tensor(
        self, name: str, value: object, dims: Sequence[str | int], dtypes: Sequence[torch.dtype]
    ) -> torch.Tensor:
        """Checks ``value`` and returns it. ``dims`` holds sizes, names (``"B"``), ``"B+1"``,
        ``"B-1"`` or ``"_"`` (any size)."""
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"{self.op}: {name} must be a tensor, got {describe(value)}")
        if value.dtype not in dtypes:
            wanted = " or ".join(_dtype_name(dtype) for dtype in dtypes)
            raise TypeError(f"{self.op}: {name} must be {wanted}, got {describe(value)}")
        if value.layout != torch.strided:
            raise TypeError(
                f"{self.op}: {name} must be a dense tensor, got {value.layout} {describe(value)}"
            )
        self.device = self.device or value.device
        if value.device != self.device:
            raise ValueError(
                f"{self.op}: {name} must be on {self.device} like the others, got {describe(value)}"
            )
        if value.dim() != len(dims) or not all(
            self._fits(d, n) for d, n in zip(dims, value.shape, strict=True)
        ):
            raise ValueError(
                f"{self.op}: {name} must have shape {self._wanted(dims)}, got {describe(value)}"
            )
        return value

    def optional(
        self, name: str, value: object, dims: Sequence[str | int], dtypes: Sequence[torch.dtype]
    ) -> torch.Tensor | None:
        """As ``tensor``, but ``None`` passes."""
        return None if value is None else self.tensor(name, value, dims, dtypes)

    def out(
        self, name: str, value: object, dims: Sequence[str | int], dtypes: Sequence[torch.dtype]
    ) -> None:
        """Checks a tensor that is written; it must be contiguous."""
        if not self.tensor(f"out.{name}", value, dims, dtypes).is_contiguous():
            raise self.fail(f"out.{name} must be contiguous, got {describe(value)}")

    def fields(self, inputs: Any) -> None:
        """Checks every field of the dataclass ``inputs`` that was declared as a tensor."""
        for declared in fields(inputs):
            self._field(declared, getattr(inputs, declared.name))

    def _field(self, declared: Field[Any], value: object) -> None:
        if "dims" not in declared.metadata:
            return
        if value is None and declared.default is not MISSING:
            return
        dims, dtypes = declared.metadata["dims"], declared.metadata["dtypes"]
        self.tensor(declared.name, value, dims, dtypes)

    def integer(self, name: str, value: object, low: int, high: int) -> int:
        """Checks a plain Python integer against an inclusive range and returns it."""
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{self.op}: {name} must be an int, got {describe(value)}")
        if not low <= value <= high:
            raise ValueError(f"{self.op}: {name} must be in {low}..{high}, got {value}")
        return value

    def fail(self, text: str) -> ValueError:
        """A ValueError that names the op, for rules that no single tensor breaks."""
        return ValueError(f"{self.op}: {text}")

    def _fits(self, dim: str | int, size: int) -> bool:
        if dim == "_":
            return True
        if isinstance(dim, int):
            return dim == size
        name, sign, extra = dim.partition("-" if "-" in dim else "+")
        more = int(extra or 0) * (-1 if sign == "-" else 1)
        return self.sizes.setdefault(name, size - more) == size - more

    def _wanted(self, dims: Sequence[str | int]) -> str:
        known = ", ".join(f"{name}={size}" for name, size in self.sizes.items())
        return "[" + ", ".join(str(dim) for dim in dims) + "]" + (f" with {known}" if known else "")
