"""Ngram proposals in two launches: every place of the history scored once for all n, then one block
hands out drafts. The second is launched while the first still runs, and waits inside for its keys:
2 of 8 us are saved.

A place `c` in a history is scored by how many tokens before it equal the request's last tokens,
counted backwards and capped at `max_ngram`. The best of all n is then one maximum over a 64-bit
key, so the cost does not grow with n.
"""

from __future__ import annotations

from functools import cache

import torch
import triton
import triton.language as tl

from kernels.ngram.inputs import NgramOptions, NgramTensors

BLOCK = 512
WARPS = 4
# More programs than this only wait for a slot: eight of 128 threads on each of the 132 processors
# of an H100 or H200.
PROGRAMS = 1056
# (rows, splits) of one tile of the second kernel. Two shapes, because few rows want many splits and
# the reverse.
MANY_ROWS, FEW_ROWS = (256, 8), (32, 64)
NO_BUDGET = 1 << 62


@triton.jit
def _from_end(history, tokens_column, end, back, limit):
    """The request's token `back` before its end, -1 where its pattern is shorter."""
    place = (end - back).to(tl.int64)
    return tl.load(history + place * tokens_column, mask=back <= limit, other=-1)


@triton.jit
def _equals(history, tokens_column, place, behind, back, alive, wanted):
    """Which of the living places have the token `wanted` at `back` before them. [places] bool"""
    alive = alive & (behind >= back)
    source = history + (place - back).to(tl.int64) * tokens_column
    token = tl.load(source, mask=alive, other=-1)
    return alive & (token == wanted) & (token >= 0)


