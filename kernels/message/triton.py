"""Pack a step's message in one launch: a program per slot, each finds its own first row from the
counts before it."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.message.layout import CURRENT, INVALID, PREEMPTED

BLOCK = 128


@triton.jit
def _count_to_send(
    accept_num,
    offsets,
    decoder,
    prompt,
    preempted,
    slot,
    mask,
    capacity,
    HAS_PROMPT: tl.constexpr,
    HAS_PREEMPTED: tl.constexpr,
    INVALID: tl.constexpr,
    PREEMPTED: tl.constexpr,
):
    """Rows of each slot, or the code that stands for them. [slots] int64"""
    count = tl.load(accept_num + slot, mask=mask, other=0).to(tl.int64)
    offset = tl.load(offsets + slot, mask=mask, other=0).to(tl.int64)
    fits = (count >= 0) & (offset >= 0) & (offset + count <= capacity)
    count = tl.where(fits, count, INVALID)
    if HAS_PROMPT:
        read = tl.load(decoder + slot, mask=mask, other=0).to(tl.int64)
        count = tl.where(read < tl.load(prompt + slot, mask=mask, other=0).to(tl.int64), 0, count)
    if HAS_PREEMPTED:
        gone = tl.load(preempted + slot, mask=mask, other=0) != 0
        count = tl.where(gone, PREEMPTED, count)
    return count


@triton.jit
def _fit(value, lowest, INVALID: tl.constexpr):
    """A 64-bit value as a message word, INVALID where it has no place in one."""
    return tl.where((value >= lowest) & (value <= 0x7FFFFFFF), value, INVALID).to(tl.int32)


@triton.jit(
    do_not_specialize=[
        "ids_stride",
        "scores_stride",
        "slots",
        "capacity",
        "columns",
        "meta",
        "message_id",
        "is_running",
        "counts_at",
        "rows_at",
        "row_words",
        "scores_at",
        "rank_at",
    ]
)
def _message_pack_kernel(
    sampled,  # [N]
    sampled_stride,
    ids,  # [N, C]
    ids_stride,
    ids_column,
    scores,  # [N, C] float32
    scores_stride,
    scores_column,
    ranks,  # [N]
    ranks_stride,
    accept_num,  # [B]
    offsets,  # [B + 1]
    running,  # [1] or unused
    decoder,  # [B] or unused
    prompt,  # [B] or unused
    preempted,  # [B] or unused
    message,  # int32, out
    slots,
    capacity,
    columns,
    meta,
    message_id,
    is_running,
    counts_at,
    rows_at,
    row_words,
    scores_at,
    rank_at,
    STOP_AT: tl.constexpr,
    META_AT: tl.constexpr,
    BSZ_AT: tl.constexpr,
    TOKENS_AT: tl.constexpr,
    RUNNING_ON_DEVICE: tl.constexpr,
    HAS_PROMPT: tl.constexpr,
    HAS_PREEMPTED: tl.constexpr,
    INVALID: tl.constexpr,
    PREEMPTED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    slot = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    # The rows before this slot's. Every program adds them up itself: a scan over the grid would be
    # a second launch.
    before = tl.zeros([BLOCK], tl.int64)
    for first in range(0, slot, BLOCK):
        earlier = first + lane
        count = _count_to_send(
            accept_num, offsets, decoder, prompt, preempted, earlier, earlier < slot, capacity,
            HAS_PROMPT, HAS_PREEMPTED, INVALID, PREEMPTED,
        )  # fmt: skip
        before += tl.where(earlier < slot, tl.maximum(count, 0), 0)
    out_row = tl.sum(before, 0)
    count = tl.max(
        _count_to_send(
            accept_num, offsets, decoder, prompt, preempted, slot + tl.zeros([1], tl.int32), True,
            capacity,
            HAS_PROMPT, HAS_PREEMPTED, INVALID, PREEMPTED,
        ),
        0,
    )  # fmt: skip
    overlaps = (count > 0) & (out_row + count > capacity)
    tl.store(message + counts_at + slot, tl.where(overlaps, INVALID, count).to(tl.int32))
    if slot == 0:
        if RUNNING_ON_DEVICE:
            is_running = tl.load(running).to(tl.int32)
        tl.store(message + STOP_AT, tl.where(is_running != 0, message_id, -message_id))
        tl.store(message + META_AT, meta)
        tl.store(message + BSZ_AT, slots)

    source = tl.load(offsets + slot).to(tl.int64)
    for first in range(0, tl.maximum(count, 0) * columns, BLOCK):
        element = first + lane.to(tl.int64)
        row = element // columns
        column = element % columns
        mask = (row < count) & (out_row + row < capacity)
        head = mask & (column == 0)
        from_row = source + row
        token = tl.load(
            ids + from_row * ids_stride + column * ids_column, mask=mask & (column > 0), other=-1
        )
        first_token = tl.load(sampled + from_row * sampled_stride, mask=head, other=0)
        token = tl.where(column == 0, first_token.to(tl.int64), token.to(tl.int64))
        score = tl.load(
            scores + from_row * scores_stride + column * scores_column, mask=mask, other=0.0
        )
        rank = tl.load(ranks + from_row * ranks_stride, mask=head, other=0).to(tl.int64)
        target = message + rows_at + (out_row + row) * row_words
        tl.store(
            target + TOKENS_AT + column,
            _fit(token, tl.where(column == 0, 0, -1), INVALID),
            mask=mask,
        )
        tl.store(target + scores_at + column, score.to(tl.int32, bitcast=True), mask=mask)
        tl.store(target + rank_at, _fit(rank, 0, INVALID), mask=head)


def pack_triton(
    sampled_token_ids: torch.Tensor,
    logprob_token_ids: torch.Tensor,
    logprob_scores: torch.Tensor,
    logprob_ranks: torch.Tensor,
    accept_num: torch.Tensor,
    cu_batch_token_offset: torch.Tensor,
    *,
    meta: int,
    message_id: int,
    running: torch.Tensor | bool,
    columns: int,
    seq_lens_decoder: torch.Tensor | None,
    prompt_lens: torch.Tensor | None,
    preempted: torch.Tensor | None,
    out: torch.Tensor,
) -> None:
    """One launch; see `pack_reference` for the meaning of every argument."""
    slots = accept_num.shape[0]
    sizes = {"bsz": slots, "num_logprobs": columns}
    head = CURRENT.offsets(CURRENT.header, sizes)
    row = CURRENT.offsets(CURRENT.group, sizes)
    on_device = isinstance(running, torch.Tensor)
    has_prompt = seq_lens_decoder is not None and prompt_lens is not None
    _message_pack_kernel[(slots,)](
        sampled_token_ids,
        sampled_token_ids.stride(0),
        logprob_token_ids,
        *logprob_token_ids.stride(),
        logprob_scores,
        *logprob_scores.stride(),
        logprob_ranks,
        logprob_ranks.stride(0),
        accept_num,
        cu_batch_token_offset,
        running if on_device else accept_num,
        seq_lens_decoder if has_prompt else accept_num,
        prompt_lens if has_prompt else accept_num,
        accept_num if preempted is None else preempted,
        out,
        slots,
        logprob_token_ids.shape[0],
        columns,
        meta,
        message_id,
        1 if on_device else int(running),
        head["token_counts"],
        head["end"],
        row["end"],
        row["scores"],
        row["ranks"],
        STOP_AT=head["stop_word"],
        META_AT=head["meta"],
        BSZ_AT=head["bsz"],
        TOKENS_AT=row["tokens"],
        RUNNING_ON_DEVICE=on_device,
        HAS_PROMPT=has_prompt,
        HAS_PREEMPTED=preempted is not None,
        INVALID=INVALID,
        PREEMPTED=PREEMPTED,
        BLOCK=BLOCK,
    )
