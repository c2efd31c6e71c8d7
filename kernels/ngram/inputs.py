"""What the n-gram proposers work on, and how: the arguments of `kernels.ngram`, checked."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class NgramTensors:
    """The state of B requests; what each means is told by `ngram_propose` and `ngram_append`.

    `draft_tokens` and `seq_lens_this_time` are written.
    """

    token_ids_all: torch.Tensor  # [B, L]
    prompt_lens: torch.Tensor  # [B]
    step_idx: torch.Tensor  # [B]
    draft_token_num: torch.Tensor  # [B]
    max_dec_len: torch.Tensor  # [B]
    draft_tokens: torch.Tensor  # [B, S]
    seq_lens_this_time: torch.Tensor  # [B]
    seq_lens_encoder: torch.Tensor  # [B]
    seq_lens_decoder: torch.Tensor  # [B]


@dataclass(frozen=True, slots=True)
class NgramOptions:
    """Which matches count, and how many tokens may be proposed.

    `append` is the hybrid: the drafts already there stay, and generated tokens stand at slots
    1..step_idx of what follows the prompt, not 0.. .
    """

    max_ngram: int
    min_ngram: int
    rightmost: bool
    one_history: bool
    budget: int | None
    pad_to_max: bool
    append: bool
