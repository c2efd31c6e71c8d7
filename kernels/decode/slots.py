"""What a rank keeps between two steps."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from kernels.decode.settings import Settings


@dataclass
class Slots:
    """The state of every request on the device, in the engine's own words."""

    token_ids_all: torch.Tensor  # [B, L] int64
    draft_tokens: torch.Tensor  # [B, S] int64, column 0 the last token
    prompt_lens: torch.Tensor  # [B] int64, like the next four
    step_idx: torch.Tensor
    max_dec_len: torch.Tensor
    seeds: torch.Tensor
    top_k: torch.Tensor
    temperature: torch.Tensor  # [B] float32
    top_p: torch.Tensor  # [B] float32
    seq_lens_this_time: torch.Tensor  # [B] int32, like the next two
    seq_lens_encoder: torch.Tensor
    seq_lens_decoder: torch.Tensor
    stop_flags: torch.Tensor  # [B] bool

    @classmethod
    def empty(cls, settings: Settings, device: torch.device) -> Slots:
        """All slots stopped."""
        slots = settings.max_bsz

        def zeros(dtype: torch.dtype, *size: int) -> torch.Tensor:
            return torch.zeros(size, dtype=dtype, device=device)

        return cls(
            zeros(torch.int64, slots, settings.max_model_len),
            torch.full((slots, settings.width), -1, device=device),
            *(zeros(torch.int64, slots) for _ in range(5)),
            *(zeros(torch.float32, slots) for _ in range(2)),
            *(zeros(torch.int32, slots) for _ in range(3)),
            torch.ones(slots, dtype=torch.bool, device=device),
        )


@dataclass(frozen=True)
class Guess:
    """What a draft head goes on from: the hidden state that gave the last token, and the token it
    was made of."""

    hidden: torch.Tensor  # [B, D]
    token: torch.Tensor  # [B] int64
