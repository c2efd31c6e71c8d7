"""`paddle.nn`: only the functions that references of tests use."""

from __future__ import annotations

from typing import Any

from kernels.emulator.standins import NotEmulated
from kernels.emulator.standins.paddle.nn import functional as functional


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotEmulated(f"paddle.nn.{name}")
