"""Calls that look alike are checked once, and launched without asking Triton again; those of an op
whose code does nothing else (``Launcher.run``) are replayed without running it again.

What a call is checked for and what its kernels are compiled for follow from its signature: type,
shape, strides, device and alignment of every tensor, and every plain value. Triton works that out
anew at every launch, which takes the host longer than the GPU takes for the launch's work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import torch

from ._replay import Recording, Replay

# Signatures that are remembered: batches of every size, of a few models.
ROOM = 4096
# Calls of a signature that may be written down: one may not do, the next may.
TRIES = 4
# What pointers are told apart by when a kernel is compiled.
ALIGNMENT = 16

_LAUNCHERS: dict[tuple[object, ...], Launcher] = {}


class Launcher:
    """The launches of calls with one signature; a new one launches as Triton does."""

    def __init__(self) -> None:
        self._checked = False
        self._known: dict[tuple[Any, int], tuple[Any, tuple[object, ...]]] = {}
        self._recording: Recording | None = None
        self._replay: Replay | None = None
        self._tries = TRIES

    def check_once(self, check: Callable[[], None]) -> None:
        """Runs ``check`` unless it has passed for this signature."""
        if not self._checked:
            check()
            self._checked = True

    def run(
        self, values: Sequence[object], call: Callable[[], tuple[torch.Tensor, ...]]
    ) -> tuple[torch.Tensor, ...]:
        """What ``call`` returns, which makes nothing but tensors (``empty``) and launches, over
        ``values``, the arguments of the signature. A later call is replayed, and not made.
        """
        if self._replay is not None and not _watched():
            return self._replay(values, _stream())
        if self._tries == 0:
            return call()
        self._tries -= 1
        self._recording = Recording(values)
        try:
            results = call()
            self._replay = self._recording.replay(results)
        finally:
            self._recording = None
        return results

    def empty(self, *shape: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        """``torch.empty``: scratch memory, or a result if it is returned."""
        return self.empties(1, *shape, dtype=dtype, device=device)[0]

    def empties(
        self, count: int, *shape: int, dtype: torch.dtype, device: torch.device
    ) -> tuple[torch.Tensor, ...]:
        """So many of one shape, side by side."""
        made: tuple[torch.Tensor, ...] = torch.empty(
            count, *shape, dtype=dtype, device=device
        ).unbind(0)
        if self._recording is not None:
            self._recording.made += made
        return made

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
        if known is None:
            named = constants()
            compiled = kernel[(programs,)](*arguments, **named)
            rest = tuple(named[name] for name in kernel.arg_names[len(arguments) :])
            if compiled is not None:  # the interpreter compiles nothing
                self._known[kernel.fn, place] = compiled, rest
        else:
            compiled, rest = known
            compiled[(programs, 1, 1)](*arguments, *rest)
        if self._recording is not None:
            self._recording.launches.append((compiled, programs, (*arguments, *rest)))


@cache
def _triton() -> tuple[Any, Any]:
    """(its settings, its driver), which a machine without it need not have."""
    from triton import knobs
    from triton.runtime import driver

    return knobs.runtime, driver


def _watched() -> bool:
    """Whether a profiler wants to hear of each launch, which a replay does not tell."""
    hook = _triton()[0].launch_enter_hook
    return hook is not None and bool(getattr(hook, "calls", True))


def _stream() -> int:
    """The current stream of the current device."""
    active = _triton()[1].active
    stream: int = active.get_current_stream(active.get_current_device())
    return stream


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
