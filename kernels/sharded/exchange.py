"""What processes with a shard each tell each other, and who carries it.

An op over shards is a generator: it yields a tensor, of one shape on every rank, and goes on with
what all ranks yielded. So the op knows nothing of processes, and its shards may as well stand in
one.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, TypeVar

import torch

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

Result = TypeVar("Result")
Gathered = Sequence[torch.Tensor]  # by rank
Steps = Generator[torch.Tensor, Gathered, Result]


def over_group(steps: Steps[Result], group: ProcessGroup | None) -> Result:
    """The op's result, its ranks those of ``group`` (None: of all processes)."""
    from torch import distributed

    size = distributed.get_world_size(group)
    mine, ended = _go_on(steps, None)
    while mine is not None:
        mine = mine.contiguous()
        everyone = mine.new_empty((size, *mine.shape))
        # As bytes: not every carrier knows every type.
        distributed.all_gather_into_tensor(_bytes(everyone), _bytes(mine), group=group)
        mine, ended = _go_on(steps, everyone.unbind(0))
    return ended[0]


def together(ranks: Sequence[Steps[Result]]) -> list[Result]:
    """The results of all ranks of one op whose shards stand in one process, on one device."""
    everyone: Gathered | None = None
    while True:
        went = [_go_on(steps, everyone) for steps in ranks]
        told = [mine for mine, _ended in went if mine is not None]
        if not told:
            return [ended[0] for _mine, ended in went]
        everyone = told


def _go_on(
    steps: Steps[Result], everyone: Gathered | None
) -> tuple[torch.Tensor | None, tuple[Result, ...]]:
    """(what the rank tells next, ()), or (None, its result)."""
    try:
        if everyone is None:
            return next(steps), ()
        return steps.send(everyone), ()
    except StopIteration as done:
        return None, (done.value,)


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.flatten().view(torch.uint8)