# tokens_stride stays specialised: a row that starts on 16 bytes is read 16 bytes at a time.
@triton.jit(do_not_specialize=["rows", "length", "max_ngram", "min_ngram", "splits"])
def _ngram_match_kernel(
    tokens,  # [B, L]
    tokens_stride,
    tokens_column,
    prompt_lens,  # [B]
    step_idx,  # [B]
    lens_encoder,  # [B]
    lens_decoder,  # [B]
    keys,  # [splits, B] int64, out: 0 where nothing matched
    rows,
    length,
    max_ngram,
    min_ngram,
    splits,
    SHIFT: tl.constexpr,
    ONE_HISTORY: tl.constexpr,
    RIGHTMOST: tl.constexpr,
    BLOCK: tl.constexpr,
    CHAINED: tl.constexpr,
):
    if CHAINED:
        # the second kernel may start now: it waits for this one before it reads a key
        tl.extra.cuda.gdc_launch_dependents()
    row = tl.program_id(0).to(tl.int64)
    split = tl.program_id(1)
    history = tokens + row * tokens_stride
    prompt = tl.load(prompt_lens + row).to(tl.int64)
    step = tl.load(step_idx + row).to(tl.int64)
    decoding = (tl.load(lens_encoder + row) <= 0) & (tl.load(lens_decoder + row) > 0)
    # each against the length first: the sum of two absurd values could wrap around
    fits = (prompt >= 0) & (step >= 0) & (prompt <= length) & (step <= length)
    fits = fits & (prompt + SHIFT + step <= length)
    # from here on 32 bits: no place is far beyond L, and L is below 2**30
    prompt = tl.where(fits, prompt, 0).to(tl.int32)
    end = tl.where(fits & decoding, prompt + SHIFT + step, 0).to(
        tl.int32
    )  # the slot after the last token
    recent = end if ONE_HISTORY else end - SHIFT - prompt
    limit = tl.minimum(recent, max_ngram)
    stop = tl.where(limit >= min_ngram, end - 1, 0)
    # the blocks below do not wait for these: only what is compared does
    last = _from_end(history, tokens_column, end, 1, limit)
    second = _from_end(history, tokens_column, end, 2, limit)
    third = _from_end(history, tokens_column, end, 3, limit)
    fourth = _from_end(history, tokens_column, end, 4, limit)

    # the rank of one token that matches, in the prompt if that goes first
    ONE_TOKEN: tl.constexpr = 2 if ONE_HISTORY else 3
    lane = tl.arange(0, BLOCK)
    best = tl.full([], 0, tl.int64)
    before = tl.multiple_of(split * BLOCK, BLOCK) + lane
    upcoming = tl.load(history + before.to(tl.int64) * tokens_column, mask=before < stop, other=-1)
    first = split * BLOCK
    while first < stop:
        hit = upcoming == last
        # the next block is on its way while this one is looked at
        following_block = first + splits * BLOCK
        before = tl.multiple_of(following_block, BLOCK) + lane
        source = history + before.to(tl.int64) * tokens_column
        upcoming = tl.load(source, mask=before < stop, other=-1)
        # where no token equals the last one, as in most blocks, that is all
        if (tl.max(hit.to(tl.int32), 0) > 0) & (last >= 0):
            place = first + lane + 1
            asked = place < prompt
            # a match must lie in one haystack: it may not reach back beyond the start of its own
            behind = place if ONE_HISTORY else tl.where(asked, place, place - (prompt + SHIFT))
            hit = hit & (behind >= 1)
            two = _equals(history, tokens_column, place, behind, 2, hit, second)
            if not RIGHTMOST:
                # one token in the prompt was found before: only two or more are better
                hit = tl.where((best >> 32) < ONE_TOKEN, hit, two)
            if tl.max(hit.to(tl.int32), 0) > 0:
                at = history + place.to(tl.int64) * tokens_column
                following = tl.load(at, mask=hit, other=-1)
                # these do not wait for each other, which costs less than to ask who is left
                three = two & _equals(history, tokens_column, place, behind, 3, two, third)
                alive = three & _equals(history, tokens_column, place, behind, 4, two, fourth)
                matched = hit.to(tl.int32) + two.to(tl.int32) + three.to(tl.int32)
                matched += alive.to(tl.int32)
                if limit > 4:
                    back = 5
                    while (back <= limit) & (tl.max(alive.to(tl.int32), 0) > 0):
                        wanted = _from_end(history, tokens_column, end, back, limit)
                        alive = _equals(history, tokens_column, place, behind, back, alive, wanted)
                        matched += alive.to(tl.int32)
                        back += 1
                found = (matched >= min_ngram) & (following >= 0)
                rank = matched * 2 if ONE_HISTORY else matched * 2 + asked.to(tl.int32)
                order = lane if RIGHTMOST else BLOCK - 1 - lane
                top = tl.max(tl.where(found, rank * BLOCK + order, 0), 0)
                winner = top % BLOCK if RIGHTMOST else BLOCK - 1 - top % BLOCK
                winner = (first + winner + 1).to(tl.int64)
                winner = winner if RIGHTMOST else 0xFFFFFFFF - winner
                key = ((top // BLOCK).to(tl.int64) << 32) | winner
                best = tl.maximum(best, tl.where(top > 0, key, 0))
                if not RIGHTMOST:
                    # no place of a later block goes before a whole match, but one of the prompt
                    asked_later = prompt < 0 if ONE_HISTORY else following_block < prompt
                    whole = limit * 2 + asked_later.to(tl.int32)
                    following_block = tl.where(top // BLOCK >= whole, stop, following_block)
        first = following_block
    tl.store(keys + split * rows.to(tl.int64) + row, best)


@triton.jit
def _base_tokens(lens_this_time, lens_encoder, lens_decoder, row, mask, APPEND: tl.constexpr):
    """The tokens of a row before any ngram draft, and whether it is in its decode phase. [rows]"""
    encoder = tl.load(lens_encoder + row, mask=mask, other=0)
    decoding = (encoder <= 0) & (tl.load(lens_decoder + row, mask=mask, other=0) > 0)
    given = tl.maximum(tl.load(lens_this_time + row, mask=mask, other=0), 0).to(tl.int64)
    base = given if APPEND else tl.where(encoder > 0, given, decoding.to(tl.int64))
    return base, encoder, decoding


@triton.jit(
    do_not_specialize=[
        "tokens_stride", "drafts_stride", "rows", "length", "splits", "budget", "width",
    ]
)  # fmt: skip
def _ngram_propose_kernel(
    tokens,  # [B, L]
    tokens_stride,
    tokens_column,
    prompt_lens,  # [B]
    step_idx,  # [B]
    draft_token_num,  # [B]
    max_dec_len,  # [B]
    drafts,  # [B, S], io
    drafts_stride,
    drafts_column,
    lens_this_time,  # [B], io
    lens_encoder,  # [B]
    lens_decoder,  # [B]
    keys,  # [splits, B]
    rows,
    length,
    splits,
    budget,
    width,
    SHIFT: tl.constexpr,
    ONE_HISTORY: tl.constexpr,
    RIGHTMOST: tl.constexpr,
    HAS_BUDGET: tl.constexpr,
    PAD_TO_MAX: tl.constexpr,
    ROWS: tl.constexpr,
    SPLITS: tl.constexpr,
    WIDTH: tl.constexpr,
    CHAINED: tl.constexpr,
):
    # One program for the whole batch: the budget is handed out in row order, and a row's share
    # depends on all before.
    left = budget.to(tl.int64)
    if HAS_BUDGET:
        for first in range(0, rows, ROWS):
            row = first + tl.arange(0, ROWS).to(tl.int64)
            base, encoder, decoding = _base_tokens(
                lens_this_time, lens_encoder, lens_decoder, row, row < rows, SHIFT
            )
            left -= tl.sum(base, 0)

    for first in range(0, rows, ROWS):
        row = first + tl.arange(0, ROWS).to(tl.int64)
        live = row < rows
        base, encoder, decoding = _base_tokens(
            lens_this_time, lens_encoder, lens_decoder, row, live, SHIFT
        )
        prompt = tl.load(prompt_lens + row, mask=live, other=0).to(tl.int64)
        step = tl.load(step_idx + row, mask=live, other=0).to(tl.int64)
        asked_for = tl.load(draft_token_num + row, mask=live, other=0).to(tl.int64)
        most = tl.load(max_dec_len + row, mask=live, other=0).to(tl.int64)
        end = prompt + SHIFT + step

        if CHAINED:
            tl.extra.cuda.gdc_wait()
        split = tl.arange(0, SPLITS)
        tile = keys + split[None, :].to(tl.int64) * rows + row[:, None]  # [ROWS, SPLITS]
        key = tl.max(tl.load(tile, mask=live[:, None] & (split[None, :] < splits), other=0), 1)
        order = key & 0xFFFFFFFF
        place = order if RIGHTMOST else 0xFFFFFFFF - order
        haystack_end = end
        if not ONE_HISTORY:
            haystack_end = tl.where(((key >> 32) & 1) == 1, prompt, end)
        room = tl.minimum(asked_for - (base - 1), width - base)
        room = tl.minimum(room, tl.minimum(most - step - 1, length - end - 1))
        room = tl.minimum(room, haystack_end - place)
        room = tl.where((key > 0) & (base > 0), tl.maximum(room, 0), 0)

        column = tl.arange(0, WIDTH).to(tl.int64)[None, :]  # [1, WIDTH], of draft_tokens
        ahead = column - base[:, None]  # [ROWS, WIDTH], which draft a column would hold
        inside = (ahead >= 0) & (ahead < room[:, None])
        source = row[:, None] * tokens_stride + (place[:, None] + ahead) * tokens_column
        token = tl.load(tokens + source, mask=inside, other=-1).to(drafts.dtype.element_ty)
        # a pad inside the history ends the continuation
        wanted = tl.min(tl.where(inside & (token < 0), ahead, room[:, None]), 1)
        if HAS_BUDGET:
            before = tl.cumsum(wanted, 0) - wanted
            granted = tl.minimum(wanted, tl.maximum(left - before, 0))
            left -= tl.sum(granted, 0)
        else:
            granted = wanted
        finish = base + granted

        filler = tl.full([ROWS], -1, drafts.dtype.element_ty)
        target = drafts + row[:, None] * drafts_stride + column * drafts_column
        if PAD_TO_MAX:
            padded = live & decoding & (base > 0) & (base <= width)
            kept = row * drafts_stride + (base - 1) * drafts_column
            last_kept = tl.load(drafts + kept, mask=padded & (granted == 0), other=-1)
            last_granted = tl.max(tl.where(ahead == granted[:, None] - 1, token, -1), 1)
            # column base-1 is read here and only columns from base on are written below: no order
            # is needed
            filler = tl.where(padded, tl.where(granted > 0, last_granted, last_kept), filler)
        new = tl.where(ahead < granted[:, None], token, filler[:, None])
        mine = live & (encoder <= 0)
        # several warps may hold the same row: all must have read it before one writes it
        tl.debug_barrier()
        writes = mine[:, None] & (column >= 1) & (ahead >= 0) & (column < width)
        tl.store(target, new, mask=writes)
        if PAD_TO_MAX:
            finish = tl.where(padded & (filler != -1), tl.maximum(finish, width), finish)
        tl.store(lens_this_time + row, finish.to(lens_this_time.dtype.element_ty), mask=mine)


def propose_triton(given: NgramTensors, options: NgramOptions) -> None:
    """`propose_reference` in two launches."""
    rows, length = given.token_ids_all.shape
    tile_rows, most_splits = FEW_ROWS if rows <= FEW_ROWS[0] else MANY_ROWS
    splits = max(1, min(most_splits, triton.cdiv(length, BLOCK), PROGRAMS // rows))
    keys = torch.empty((splits, rows), dtype=torch.int64, device=given.token_ids_all.device)
    policy = {
        "SHIFT": int(options.append),
        "ONE_HISTORY": options.one_history,
        "RIGHTMOST": options.rightmost,
        "CHAINED": _can_chain(given.token_ids_all.device),
    }
    _ngram_match_kernel[(rows, splits)](
        given.token_ids_all,
        *given.token_ids_all.stride(),
        given.prompt_lens,
        given.step_idx,
        given.seq_lens_encoder,
        given.seq_lens_decoder,
        keys,
        rows,
        length,
        options.max_ngram,
        options.min_ngram,
        splits,
        BLOCK=BLOCK,
        num_warps=WARPS,
        **policy,
    )
    _ngram_propose_kernel[(1,)](
        given.token_ids_all,
        *given.token_ids_all.stride(),
        given.prompt_lens,
        given.step_idx,
        given.draft_token_num,
        given.max_dec_len,
        given.draft_tokens,
        *given.draft_tokens.stride(),
        given.seq_lens_this_time,
        given.seq_lens_encoder,
        given.seq_lens_decoder,
        keys,
        rows,
        length,
        splits,
        NO_BUDGET if options.budget is None else options.budget,
        given.draft_tokens.shape[1],
        HAS_BUDGET=options.budget is not None,
        PAD_TO_MAX=options.pad_to_max,
        ROWS=tile_rows,
        SPLITS=most_splits,
        WIDTH=triton.next_power_of_2(given.draft_tokens.shape[1]),
        num_warps=8,
        **({"launch_pdl": True} if policy["CHAINED"] else {}),
        **policy,
    )


@cache
def _can_chain(device: torch.device) -> bool:
    """Whether a kernel may start before the one it waits for has ended: from compute capability 9
    on."""
    return device.type == "cuda" and torch.cuda.get_device_capability(device)[0] >= 9
