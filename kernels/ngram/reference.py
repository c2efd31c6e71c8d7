"""The law of the ngram proposer: which tokens follow the best match of a request's last tokens in its own history.

Read row by row, longest n first; slow on purpose. The kernels must give exactly the same integers.
"""

from __future__ import annotations

import torch

NO_DRAFT = -1


def find_continuation(
    haystacks: list[list[int]], recent: list[int], *, max_ngram: int, min_ngram: int, rightmost: bool
) -> list[int]:
    """Every token after the best match of the end of `recent` in `haystacks`, or [] when nothing matches.

    Longest n first, then the earlier haystack, then the leftmost (or rightmost) place that something follows.
    """
    for n in range(max_ngram, min_ngram - 1, -1):
        pattern = recent[-n:]
        # -1 pads a history: a pad is no token, and so equals nothing, not even another pad
        if len(recent) < n or min(pattern) < 0:
            continue
        for haystack in haystacks:
            starts = range(len(haystack) - n)  # the last start is left out: nothing would follow it
            for i in reversed(starts) if rightmost else starts:
                if haystack[i : i + n] == pattern:
                    return haystack[i + n :]
    return []


def propose_reference(
    token_ids_all: torch.Tensor,  # [B, L]
    prompt_lens: torch.Tensor,  # [B]
    step_idx: torch.Tensor,  # [B], a count of generated tokens
    draft_token_num: torch.Tensor,  # [B]
    max_dec_len: torch.Tensor,  # [B]
    draft_tokens: torch.Tensor,  # [B, S], column 0 is the last token; io
    seq_lens_this_time: torch.Tensor,  # [B]; io
    seq_lens_encoder: torch.Tensor,  # [B]
    seq_lens_decoder: torch.Tensor,  # [B]
    *,
    max_ngram: int,
    min_ngram: int,
    rightmost: bool,
    one_history: bool,
    budget: int | None,
    pad_to_max: bool,
    append: bool,
) -> None:
    """Fill `draft_tokens` and `seq_lens_this_time` in place; the arguments are those of `kernels.ngram`.

    `append` is the hybrid: the drafts already there stay, and the last token stands at slot `step_idx`, not before it.
    """
    length, width = token_ids_all.shape[1], draft_tokens.shape[1]
    base = []  # tokens a row takes before any ngram draft
    wanted = []  # the drafts it would like, before the budget
    for b in range(token_ids_all.shape[0]):
        encoder, decoder = int(seq_lens_encoder[b]), int(seq_lens_decoder[b])
        if append or encoder > 0:
            base.append(int(seq_lens_this_time[b]))
        else:
            base.append(1 if decoder > 0 else 0)
        wanted.append([])
        if encoder > 0 or base[b] <= 0 or decoder <= 0:
            continue
        prompt, step = int(prompt_lens[b]), int(step_idx[b])
        start = prompt + (1 if append else 0)
        if prompt < 0 or step < 0 or start + step > length:
            continue
        row = token_ids_all[b].tolist()
        asked, generated = row[:prompt], row[start : start + step]
        found = find_continuation(
            [asked + generated] if one_history else [asked, generated],
            asked + generated if one_history else generated,
            max_ngram=max_ngram,
            min_ngram=min_ngram,
            rightmost=rightmost,
        )
        room = min(
            int(draft_token_num[b]) - (base[b] - 1),
            width - base[b],
            int(max_dec_len[b]) - step - 1,  # the bonus token needs a place too
            length - (start + step) - 1,
        )
        wanted[b] = found[: max(room, 0)]

    left = float("inf") if budget is None else budget - sum(base)
    for b, drafts in enumerate(wanted):
        drafts = drafts[: max(min(left, len(drafts)), 0)]
        left -= len(drafts)
        end = base[b] + len(drafts)
        if not append and int(seq_lens_encoder[b]) > 0:
            continue
        for j, token in enumerate(drafts):
            draft_tokens[b, base[b] + j] = token
        if pad_to_max and base[b] > 0 and int(seq_lens_decoder[b]) > 0 and int(seq_lens_encoder[b]) == 0:
            draft_tokens[b, end:] = int(draft_tokens[b, end - 1])
            end = width
        # yesterday's proposal must not survive a row that found nothing
        draft_tokens[b, max(end, 1) :] = NO_DRAFT
        seq_lens_this_time[b] = end
