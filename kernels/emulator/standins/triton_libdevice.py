"""Functions of CUDA's math library for Triton's interpreter, which has only their names."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
from triton import language as tl
from triton.language.extra import libdevice
from triton.runtime.interpreter import TensorHandle

from kernels.emulator.standins import NotEmulated

# Those of one argument that numpy has too, by its name.
_UNARY = (
    *("sin", "cos", "tan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt"),
    *("rint", "trunc", "floor", "ceil"),
)
_PREDICATES = ("isnan", "isinf")


def install() -> None:
    """Give each function of `libdevice` a meaning, or let it say that it has none here."""
    for name, known in vars(libdevice).items():
        if not isinstance(known, FunctionType) or name.startswith("_"):
            continue
        if name in _UNARY:
            setattr(libdevice, name, _unary(getattr(np, name)))
        elif name in _PREDICATES:
            setattr(libdevice, name, _predicate(getattr(np, name)))
        else:
            setattr(libdevice, name, _missing(name))


def _unary(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(value: tl.tensor, **_: Any) -> tl.tensor:
        data = value.handle.data
        result = np.asarray(function(data)).astype(data.dtype)
        return tl.tensor(TensorHandle(result, value.handle.dtype), value.type)

    return call


def _predicate(function: Callable[..., Any]) -> Callable[..., Any]:
    """C has no truth values: the answer is an integer."""

    def call(value: tl.tensor, **_: Any) -> tl.tensor:
        result = np.asarray(function(value.handle.data)).astype(np.int32)
        kind = tl.block_type(tl.int32, value.shape) if value.type.is_block() else tl.int32
        return tl.tensor(TensorHandle(result, tl.int32), kind)

    return call


def _missing(name: str) -> Callable[..., Any]:
    def call(*_: Any, **__: Any) -> Any:
        raise NotEmulated(f"libdevice's {name} in Triton's interpreter")

    return call
