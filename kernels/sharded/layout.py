"""Which tokens are whose, and how a shard's logits are cut into chunks of the whole vocabulary.

What a chunk gives depends on its logits alone, so one GPU's bits follow if every chunk is one
rank's. A chunk belongs to the rank that its first token belongs to. Where shards end within chunks
(an engine divides a vocabulary by the number of its GPUs, not by 2,048) the logits of the next
rank's *head*, those before its first chunk, are sent to it: some KB a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch

from .._launch import cdiv
from .._validate import Args
from .exchange import Steps


@dataclass(frozen=True)
class Shard:
    """The tokens that a rank has logits of: ids ``bounds[rank]`` to ``bounds[rank + 1] - 1``."""

    bounds: tuple[int, ...]  # of all ranks: 0, where each next shard begins, and the vocabulary
    rank: int

    @property
    def vocab(self) -> int:
        """Tokens of all shards."""
        return self.bounds[-1]

    @property
    def first(self) -> int:
        """Its first token."""
        return self.bounds[self.rank]

    def numbers(self) -> tuple[int, ...]:
        """What tells it from others."""
        return (self.rank, *self.bounds)

    def check(self, args: Args, width: int) -> None:
        """ValueError for bounds that are none, and for logits of another width."""
        ranks = len(self.bounds) - 1
        if ranks < 1 or self.bounds[0] != 0 or list(self.bounds) != sorted(set(self.bounds)):
            raise args.fail(f"shard.bounds must begin at 0 and increase, got {self.bounds}")
        args.integer("shard.rank", self.rank, 0, ranks - 1)
        own = self.bounds[self.rank + 1] - self.first
        if width != own:
            raise args.fail(f"logits must have the {own} columns of the shard, got {width}")


@dataclass(frozen=True)
class Part:
    """Whole chunks of a rank, their logits side by side."""

    logits: torch.Tensor  # [R, width]
    first: int  # number of its first chunk
    chunks: int


def chunks_of(bounds: Sequence[int], chunk: int) -> list[int]:
    """How many chunks each rank has."""
    starts = [cdiv(bound, chunk) for bound in bounds]
    return [end - start for start, end in pairwise(starts)]


def most_parts(bounds: Sequence[int], chunk: int) -> int:
    """2 where some rank's last chunk ends in another's shard, else 1."""
    return 1 + any(bound % chunk for bound in bounds[1:-1])


def parts_of(logits: torch.Tensor, shard: Shard, chunk: int) -> Steps[list[Part]]:
    """At most two: the chunks that lie in the shard, as a view, and the one that ends elsewhere."""
    heads: Sequence[torch.Tensor] = ()
    if most_parts(shard.bounds, chunk) > 1:
        widths = [_head(shard.bounds, rank, chunk) for rank in range(len(shard.bounds) - 1)]
        heads = yield _padded(logits[:, : widths[shard.rank]], max(widths))
        heads = [head[:, :width] for head, width in zip(heads, widths, strict=True)]
    end = shard.bounds[shard.rank + 1]
    first, last = cdiv(shard.first, chunk), cdiv(end, chunk)  # its chunks, the end not among them
    within = last if end == shard.vocab else end // chunk
    parts = []
    if within > first:
        start, stop = first * chunk - shard.first, within * chunk - shard.first
        parts.append(Part(logits[:, start:stop], first, within - first))
    if max(within, first) < last:
        tail = logits[:, (last - 1) * chunk - shard.first :]
        whole = torch.cat([tail, *heads[shard.rank + 1 :]], dim=1)[:, :chunk]
        parts.append(Part(whole, last - 1, 1))
    return parts


def whole_logits(logits: torch.Tensor, shard: Shard) -> Steps[torch.Tensor]:
    """The logits of all shards, for the law."""
    widths = [end - start for start, end in pairwise(shard.bounds)]
    everyone = yield _padded(logits, max(widths))
    return torch.cat([part[:, :width] for part, width in zip(everyone, widths, strict=True)], dim=1)


def _head(bounds: Sequence[int], rank: int, chunk: int) -> int:
    """Tokens of a rank before its first chunk, which end another's."""
    start, end = bounds[rank], bounds[rank + 1]
    return min(end, cdiv(start, chunk) * chunk) - start


def _padded(logits: torch.Tensor, width: int) -> torch.Tensor:
    """A copy, ``width`` columns wide; what is past the logits is never read."""
    wide = logits.new_empty(logits.shape[0], width)
    wide[:, : logits.shape[1]] = logits
    return wide
