"""The end of rejection sampling and block verification: one program a request draws the token after
what stands."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .._chunk_stats import load_stats
from .._device import LOG2E, pick, uniforms, wait_for_another
from .._hardware import after_another
from .._launch import Launcher
from .._random import RECOVER as _RECOVER
from .._tile_arithmetic import mass
from .inputs import VerifyInputs
from .judge import drafted_logits, judge, log_mass, standing_blocks
from .request import (
    at_column,
    draft_of,
    draft_row,
    drafts_with_rows,
    emit_of,
    or_given,
    read_drafts,
    read_request,
    request_of,
    rows_for,
    store_step,
    target_of,
    target_row,
    widths_of,
)
from .residual import block_weight, left_weights, read_tile
from .strategy import Strategy

RECOVER = tl.constexpr(_RECOVER)
WARPS = 4


def finish(
    given: VerifyInputs,
    partial: torch.Tensor,
    residual: torch.Tensor | None,
    chunk: int,
    tokens: torch.Tensor,  # out int64 [B, S]
    count: torch.Tensor,  # out int32 [B]
    launch: Launcher,
) -> None:
    """Decides what stands and emits it."""
    slots, chunks = partial.shape[1:3]
    launch(
        _finish_kernel, given.step_input_ids.shape[0],
        (
            request_of(given), target_of(given), draft_of(given), partial, chunks, slots,
            given.seeds.contiguous(), given.step_idx.contiguous(), emit_of(given, tokens, count),
            residual,
        ),
        lambda: {
            **widths_of(given), "BLOCK": given.strategy == Strategy.BLOCK,
            "RESIDUALS": 0 if residual is None else residual.shape[1], "CHUNK": chunk,
            "CHUNKS": triton.next_power_of_2(chunks), "num_warps": WARPS, **after_another(),
        },
    )  # fmt: skip


@triton.jit(do_not_specialize=["chunks", "slots"])
def _finish_kernel(
    request, target, draft, partial_ptr, chunks, slots, seed_ptr, step_idx_ptr, emit,
    residual_ptr,
    REJECT_ALL: tl.constexpr, ACCEPT_ALL: tl.constexpr, WIDTH: tl.constexpr, COLUMNS: tl.constexpr,
    BLOCK: tl.constexpr, RESIDUALS: tl.constexpr, CHUNK: tl.constexpr, CHUNKS: tl.constexpr,
    PDL: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    n, limit, first_row, temperature = read_request(request, b, WIDTH, REJECT_ALL)
    limit = drafts_with_rows(draft, b, tl.where(n > 0, limit, 0))
    drafts = read_drafts(request, b, WIDTH, COLUMNS)
    seed = tl.load(seed_ptr + b)
    step_idx = tl.load(step_idx_ptr + b)
    drafted_x, drafted_y = drafted_logits(
        target, draft, b, limit, first_row, drafts, WIDTH, COLUMNS
    )
    wait_for_another(PDL)
    accepted = limit * 0
    last = tl.full([], -1, tl.int64)
    if n > 0:
        rows = rows_for(request, n)
        (
            limit, accepted, log_weight, log_uniform, origins, totals, draft_origins, draft_totals,
            best,
        ) = judge(
            drafted_x, drafted_y, b, rows, limit, temperature, drafts, seed, step_idx, target[3],
            draft, partial_ptr, chunks, slots, ACCEPT_ALL, WIDTH, COLUMNS, CHUNKS,
        )  # fmt: skip
        if temperature == 0.0:
            last = at_column(best, accepted, COLUMNS).to(tl.int64)
        else:
            part = tl.arange(0, CHUNKS)
            weight = 1.0
            if BLOCK:
                if not ACCEPT_ALL:
                    accepted = _longest_block(
                        b, limit, drafted_x, temperature, log_weight, log_uniform, origins, totals,
                        residual_ptr, chunks, RESIDUALS, COLUMNS, CHUNKS,
                    )  # fmt: skip
                weight = block_weight(log_weight, accepted, COLUMNS)
            column = accepted.to(tl.int64)
            origin = at_column(origins, column, COLUMNS)
            total = at_column(totals, column, COLUMNS)
            scale = LOG2E / temperature
            tops, seconds = load_stats(partial_ptr, b * slots + column, chunks, CHUNKS)
            whole = seconds * tl.exp2((tops - origin) * scale)
            rejected = column < limit
            # No row for a token that is given: nothing is read, and what is drawn is dropped.
            there = column < rows
            row = target_row(target, first_row + column, there)
            chunk_uniform, token_uniform = uniforms(seed, step_idx + column, RECOVER)
            if residual_ptr is not None:
                where = (b * RESIDUALS + (column if BLOCK else column * 0)) * chunks + part
                left = tl.load(
                    residual_ptr + where, mask=part < tl.where(rejected, chunks, 0), other=0.0
                )
                # Nothing left means p == q, where rejection is rounding: the target draws.
                with_draft = tl.sum(left) > 0.0
                chosen = pick(tl.where(with_draft, left, whole), chunk_uniform, CHUNKS)
                end = tl.where(there, chosen + 1, chosen)
                x = read_tile(row, target[4] is not None, chosen, end, CHUNK)
                draft_end = tl.where(with_draft, chosen + 1, chosen)
                q_row = draft_row(draft, b, tl.where(rejected, column, 0), WIDTH)
                y = read_tile(q_row, draft[5] is not None, chosen, draft_end, CHUNK)
                p_share = tl.where(with_draft, weight, 1.0) / tl.maximum(total, 1e-30)
                q_share = 1.0 / tl.maximum(at_column(draft_totals, column, COLUMNS), 1e-30)
                q_share = tl.where(with_draft, q_share, 0.0)
                draft_origin = at_column(draft_origins, column, COLUMNS)
                p = left_weights(x, y, origin, draft_origin, scale, p_share, q_share)
            else:
                refused = tl.where(
                    rejected, at_column(tl.where(drafts >= 0, drafts, 0), column, COLUMNS), -1
                )
                if rejected:
                    # The drafted token's chunk without it, summed anew: subtracting would leave
                    # rounding behind.
                    own = (refused // CHUNK).to(tl.int32)
                    x = read_tile(row, target[4] is not None, own, own + 1, CHUNK)
                    token = own * CHUNK + tl.arange(0, CHUNK)
                    rest = tl.sum(tl.where(token == refused, 0.0, mass(x, origin, scale)))
                    left = tl.where(part == own, rest, whole)
                    # Nothing left means that the target has this token alone: it draws it after
                    # all.
                    refused = tl.where(tl.sum(left) > 0.0, refused, -1)
                    whole = tl.where(tl.sum(left) > 0.0, left, whole)
                chosen = pick(whole, chunk_uniform, CHUNKS)
                end = tl.where(there, chosen + 1, chosen)
                x = read_tile(row, target[4] is not None, chosen, end, CHUNK)
                token = chosen * CHUNK + tl.arange(0, CHUNK)
                p = tl.where(token == refused, 0.0, mass(x, origin, scale))
            last = (chosen * CHUNK + pick(p, token_uniform, CHUNK)).to(tl.int64)
    last = or_given(request, b, n, accepted, last)
    store_step(emit, b, n, step_idx, drafts, accepted, last, WIDTH, COLUMNS)


@triton.jit
def _longest_block(
    b, limit, x, temperature, log_weight, log_uniform, origins, totals, residual_ptr, chunks,
    RESIDUALS: tl.constexpr, COLUMNS: tl.constexpr, CHUNKS: tl.constexpr,
):  # fmt: skip
    """The largest i at which the block of i drafts stands; 0 if none. ``x`` are the target's logits
    of the drafts."""
    column = tl.arange(0, COLUMNS)
    weight = tl.exp(log_weight)
    if residual_ptr is not None:
        part = tl.arange(0, CHUNKS)
        at = (b * RESIDUALS + column[:, None]) * chunks + part[None, :]
        mask = (column < limit)[:, None] & (part < chunks)[None, :]
        left = tl.sum(tl.load(residual_ptr + at, mask=mask, other=0.0), axis=1)
    else:
        # A one-hot draft: what is left of weight * p is all of it but the drafted token.
        p = tl.exp(log_mass(x, origins, totals, temperature))
        # A target row without a finite logit has no mass to leave.
        left = tl.where(totals > 0.0, weight * (1.0 - p), 0.0)
    stop = left / tl.maximum(left + 1.0 - weight, 1e-30)
    shifted = tl.where(column[None, :] == column[:, None] - 1, tl.exp(log_uniform)[None, :], 0.0)
    uniform = tl.sum(shifted, axis=1)
    stands = standing_blocks(limit, log_weight, log_uniform, COLUMNS)
    stands = stands & ((column == limit) | (uniform < stop))
    return tl.max(tl.where(stands, column, 0))
