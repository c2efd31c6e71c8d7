"""What the kernels of ``verify`` are given, and what every one of them does with a request.

A request, the target's rows and the draft's rows travel as tuples: ``request``, ``target`` and
``draft`` below. An absent tensor is None in them, which Triton compiles away.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .._device import read_cut, read_temperature
from .inputs import VerifyInputs
from .strategy import Strategy


def request_of(given: VerifyInputs) -> tuple[object, ...]:
    """(ids [B, S] and its strides, lens, cu, encoder, stopped, blocked, reasoning, temperature,
    bonus)."""
    greedy = given.strategy == Strategy.GREEDY
    return (
        given.step_input_ids, *given.step_input_ids.stride(),
        given.seq_lens_this_time.contiguous(), given.cu_seqlens_q_output.contiguous(),
        contiguous(given.seq_lens_encoder), contiguous(given.stop_flags),
        contiguous(given.is_block_step),
        contiguous(given.reasoning_status), None if greedy else contiguous(given.temperature),
        contiguous(given.bonus_token_ids),
    )  # fmt: skip


def target_of(given: VerifyInputs) -> tuple[object, ...]:
    """(logits [T, V] and its strides, V, cut_logit [T], cut_id [T])."""
    logits = given.target_logits
    return (
        logits, *logits.stride(), logits.shape[1],
        contiguous(given.target_cut_logit), contiguous(given.target_cut_id),
    )  # fmt: skip


def draft_of(given: VerifyInputs) -> tuple[object, ...]:
    """(logits [N, S-1, W] and its strides, W, cut_logit [B, S-1], cut_id [B, S-1], slots [B], N);
    no logits for one-hot drafts."""
    logits, slots = given.draft_logits, given.draft_slots
    if logits is None:
        return None, 0, 0, 0, 0, None, None, None, 0
    # A number of its own for each batch would have each compiled anew.
    held = 0 if slots is None else logits.shape[0]
    return (
        logits, *logits.stride(), logits.shape[2],
        contiguous(given.draft_cut_logit), contiguous(given.draft_cut_id),
        contiguous(slots), held,
    )  # fmt: skip


def emit_of(given: VerifyInputs, tokens: torch.Tensor, count: torch.Tensor) -> tuple[object, ...]:
    """(max_dec_len, end tokens, how many, out tokens int64 [B, S], out count int32 [B])."""
    return (
        given.max_dec_len.contiguous(),
        given.end_tokens.contiguous(),
        given.end_tokens.shape[0],
        tokens,
        count,
    )


def rows_of(given: VerifyInputs) -> tuple[torch.Tensor | None, ...]:
    """What is read alike, because a residual takes both: the target's rows and the draft's."""
    return given.target_logits, given.draft_logits


def has_cut(given: VerifyInputs) -> bool:
    """Whether one of them is cut."""
    return given.target_cut_logit is not None or given.draft_cut_logit is not None


def widths_of(given: VerifyInputs) -> dict[str, object]:
    """Compile-time sizes and switches of kernels that judge drafts."""
    width = given.step_input_ids.shape[1]
    return {
        "REJECT_ALL": given.reject_all,
        "ACCEPT_ALL": given.accept_all,
        "WIDTH": width,
        "COLUMNS": triton.next_power_of_2(width),
    }


def contiguous(tensor: torch.Tensor | None) -> torch.Tensor | None:
    """``tensor.contiguous()``, and None for None."""
    return None if tensor is None else tensor.contiguous()


@triton.jit
def read_request(request, b, WIDTH: tl.constexpr, REJECT_ALL: tl.constexpr):
    """(tokens of this step, drafts that may be looked at, first target row, temperature) of request
    ``b``."""
    (
        _ids,
        _stride_b,
        _stride_s,
        lens_ptr,
        cu_ptr,
        encoder_ptr,
        stop_ptr,
        block_ptr,
        reasoning_ptr,
        warm_ptr,
        bonus_ptr,
    ) = request
    n = tl.minimum(tl.maximum(tl.load(lens_ptr + b), 0), WIDTH)
    if stop_ptr is not None:
        n = tl.where(tl.load(stop_ptr + b) != 0, 0, n)
    if block_ptr is not None:
        n = tl.where(tl.load(block_ptr + b) != 0, 0, n)
    first_row = tl.load(cu_ptr + b).to(tl.int64)
    # No more than the rows that are its own.
    owned = tl.load(cu_ptr + b + 1).to(tl.int64) - first_row
    if bonus_ptr is not None:
        owned += 1
    n = tl.minimum(n, tl.maximum(owned, 0)).to(tl.int32)
    limit = tl.maximum(n - 1, 0)
    if REJECT_ALL:
        limit = limit * 0
    if encoder_ptr is not None:
        limit = tl.where(tl.load(encoder_ptr + b) > 0, 0, limit)
    if reasoning_ptr is not None:
        limit = tl.where(tl.load(reasoning_ptr + b) == 1, 0, limit)
    temperature = 0.0
    if warm_ptr is not None:
        temperature = read_temperature(tl.load(warm_ptr + b))
    return n, limit, first_row, temperature


@triton.jit
def rows_for(request, n):
    """Rows of the target that ``n`` tokens of a step have: a token that is given has none."""
    if request[10] is not None:
        n = n - 1
    return n


@triton.jit
def or_given(request, b, n, accepted, last):
    """``last``; where all drafts stand and the token after them is given, that one."""
    if request[10] is not None:
        last = tl.where(accepted == n - 1, tl.load(request[10] + b), last)
    return last


@triton.jit
def read_drafts(request, b, WIDTH: tl.constexpr, COLUMNS: tl.constexpr):
    """int64 [COLUMNS]: the draft judged at each position, -1 past the last one."""
    column = tl.arange(0, COLUMNS)
    at = request[0] + b * request[1] + (column + 1) * request[2]
    return tl.load(at, mask=column + 1 < WIDTH, other=-1)


@triton.jit
def target_row(target, row, there=True):
    """(pointer, stride, V, cut_logit, cut_id) of a row of the target; its cut is read if it is
    ``there``."""
    cut_logit, cut_id = read_cut(target[4], target[5], row, there)
    return target[0] + row * target[1], target[2], target[3], cut_logit, cut_id


@triton.jit
def draft_row(draft, b, column, WIDTH: tl.constexpr):
    """(pointer, stride, W, cut_logit, cut_id) of the row that the draft at ``column`` was drawn
    from."""
    cut_logit, cut_id = read_cut(draft[5], draft[6], b * (WIDTH - 1) + column, True)
    at = draft[0] + draft_slot(draft, b) * draft[1] + column * draft[2]
    return at, draft[3], draft[4], cut_logit, cut_id


@triton.jit
def draft_slot(draft, b):
    """Where the rows of request ``b`` are among the draft model's."""
    slot = b
    if draft[7] is not None:
        slot = tl.load(draft[7] + b).to(tl.int64)
    return slot


