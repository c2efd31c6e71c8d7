"""A module that stands for `paddle`: as much of it, on numpy, as tests of ops use."""

from __future__ import annotations

import sys
from typing import Any

from kernels.emulator.standins import NotEmulated
from kernels.emulator.standins.paddle import creation, device, nn, operations
from kernels.emulator.standins.paddle.creation import (
    arange,
    empty,
    empty_like,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    rand,
    randint,
    randn,
    randperm,
    seed,
    to_tensor,
    uniform,
    zeros,
    zeros_like,
)
from kernels.emulator.standins.paddle.device import (
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    XPUPlace,
    get_device,
    is_compiled_with_cuda,
    is_compiled_with_custom_device,
    is_compiled_with_rocm,
    is_compiled_with_xpu,
    set_device,
)
from kernels.emulator.standins.paddle.operations import *  # noqa: F403
from kernels.emulator.standins.paddle.tensor import DTYPE_NAMES, DType, Tensor

__version__ = "3.0.0"

for _name in DTYPE_NAMES:
    globals()[_name] = DType(_name)
dtype = DType
# Submodules by their dotted names, as `import paddle.nn.functional` asks for them.
sys.modules["paddle"] = sys.modules[__name__]
sys.modules["paddle.device"] = device
sys.modules["paddle.nn"] = nn
sys.modules["paddle.nn.functional"] = nn.functional


def set_default_dtype(name: str) -> None:
    """Types are given in tests of ops."""


def get_default_dtype() -> str:
    """Paddle's own."""
    return "float32"


def in_dynamic_mode() -> bool:
    """Ops run at once."""
    return True


def disable_static(*_: object) -> None:
    """There is no other mode."""


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotEmulated(f"paddle.{name}")
