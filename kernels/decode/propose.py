"""The proposers: who guesses the next tokens, and from what distribution."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from kernels.decode.model import Model
from kernels.decode.settings import Settings
from kernels.decode.slots import Guess, Slots
from kernels.ngram import NO_DRAFT, ngram_append, ngram_propose
from kernels.sampling import DRAFT, sample, top_k_top_p_cut

SUFFIX = 16


@dataclass(frozen=True)
class Drafts:
    """The distribution that the drafts in the slots were drawn from, as `verify` wants it."""

    logits: torch.Tensor  # [B, K, V], before the temperature
    cut: (
        tuple[torch.Tensor, torch.Tensor] | None
    )  # [B, K] each: the last token that top-k and top-p kept


def propose(
    model: Model, settings: Settings, slots: Slots, guess: Guess | None, *, truncate: bool
) -> Drafts | None:
    """Write drafts into `slots` and lengthen `seq_lens_this_time`.

    Returns their distribution; None means that every draft is certain of itself, as a lookup is.
    `truncate`: some request has a top-k or top-p.
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
    drafts = _draft(model, slots, guess, own, truncate)
    return _lengthen(settings, slots, drafts) if settings.proposer == "hybrid" else drafts


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


def _draft(model: Model, slots: Slots, guess: Guess, own: int, truncate: bool) -> Drafts:
    """Up to `own` drafts of the draft head for every slot that decodes on."""
    length, vocab = slots.token_ids_all.shape[1], model.shape.vocab
    room = torch.minimum(slots.max_dec_len, length - slots.prompt_lens) - slots.step_idx - 1
    decoding = (slots.seq_lens_encoder == 0) & (slots.seq_lens_this_time > 0)
    count = torch.where(decoding, room.clamp(0, own), 0)
    batch, width = slots.draft_tokens.shape
    logits = torch.full(
        (batch, width - 1, vocab), float("-inf"), dtype=model.dtype, device=model.device
    )
    cut = _keep_all(logits) if truncate else None
    hidden, before, token = guess.hidden, guess.token, slots.draft_tokens[:, 0].clamp(min=0)
    for i in range(own):
        hidden = model.draft(hidden, before, token)
        logits[:, i] = head = model.head(hidden)
        kept = None
        if cut is not None:
            kept = top_k_top_p_cut(head, slots.temperature, slots.top_k, slots.top_p)
            cut[0][:, i], cut[1][:, i] = kept
        drawn = sample(
            head, slots.seeds, slots.step_idx + i, slots.temperature, cut=kept, stream=DRAFT
        )
        before, token = token, drawn
        slots.draft_tokens[:, i + 1] = torch.where(i < count, token, NO_DRAFT)
    slots.seq_lens_this_time += count.int()
    return Drafts(logits, cut)


def _keep_all(logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The cut that keeps every token. [B, K] each"""
    batch, drafts, vocab = logits.shape
    lowest = torch.full((batch, drafts), float("-inf"), dtype=torch.float32, device=logits.device)
    return lowest, torch.full((batch, drafts), vocab - 1, device=logits.device)


def _lengthen(settings: Settings, slots: Slots, drafts: Drafts) -> Drafts:
    """Append what followed the drafts, taken together with the text before them, at an earlier
    place."""
    before = slots.seq_lens_this_time.clone()
    ngram_append(
        _draft_history(slots),
        slots.prompt_lens,
        slots.step_idx + (before - 1).clamp(min=0),
        torch.full_like(slots.step_idx, settings.num_speculative_tokens),
        slots.max_dec_len,
        slots.draft_tokens,
        slots.seq_lens_this_time,
        slots.seq_lens_encoder,
        slots.seq_lens_decoder,
        max_ngram=settings.max_ngram,
        budget=settings.draft_budget,
    )
    column = torch.arange(1, slots.draft_tokens.shape[1], device=before.device)
    found = (column >= before[:, None]) & (column < slots.seq_lens_this_time[:, None])  # [B, K]
    # a lookup has all its mass on what it found
    certain = torch.full_like(drafts.logits, float("-inf"))
    certain.scatter_(2, slots.draft_tokens[:, 1:, None].clamp(min=0), 0.0)
    logits = torch.where(found[:, :, None], certain, drafts.logits)
    if drafts.cut is None:
        return Drafts(logits, None)
    kept = zip(_keep_all(logits), drafts.cut, strict=True)
    return Drafts(logits, tuple(torch.where(found, every, own) for every, own in kept))


def _draft_history(slots: Slots) -> torch.Tensor:
    """The draft model's own history [B, L + 1]: generated token k (from 1) and the drafts at
    prompt_len + k."""
    batch, length = slots.token_ids_all.shape
    place = torch.arange(length + 1, device=slots.token_ids_all.device).expand(batch, -1)
    prompt = slots.prompt_lens[:, None]
    text = slots.token_ids_all.gather(1, (place - (place > prompt).long()).clamp(max=length - 1))
    first = prompt + slots.step_idx[:, None] + 1
    column = (place - first + 1).clamp(0, slots.draft_tokens.shape[1] - 1)
    history = torch.where(place >= first, slots.draft_tokens.gather(1, column), text)
    return torch.where(place == prompt, NO_DRAFT, history)