@triton.jit
def drafts_with_rows(draft, b, limit):
    """``limit``, or 0 where the request's slot is beyond those there are."""
    if draft[7] is not None:
        slot = draft_slot(draft, b)
        limit = tl.where((slot >= 0) & (slot < draft[8]), limit, 0)
    return limit


@triton.jit
def leading(good, limit, COLUMNS: tl.constexpr):
    """How many of the first ``limit`` columns hold before the first that does not."""
    column = tl.arange(0, COLUMNS)
    return tl.min(tl.where(good & (column < limit), COLUMNS, column))


@triton.jit
def at_column(values, column, COLUMNS: tl.constexpr):
    """values[column] for a scalar column."""
    return tl.sum(tl.where(tl.arange(0, COLUMNS) == column, values, 0))


@triton.jit
def store_step(
    emit, b, n, step_idx, draft, accepted, last, WIDTH: tl.constexpr, COLUMNS: tl.constexpr
):
    """Stores ``accepted`` drafts and ``last``, cut after the first end token and at
    ``max_dec_len``, and returns how many tokens that are."""
    max_dec_ptr, end_ptr, ends, tokens_ptr, count_ptr = emit
    column = tl.arange(0, COLUMNS)
    token = tl.where(column == accepted, last, draft)
    stops = column < 0
    for e in range(ends):
        stops = stops | (token == tl.load(end_ptr + e))
    until_end = tl.min(tl.where(stops & (column <= accepted), column + 1, COLUMNS))
    count = tl.minimum(accepted + 1, until_end).to(tl.int64)
    room = tl.maximum(tl.load(max_dec_ptr + b) - step_idx, 0)
    count = tl.where(n > 0, tl.minimum(count, room), 0)
    token = tl.where(column < count, token, -1)
    tl.store(tokens_ptr + b * WIDTH + column, token, mask=column < WIDTH)
    tl.store(count_ptr + b, count.to(tl.int32))
    return count
