"""A small random-weight transformer and its draft head, to decode with where no real model is at
hand.

Everything is computed in float64 and rounded once, at the logits: what a row comes out as then does
not depend on which other rows were in its step, so that speculative and plain decoding can be
compared token for token.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn.functional import gelu, rms_norm


@dataclass(frozen=True)
class Shape:
    """Sizes of a model.

    `agreement` is how much the draft head knows of what the layers add: 0 nothing, 1 all.
    """

    vocab: int = 64
    dim: int = 32
    heads: int = 2
    layers: int = 2
    mixing: float = 0.35
    gain: float = 2.5
    agreement: float = 0.5


class Model:
    """Weights drawn from `seed` on the CPU, so that every device and rank has the same ones."""

    def __init__(
        self,
        shape: Shape | None = None,
        *,
        seed: int = 0,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        self.shape = shape = shape or Shape()
        self.dtype, self.device = dtype, torch.device(device)
        generator = torch.Generator().manual_seed(seed)

        def weight(*size: int) -> torch.Tensor:
            drawn = torch.randn(size, generator=generator, dtype=torch.float64)
            return (drawn / size[0] ** 0.5).to(device)

        dim = shape.dim
        self.embedding = weight(shape.vocab, dim) * shape.vocab**0.5  # [V, D]
        self.output = weight(dim, shape.vocab) * shape.gain  # [D, V]
        self.qkv = [weight(dim, 3 * dim) for _ in range(shape.layers)]
        self.attended = [weight(dim, dim) for _ in range(shape.layers)]
        self.up = [weight(dim, 2 * dim) for _ in range(shape.layers)]
        self.down = [weight(2 * dim, dim) for _ in range(shape.layers)]

    def new_cache(self, slots: int, length: int) -> torch.Tensor:
        """Keys and values: [layers, 2, slots + 1, length, D].

        The last slot takes what padding rows write.
        """
        size = (self.shape.layers, 2, slots + 1, length, self.shape.dim)
        return torch.zeros(size, dtype=torch.float64, device=self.device)

    def forward(
        self,
        tokens: torch.Tensor,  # [T] int64
        slots: torch.Tensor,  # [T] int64
        positions: torch.Tensor,  # [T] int64
        cache: torch.Tensor,
    ) -> torch.Tensor:
        """Hidden states [T, D]; writes this step's keys and values into the cache.

        Rows of a rejected draft stay in the cache, but their positions are written again before
        anyone reads them.
        """
        x = self.embedding[tokens] + self._place(positions)
        length = cache.shape[3]
        seen = torch.arange(length, device=self.device)[None, :] <= positions[:, None]  # [T, L]
        for layer in range(self.shape.layers):
            query, key, value = (rms_norm(x, x.shape[-1:]) @ self.qkv[layer]).chunk(3, dim=-1)
            cache[layer, 0, slots, positions] = key
            cache[layer, 1, slots, positions] = value
            read = self._attend(query, cache[layer, 0][slots], cache[layer, 1][slots], seen)
            x = x + self.shape.mixing * (read @ self.attended[layer])
            x = x + self.shape.mixing * (
                gelu(rms_norm(x, x.shape[-1:]) @ self.up[layer]) @ self.down[layer]
            )
        return x

    def head(self, hidden: torch.Tensor) -> torch.Tensor:
        """Logits [..., V] of hidden states [..., D], in the model's dtype."""
        return (rms_norm(hidden, hidden.shape[-1:]) @ self.output).to(self.dtype)

    def draft(
        self,
        hidden: torch.Tensor,  # [B, D], of the token before
        before: torch.Tensor,  # [B] int64, the token that `hidden` was made of
        token: torch.Tensor,  # [B] int64
    ) -> torch.Tensor:
        """The draft head, an MTP layer in spirit: hidden states [B, D] of `token`, guessed from
        those before it.

        It takes what the target's layers added to the token before for what they would add to this
        one.
        """
        return self.embedding[token] + self.shape.agreement * (hidden - self.embedding[before])

    def _place(self, positions: torch.Tensor) -> torch.Tensor:
        """A small sinusoid [T, D]: enough to tell places apart, too little to keep greedy text from
        repeating."""
        half = self.shape.dim // 2
        rate = torch.arange(half, dtype=torch.float64, device=self.device) / half
        angle = positions[:, None] * 0.05 ** rate[None, :]
        return 0.05 * torch.cat([angle.sin(), angle.cos()], dim=-1)

    def _attend(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, seen: torch.Tensor
    ) -> torch.Tensor:
        """[T, D] from query [T, D], key and value [T, L, D], seen [T, L]."""
        heads = self.shape.heads
        rows, length, dim = key.shape
        query = query.view(rows, heads, 1, dim // heads)
        key = key.view(rows, length, heads, dim // heads).transpose(1, 2)
        value = value.view(rows, length, heads, dim // heads).transpose(1, 2)
        score = (query @ key.transpose(2, 3)).squeeze(2) / (dim // heads) ** 0.5  # [T, heads, L]
        weight = score.masked_fill(~seen[:, None, :], float("-inf")).softmax(dim=-1)
        # what stands behind the mask may be anything, and 0 * NaN is NaN
        value = value.masked_fill(~seen[:, None, :, None], 0.0)
        return (weight.unsqueeze(2) @ value).reshape(rows, dim)
