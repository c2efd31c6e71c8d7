"""Fresh memory that no kernel may rely on: NaN, or an absurd integer, so that a read of what
nothing wrote shows.

torch has this as a side effect of deterministic algorithms, whose switch imports its compiler: 3 s
a process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

_ABSURD = 0x5A5A5A5A5A5A5A5A
_ALLOCATORS = (
    (torch, "empty"),
    (torch, "empty_like"),
    (torch, "empty_strided"),
    (torch.Tensor, "new_empty"),
)


@contextmanager
def poisoned() -> Iterator[None]:
    """Within it, ``torch.empty`` and its relatives give poisoned memory."""
    kept = [(owner, name, getattr(owner, name)) for owner, name in _ALLOCATORS]
    for owner, name, allocate in kept:
        setattr(owner, name, _poisoning(allocate))
    try:
        yield
    finally:
        for owner, name, allocate in kept:
            setattr(owner, name, allocate)


def _poisoning(allocate: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    def poisoning(*args: object, **kwargs: object) -> torch.Tensor:
        tensor = allocate(*args, **kwargs)
        if tensor.is_floating_point():
            return tensor.fill_(float("nan"))
        return tensor.fill_(
            True if tensor.dtype == torch.bool else _ABSURD & torch.iinfo(tensor.dtype).max
        )

    return poisoning
