"""The law of a step's bookkeeping: which rows a step puts out, and what a request's state becomes
after it."""

from __future__ import annotations

import torch

PADDING = -1


def output_length(this_time: int, encoder: int) -> int:
    """Output rows of one request: none when idle, one for a prefill or a plain step, else one for
    each input token."""
    if this_time <= 0:
        return 0
    return 1 if encoder > 0 else this_time


def output_schedule_reference(
    seq_lens_this_time: torch.Tensor,  # [B]
    seq_lens_encoder: torch.Tensor,  # [B]
    seq_lens_output: torch.Tensor,  # [B], out
    cu_seqlens_q: torch.Tensor,  # [B + 1], out
    cu_seqlens_q_output: torch.Tensor,  # [B + 1], out
    batch_id_per_token_output: torch.Tensor,  # [capacity], out
    output_rows: torch.Tensor,  # [capacity], out
) -> None:
    """Fill the five outputs; see `kernels.schedule.output_schedule`."""
    capacity = output_rows.shape[0]
    cu_seqlens_q[0] = cu_seqlens_q_output[0] = 0
    batch_id_per_token_output.fill_(PADDING)
    output_rows.fill_(PADDING)
    for b in range(seq_lens_this_time.shape[0]):
        length = max(int(seq_lens_this_time[b]), 0)
        out = output_length(length, int(seq_lens_encoder[b]))
        first = int(cu_seqlens_q_output[b])
        seq_lens_output[b] = out
        cu_seqlens_q[b + 1] = cu_seqlens_q[b] + length
        cu_seqlens_q_output[b + 1] = first + out
        for j in range(out):
            if first + j < capacity:
                batch_id_per_token_output[first + j] = b
                # the last `out` of the request's input rows: of a prefill only the last one
                # predicts a new token
                output_rows[first + j] = int(cu_seqlens_q[b + 1]) - out + j


def gather_next_token_reference(
    hidden: torch.Tensor,  # [T, H]
    output_rows: torch.Tensor,  # [N]
    out: torch.Tensor,  # [N, H], out
) -> None:
    """`out[i] = hidden[output_rows[i]]`, zeros where the row is padding or outside `hidden`."""
    out.zero_()
    for i, row in enumerate(output_rows.tolist()):
        if 0 <= row < hidden.shape[0]:
            out[i] = hidden[row]


def update_status_reference(
    accept_tokens: torch.Tensor,  # [B, S], io
    accept_num: torch.Tensor,  # [B], io
    step_idx: torch.Tensor,  # [B], io
    stop_flags: torch.Tensor,  # [B] bool, io
    seq_lens_this_time: torch.Tensor,  # [B], io
    seq_lens_encoder: torch.Tensor,  # [B], io
    seq_lens_decoder: torch.Tensor,  # [B], io
    token_ids_all: torch.Tensor,  # [B, L], io
    prompt_lens: torch.Tensor,  # [B]
    max_dec_len: torch.Tensor,  # [B]
    end_tokens: torch.Tensor,  # [E]
    step_input_ids: torch.Tensor,  # [B, W], io, column 0 only
    mask_rollback: torch.Tensor,  # [B], out
    has_running: torch.Tensor,  # [1] bool, out
    *,
    is_block_step: torch.Tensor | None,  # [B] bool
    prefill_one_step_stop: bool,
    end_when_full: bool,
) -> None:
    """Move every request past this step, in place; see `kernels.schedule.update_status`."""
    ends = end_tokens.tolist()
    width, length = accept_tokens.shape[1], token_ids_all.shape[1]
    running = False
    for b in range(accept_tokens.shape[0]):
        if is_block_step is not None and bool(is_block_step[b]):
            mask_rollback[b] = 0
            running = running or not bool(stop_flags[b])
            continue
        encoder, prompt, step = int(seq_lens_encoder[b]), int(prompt_lens[b]), int(step_idx[b])
        stopped = was_stopped = bool(stop_flags[b])
        count = 0 if was_stopped else min(max(int(accept_num[b]), 0), width)
        for i in range(count):
            token = int(accept_tokens[b, i])
            full = step + i + 1 >= min(int(max_dec_len[b]), length - prompt)
            if token in ends or full:
                if end_when_full and ends and token not in ends:
                    accept_tokens[b, i] = ends[
                        0
                    ]  # a request cut short still ends with an end token
                count, stopped = i + 1, True
                break
        if prefill_one_step_stop and encoder > 0 and count > 0:
            stopped = True
        for i in range(count):
            # the k-th generated token (from 1) stands at k-1: step_idx counts tokens, it does not
            # point at the last
            slot = prompt + step + i
            if 0 <= slot < length:
                token_ids_all[b, slot] = accept_tokens[b, i]
        accept_tokens[b, count:] = PADDING
        step_idx[b] = step + count
        accept_num[b] = count
        if was_stopped:
            seq_lens_decoder[b] = 0
        else:
            seq_lens_decoder[b] += encoder if encoder > 0 else count
        this_time = int(seq_lens_this_time[b])
        mask_rollback[b] = 0 if stopped or encoder > 0 else this_time - count
        # a chunk of a prompt puts out nothing and waits for its next chunk, it does not start to
        # decode
        goes_on = not stopped and (count > 0 or (encoder <= 0 and this_time > 0))
        seq_lens_encoder[b] = 0
        seq_lens_this_time[b] = int(goes_on)
        stop_flags[b] = stopped
        if count > 0:
            step_input_ids[b, 0] = accept_tokens[b, count - 1]
        running = running or not stopped
    has_running[0] = running
