"""Calls that look alike are checked once, and launched without asking Triton again.

What a call is checked for and what its kernels are compiled for follow from its signature: type,
shape, strides, device and alignment of every tensor, and every plain value. Triton works that out
anew at every launch, which takes the host longer than the GPU takes for the launch's work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

# Signatures that are remembered: batches of every size, of a few models.
ROOM = 4096
# What pointers are told apart by when a kernel is compiled.
ALIGNMENT = 16

_LAUNCHERS: dict[tuple[object, ...], Launcher] = {}


class Launcher:
    """The launches of calls with one signature; a new one launches as Triton does."""

    def __init__(self) -> None:
        self._checked = False
        self._known: dict[tuple[Any, int], tuple[Any, tuple[object, ...]]] = {}

    def check_once(self, check: Callable[[], None]) -> None:
        """Runs ``check`` unless it has passed for this signature."""
        if not self._checked:
            check()
            self._checked = True

    def __call__(
        self,
        kernel: Any,
        programs: int,
        arguments: tuple[Any, ...],
        constants: Callable[[], dict[str, Any]],
        place: int = 0,
    ) -> None:
        """Launches a kernel. ``arguments`` are its first ones, ``constants`` makes the others and
        the options; ``place`` tells launches of one kernel apart that a call makes.

        All of them must follow from the signature, but for where tensors are, and new tensors
        must be aligned as ``torch.empty`` has them.
        """
        known = self._known.get((kernel.fn, place))
        if known is not None:
            compiled, rest = known
            compiled[(programs, 1, 1)](*arguments, *rest)
            return
        named = constants()
        compiled = kernel[(programs,)](*arguments, **named)
        if compiled is not None:  # the interpreter compiles nothing
            rest = tuple(named[name] for name in kernel.arg_names[len(arguments) :])
            self._known[kernel.fn, place] = compiled, rest


def launcher_of(op: str, values: Iterable[object]) -> Launcher:
    """The launcher of the calls of ``op`` with arguments like these."""
    signature = _signature(op, values)
    found = _LAUNCHERS.get(signature)
    if found is None:
        if len(_LAUNCHERS) >= ROOM:
            _LAUNCHERS.clear()
        found = _LAUNCHERS[signature] = Launcher()
    return found


def cdiv(whole: int, size: int) -> int:
    """How many parts of ``size`` a whole has; Triton's own takes the host microseconds."""
    return -(-whole // size)


def _signature(op: str, values: Iterable[object]) -> tuple[object, ...]:
    """What a check or a kernel can tell of the values, in one flat tuple: of a tensor type, shape,
    device, alignment and strides, which a contiguous vector need not tell.
    """
    parts: list[object] = [op]
    for value in values:
        if value is None:
            parts.append(None)
        elif isinstance(value, torch.Tensor) and value.layout is torch.strided:
            parts += (value.dtype, value.shape, value.device, value.data_ptr() % ALIGNMENT)
            # A single row counts as contiguous whatever its stride, which kernels are given.
            if value.dim() > 1 or not value.is_contiguous():
                parts.append(value.stride())
        elif isinstance(value, (int, float)):
            parts += (type(value), value)
        else:
            parts.append(object())  # no op takes it: like nothing else
    return tuple(parts)
