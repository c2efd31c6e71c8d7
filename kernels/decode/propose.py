"""The proposers: who guesses the next tokens, and from what distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from kernels.decode.model import Model
from kernels.decode.settings import Settings
from kernels.ngram import NO_DRAFT, ngram_append, ngram_propose

if TYPE_CHECKING:
    from kernels.decode.worker import Guess, Slots

SUFFIX = 16


def propose(model: Model, settings: Settings, slots: Slots, guess: Guess | None) -> torch.Tensor | None:
    """Write drafts into `slots` and lengthen `seq_lens_this_time`; returns the draft's logits [B, K, V].

    None means that every draft is certain of itself, as a lookup is.
    """
    slots.draft_tokens[:, 1:] = NO_DRAFT
    if settings.proposer == "none" or guess is None:
        return None
    if settings.proposer in ("ngram", "suffix"):
        _look_up(settings, slots)
        return None
    # the hybrid leaves at least half of the drafts to the lookup
    own = settings.num_speculative_tokens
    own = own if settings.proposer == "mtp" else (own + 1) // 2
    logits = _draft(model, settings, slots, guess, own)
    if settings.proposer == "hybrid":
        _lengthen(settings, slots, logits)
    return logits


def _look_up(settings: Settings, slots: Slots) -> None:
    suffix = settings.proposer == "suffix"
    ngram_propose(
        slots.token_ids_all,
        slots.prompt_lens,
        slots.step_idx,
        torch.full_like(slots.step_idx, settings.num_speculative_tokens),
        slots.max_dec_len,
        slots.draft_tokens,
        slots.seq_lens_this_time,
        slots.seq_lens_encoder,
        slots.seq_lens_decoder,
        max_ngram=SUFFIX if suffix else settings.max_ngram,
        match="rightmost" if suffix else "leftmost",
        haystack="one_history" if suffix else "prompt_first",
        budget=settings.draft_budget,
    )


def _draft(
    model: Model, settings: Settings, slots: Slots, guess: Guess, own: int
) -> torch.Tensor:
    """Up to `own` drafts of the draft head for every slot that decodes on."""
    length, vocab = slots.token_ids_all.shape[1], model.shape.vocab
    room = torch.minimum(slots.max_dec_len, length - slots.prompt_lens) - slots.step_idx - 1
    decoding = (slots.seq_lens_encoder == 0) & (slots.seq_lens_this_time > 0)
    count = torch.where(decoding, room.clamp(0, own), 0)
    batch, width = slots.draft_tokens.shape
    logits = torch.full((batch, width - 1, vocab), float("-inf"), dtype=model.dtype, device=model.device)
    hidden, before, token = guess.hidden, guess.token, slots.draft_tokens[:, 0].clamp(min=0)
    for i in range(own):
        hidden = model.draft(hidden, before, token)
        logits[:, i] = model.head(hidden)
        before, token = token, _draw(logits[:, i], slots, i)
        slots.draft_tokens[:, i + 1] = torch.where(i < count, token, NO_DRAFT)
    slots.seq_lens_this_time += count.int()
    return logits


def _draw(logits: torch.Tensor, slots: Slots, i: int) -> torch.Tensor:
    """Draft i + 1 of every slot [B]. TEMP"""
    return (logits == logits.amax(dim=1, keepdim=True)).int().argmax(dim=1)


def _lengthen(settings: Settings, slots: Slots, logits: torch.Tensor) -> None:
    """Append what followed the drafts, taken together with the text before them, at an earlier place."""
    history, drafts = _draft_history(slots), slots.seq_lens_this_time - 1
    before = slots.seq_lens_this_time.clone()
    ngram_append(
        history,
        slots.prompt_lens,
        slots.step_idx + drafts.clamp(min=0),
        torch.full_like(slots.step_idx, settings.num_speculative_tokens),
        slots.max_dec_len,
        slots.draft_tokens,
        slots.seq_lens_this_time,
        slots.seq_lens_encoder,
        slots.seq_lens_decoder,
        max_ngram=settings.max_ngram,
        budget=settings.draft_budget,
    )
    column = torch.arange(1, slots.draft_tokens.shape[1], device=logits.device)[None, :]
    appended = (column >= before[:, None]) & (column < slots.seq_lens_this_time[:, None])
    # a lookup has all its mass on what it found
    certain = torch.full_like(logits, float("-inf"))
    certain.scatter_(2, slots.draft_tokens[:, 1:, None].clamp(min=0), 0.0)
    logits.copy_(torch.where(appended[:, :, None], certain, logits))


def _draft_history(slots: Slots) -> torch.Tensor:
    """The draft model's own history [B, L + 1]: generated token k (from 1) and the drafts at prompt_len + k."""
    batch, length = slots.token_ids_all.shape
    place = torch.arange(length + 1, device=slots.token_ids_all.device).expand(batch, -1)
    prompt = slots.prompt_lens[:, None]
    text = slots.token_ids_all.gather(1, (place - (place > prompt).long()).clamp(max=length - 1))
    first = prompt + slots.step_idx[:, None] + 1
    column = (place - first + 1).clamp(0, slots.draft_tokens.shape[1] - 1)
    history = torch.where(place >= first, slots.draft_tokens.gather(1, column), text)
    return torch.where(place == prompt, NO_DRAFT, history)
