"""A step's bookkeeping, one launch for each job."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

SCAN_BLOCK = 256
GATHER_BLOCK = 1024
UPDATE_ROWS = 256


@triton.jit
def _lengths(lens_this_time, lens_encoder, slot, mask):
    """Input and output rows of each slot. [slots] int64"""
    length = tl.maximum(tl.load(lens_this_time + slot, mask=mask, other=0), 0).to(tl.int64)
    prefill = tl.load(lens_encoder + slot, mask=mask, other=0) > 0
    return length, tl.where(prefill, tl.minimum(length, 1), length)


@triton.jit(do_not_specialize=["slots", "capacity"])
def _output_schedule_kernel(
    lens_this_time,  # [B]
    lens_encoder,  # [B]
    lens_output,  # [B], out
    cu_input,  # [B + 1], out
    cu_output,  # [B + 1], out
    batch_ids,  # [capacity], out
    output_rows,  # [capacity], out
    slots,
    capacity,
    BLOCK: tl.constexpr,
):
    # A program per slot. Each adds up all slots itself, so that no program waits for another and
    # one launch is enough.
    slot = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    before_in = tl.zeros([BLOCK], tl.int64)
    before_out = tl.zeros([BLOCK], tl.int64)
    all_out = tl.zeros([BLOCK], tl.int64)
    for first in range(0, slots, BLOCK):
        other = first + lane
        length, out = _lengths(lens_this_time, lens_encoder, other, other < slots)
        before_in += tl.where(other < slot, length, 0)
        before_out += tl.where(other < slot, out, 0)
        all_out += out
    start_in = tl.sum(before_in, 0)
    start_out = tl.sum(before_out, 0)
    total = tl.minimum(tl.sum(all_out, 0), capacity)
    length, out = _lengths(lens_this_time, lens_encoder, slot, True)
    end_in = start_in + length
    end_out = start_out + out
    tl.store(lens_output + slot, out.to(tl.int32))
    tl.store(cu_input + slot + 1, end_in.to(tl.int32))
    tl.store(cu_output + slot + 1, end_out.to(tl.int32))
    if slot == 0:
        tl.store(cu_input, 0)
        tl.store(cu_output, 0)

    for first in range(0, out, BLOCK):
        place = start_out + first + lane
        mask = (first + lane < out) & (place < capacity)
        tl.store(batch_ids + place, slot, mask=mask)
        # the last `out` of the slot's input rows: of a prefill only the last one predicts a new
        # token
        tl.store(output_rows + place, (end_in - out + first + lane).to(tl.int32), mask=mask)
    # every program pads its share of what lies behind the last token
    share = (capacity - total + slots - 1) // slots
    pad_end = tl.minimum(total + (slot + 1) * share, capacity)
    for first in range(total + slot * share, pad_end, BLOCK):
        place = first + lane
        tl.store(batch_ids + place, -1, mask=place < pad_end)
        tl.store(output_rows + place, -1, mask=place < pad_end)


@triton.jit(do_not_specialize=["hidden_stride", "out_stride", "tokens", "width"])
def _gather_next_token_kernel(
    hidden,  # [T, H]
    hidden_stride,
    hidden_column,
    output_rows,  # [N]
    out,  # [N, H], out
    out_stride,
    out_column,
    tokens,
    width,
    BLOCK: tl.constexpr,
):
    to_row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    from_row = tl.load(output_rows + to_row).to(tl.int64)
    readable = tl.where((from_row >= 0) & (from_row < tokens), width, 0)
    source = hidden + from_row * hidden_stride + column * hidden_column
    value = tl.load(source, mask=column < readable, other=0)
    tl.store(out + to_row * out_stride + column * out_column, value, mask=column < width)


@triton.jit(
    do_not_specialize=[
        "tokens_stride", "history_stride", "input_stride", "slots", "width", "length"
    ]
)  # fmt: skip
def _update_status_kernel(
    tokens,  # [B, S], io
    tokens_stride,
    tokens_column,
    accept_num,  # [B], io
    step_idx,  # [B], io
    stop_flags,  # [B], io
    lens_this_time,  # [B], io
    lens_encoder,  # [B], io
    lens_decoder,  # [B], io
    history,  # [B, L], io
    history_stride,
    history_column,
    prompt_lens,  # [B]
    max_dec_len,  # [B]
    end_tokens,  # [E]
    inputs,  # [B, W], io
    input_stride,
    mask_rollback,  # [B], out
    has_running,  # [1], out
    is_block_step,  # [B] or unused
    slots,
    width,
    length,
    ENDS: tl.constexpr,
    HAS_BLOCKED: tl.constexpr,
    PREFILL_STOP: tl.constexpr,
    END_WHEN_FULL: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    # One program: whether anything still runs is a fact about all slots, and a second launch would
    # cost more than this.
    running = tl.zeros([ROWS], tl.int32)
    for first in range(0, slots, ROWS):
        row = first + tl.arange(0, ROWS).to(tl.int64)
        live = row < slots
        was_stopped = tl.load(stop_flags + row, mask=live, other=1) != 0
        this_time = tl.load(lens_this_time + row, mask=live, other=0)
        encoder = tl.load(lens_encoder + row, mask=live, other=0)
        decoder = tl.load(lens_decoder + row, mask=live, other=0)
        prompt = tl.load(prompt_lens + row, mask=live, other=0).to(tl.int64)
        step = tl.load(step_idx + row, mask=live, other=0).to(tl.int64)
        most = tl.load(max_dec_len + row, mask=live, other=0).to(tl.int64)
        given = tl.load(accept_num + row, mask=live, other=0)
        count = tl.where(was_stopped, 0, tl.minimum(tl.maximum(given, 0), width))
        mine = live
        if HAS_BLOCKED:
            mine = live & (tl.load(is_block_step + row, mask=live, other=0) == 0)

        column = tl.arange(0, WIDTH)[None, :]  # [1, WIDTH]
        place = tokens + row[:, None] * tokens_stride + column.to(tl.int64) * tokens_column
        valid = column < count[:, None]  # [ROWS, WIDTH]
        # all of the row, not only what is valid: that would wait for the counts
        token = tl.load(place, mask=live[:, None] & (column < width), other=0)
        is_end = tl.zeros([ROWS, WIDTH], tl.int32)
        for e in tl.static_range(ENDS):
            is_end |= (token == tl.load(end_tokens + e)).to(tl.int32)
        full = step[:, None] + column + 1 >= tl.minimum(most, length - prompt)[:, None]
        last = tl.min(tl.where(valid & ((is_end != 0) | full), column, WIDTH), 1)
        stops = last < WIDTH
        count = tl.where(stops, last + 1, count)
        if END_WHEN_FULL and ENDS > 0:
            # a request cut short still ends with an end token
            cut = stops[:, None] & (column == last[:, None]) & (is_end == 0)
            token = tl.where(cut, tl.load(end_tokens).to(token.dtype), token)

        valid = column < count[:, None]
        # several warps may hold the same row: all must have read it before one writes it
        tl.debug_barrier()
        stopped = was_stopped | stops
        if PREFILL_STOP:
            stopped = stopped | ((encoder > 0) & (count > 0))
        tl.store(place, tl.where(valid, token, -1), mask=mine[:, None] & (column < width))
        # the k-th generated token (from 1) stands at k-1: step_idx counts tokens, it does not point
        # at the last
        slot = (prompt + step)[:, None] + column
        written = mine[:, None] & valid & (slot >= 0) & (slot < length)
        target = history + row[:, None] * history_stride + slot * history_column
        tl.store(target, token.to(history.dtype.element_ty), mask=written)
        final = tl.sum(tl.where(column == count[:, None] - 1, token, 0), 1)
        tl.store(
            inputs + row * input_stride, final.to(inputs.dtype.element_ty), mask=mine & (count > 0)
        )

        grown = decoder + tl.where(encoder > 0, encoder, count)
        goes_on = (stopped == 0) & ((count > 0) | ((encoder <= 0) & (this_time > 0)))
        rollback = tl.where(stopped | (encoder > 0) | (mine == 0), 0, this_time - count)
        tl.store(mask_rollback + row, rollback, mask=live)
        tl.store(accept_num + row, count, mask=mine)
        tl.store(step_idx + row, (step + count).to(step_idx.dtype.element_ty), mask=mine)
        tl.store(lens_decoder + row, tl.where(was_stopped, 0, grown), mask=mine)
        tl.store(lens_encoder + row, tl.zeros([ROWS], tl.int32), mask=mine)
        tl.store(lens_this_time + row, goes_on.to(tl.int32), mask=mine)
        tl.store(stop_flags + row, stopped, mask=mine)
        running |= (live & (tl.where(mine, stopped, was_stopped) == 0)).to(tl.int32)
    tl.store(has_running, tl.max(running, 0) != 0)


def output_schedule_triton(
    seq_lens_this_time: torch.Tensor,
    seq_lens_encoder: torch.Tensor,
    seq_lens_output: torch.Tensor,
    cu_seqlens_q: torch.Tensor,
    cu_seqlens_q_output: torch.Tensor,
    batch_id_per_token_output: torch.Tensor,
    output_rows: torch.Tensor,
) -> None:
    """One launch; see `output_schedule_reference`."""
    slots = seq_lens_this_time.shape[0]
    _output_schedule_kernel[(slots,)](
        seq_lens_this_time,
        seq_lens_encoder,
        seq_lens_output,
        cu_seqlens_q,
        cu_seqlens_q_output,
        batch_id_per_token_output,
        output_rows,
        slots,
        output_rows.shape[0],
        BLOCK=SCAN_BLOCK,
        num_warps=1,
    )


def gather_next_token_triton(
    hidden: torch.Tensor, output_rows: torch.Tensor, out: torch.Tensor
) -> None:
    """One launch; see `gather_next_token_reference`."""
    rows, width = out.shape
    _gather_next_token_kernel[(rows, triton.cdiv(width, GATHER_BLOCK))](
        hidden,
        *hidden.stride(),
        output_rows,
        out,
        *out.stride(),
        hidden.shape[0],
        width,
        BLOCK=GATHER_BLOCK,
    )


def update_status_triton(
    accept_tokens: torch.Tensor,
    accept_num: torch.Tensor,
    step_idx: torch.Tensor,
    stop_flags: torch.Tensor,
    seq_lens_this_time: torch.Tensor,
    seq_lens_encoder: torch.Tensor,
    seq_lens_decoder: torch.Tensor,
    token_ids_all: torch.Tensor,
    prompt_lens: torch.Tensor,
    max_dec_len: torch.Tensor,
    end_tokens: torch.Tensor,
    step_input_ids: torch.Tensor,
    mask_rollback: torch.Tensor,
    has_running: torch.Tensor,
    *,
    is_block_step: torch.Tensor | None,
    prefill_one_step_stop: bool,
    end_when_full: bool,
) -> None:
    """One launch; see `update_status_reference`."""
    slots, width = accept_tokens.shape
    _update_status_kernel[(1,)](
        accept_tokens,
        *accept_tokens.stride(),
        accept_num,
        step_idx,
        stop_flags,
        seq_lens_this_time,
        seq_lens_encoder,
        seq_lens_decoder,
        token_ids_all,
        *token_ids_all.stride(),
        prompt_lens,
        max_dec_len,
        end_tokens,
        step_input_ids,
        step_input_ids.stride(0),
        mask_rollback,
        has_running,
        stop_flags if is_block_step is None else is_block_step,
        slots,
        width,
        token_ids_all.shape[1],
        ENDS=end_tokens.shape[0],
        HAS_BLOCKED=is_block_step is not None,
        PREFILL_STOP=prefill_one_step_stop,
        END_WHEN_FULL=end_when_full,
        ROWS=UPDATE_ROWS,
        WIDTH=triton.next_power_of_2(width),
        num_warps=16,
    )
