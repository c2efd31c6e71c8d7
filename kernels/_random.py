"""The random numbers of every draw, in plain PyTorch: Philox4x32-10 (Salmon et al., SC 2011),
counted, not carried.

A draw is named by (seed of the request, position in its generated text, stream), so it is the same
on every rank and for every batch around it, and two streams never share noise: a recovered token
must not reuse what drew or judged the draft (vLLM #47386).
"""

from __future__ import annotations

import torch

# Streams. The order is part of the law: a reordering changes every sampled token.
ACCEPT = 0  # accepts or rejects a draft
RECOVER = 1  # draws the recovered or bonus token, and a sampled target
DRAFT = 2  # draws a draft token

# A draw picks a chunk of this many tokens, then a token in it: the size is part of what a seed
# means.
CHUNK = 2048

_MASK = 0xFFFFFFFF
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)


def philox(seed: torch.Tensor, counter: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    """Four words of 32 bits, as int64, for an int64 key and a counter of four words (any one
    shape)."""
    key = [seed & _MASK, (seed >> 32) & _MASK]
    c = [word & _MASK for word in counter]
    for _ in range(10):
        low = [
            c[0] * _MULTIPLIERS[0],
            c[2] * _MULTIPLIERS[1],
        ]  # wraps at 64 bits; the bits are right
        high = [(product >> 32) & _MASK for product in low]
        c = [high[1] ^ c[1] ^ key[0], low[1] & _MASK, high[0] ^ c[3] ^ key[1], low[0] & _MASK]
        key = [(key[0] + _WEYL[0]) & _MASK, (key[1] + _WEYL[1]) & _MASK]
    return tuple(c)


def uniforms(
    seed: torch.Tensor, position: torch.Tensor, stream: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Two independent float64 uniforms of each (seed, position): odd multiples of 2**-24 inside (0,
    1).

    23 bits and a half, because that is exact in float32; with 24 the largest would round to 1.
    """
    zero = torch.zeros_like(position)
    words = philox(seed, (position, position >> 32, zero + stream, zero))
    first, second = (((word >> 9).double() + 0.5) * 2.0**-23 for word in words[:2])
    return first, second


def draw(
    weights: torch.Tensor,  # float64 [B, V], at least 0
    uniform: tuple[torch.Tensor, torch.Tensor],  # float64 [B] twice
    chunk: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """(token int64 [B], margin float64 [B]): the first uniform picks a chunk of the vocabulary by
    its mass, the second a token inside it. A row without mass gives token 0. ``margin`` says how
    close a uniform came to a boundary, relative to the mass: another precision may draw a neighbour
    when it is tiny.
    """
    batch, vocab = weights.shape
    padded = torch.nn.functional.pad(weights, (0, -vocab % chunk)).view(batch, -1, chunk)
    part, margin = _pick(padded.sum(dim=2), uniform[0])
    inside, margin_inside = _pick(
        padded[torch.arange(batch, device=weights.device), part], uniform[1]
    )
    return part * chunk + inside, torch.minimum(margin, margin_inside)


def _pick(mass: torch.Tensor, uniform: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The first entry of each row [B, N] whose prefix sum passes ``uniform`` times the row's
    sum."""
    until = mass.cumsum(dim=1)
    total = until[:, -1:]
    goal = uniform[:, None] * total
    reached = (until > goal) & (mass > 0)
    index = torch.where(reached.any(dim=1), reached.int().argmax(dim=1), 0)
    distance = ((until - goal).abs() / total.clamp(min=1e-300)).amin(dim=1)
    return index, torch.where(total[:, 0] > 0, distance, torch.inf)
