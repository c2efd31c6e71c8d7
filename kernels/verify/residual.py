"""What is left of the target's distribution where a draft is refused: its mass in each chunk, its
weights in one."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .._device import LOG2E, wait_for_another
from .._hardware import after_another
from .._launch import Launcher, cdiv
from .._tile_arithmetic import cut_tile, mass, without_nan
from .._tile_loads import (
    REGISTERS_ANYWHERE,
    arrived_tile,
    chunks_per_program,
    load_ahead,
    load_tile,
    packing,
    unpack,
)
from .inputs import VerifyInputs
from .judge import block_needs, drafted_logits, judge
from .request import (
    at_column,
    draft_of,
    draft_row,
    drafts_with_rows,
    has_cut,
    read_drafts,
    read_request,
    request_of,
    rows_for,
    rows_of,
    target_of,
    target_row,
    widths_of,
)
from .strategy import Strategy

TOGETHER = 2  # chunks that a program loads at a time
WARPS = 4
REGISTERS = 96  # a few more, and one program fewer fits a multiprocessor
PROGRAMS = (
    512  # a row of each request; each judges its request anew before it loads anything, so not many
)


def residual_mass(
    given: VerifyInputs, partial: torch.Tensor, chunk: int, launch: Launcher
) -> torch.Tensor | None:
    """float32 [B, rows, chunks]: the mass of ``left_weights`` in each chunk, of the first refused
    draft's row, or for BLOCK of every draft's row. None for one-hot drafts, whose mass takes no
    pass.
    """
    batch, width = given.step_input_ids.shape
    if given.draft_logits is None or width == 1:
        return None
    block = given.strategy == Strategy.BLOCK
    slots, chunks = partial.shape[1:3]
    rows = width - 1 if block else 1
    residual = launch.empty(batch, rows, chunks, dtype=torch.float32, device=partial.device)
    tiles = cdiv(chunks, TOGETHER)
    per_program = chunks_per_program(batch * rows, tiles, tiles, rows * PROGRAMS)
    read = packing(*rows_of(given), cut=has_cut(given))
    registers = REGISTERS_ANYWHERE if read["ANYWHERE"] else REGISTERS
    launch(
        _residual_kernel, batch * rows * cdiv(tiles, per_program),
        (
            request_of(given), target_of(given), draft_of(given), partial, chunks, tiles,
            per_program, slots, given.seeds.contiguous(), given.step_idx.contiguous(), residual,
        ),
        lambda: {
            **widths_of(given), "BLOCK": block, "RESIDUALS": rows, "CHUNK": chunk,
            "CHUNKS": triton.next_power_of_2(chunks), "TOGETHER": TOGETHER, **read,
            "num_warps": WARPS, "maxnreg": registers, **after_another(),
        },
    )  # fmt: skip
    return residual


@triton.jit
def block_weight(log_weight, column, COLUMNS: tl.constexpr):
    """The block's weight before the draft at ``column``."""
    return tl.exp(at_column(tl.where(log_weight > -88.0, log_weight, -88.0), column, COLUMNS))


@triton.jit
def left_weights(x, y, origin, draft_origin, scale, p_share, q_share):
    """max(weight * p - q, 0) of logits without NaN: the shares are weight and 1, over the row's
    total. Used for the mass and for the draw, so both see the same numbers.
    """
    p = mass(x, origin, scale)
    q = mass(y, draft_origin, scale)
    return tl.maximum(tl.fma(p, p_share, -(q * q_share)), 0.0)


@triton.jit
def load_row_ahead(
    row, chunk, end, CHUNK: tl.constexpr, PACKED: tl.constexpr, ANYWHERE: tl.constexpr
):
    """``load_ahead`` of a ``target_row`` or ``draft_row``."""
    return load_ahead(row[0], row[1], chunk, end, row[2], CHUNK, PACKED, ANYWHERE, False)


@triton.jit
def arrived_row(
    ahead, row, chunk, end, CHUNK: tl.constexpr, PACKED: tl.constexpr, ANYWHERE: tl.constexpr
):
    """``arrived_tile`` of such a row."""
    return arrived_tile(ahead, row[0], row[1], chunk, end, row[2], CHUNK, PACKED, ANYWHERE, False)


@triton.jit
def clean_tile(tile, row, chunk, HAS_CUT: tl.constexpr, CHUNK: tl.constexpr, PACKED: tl.constexpr):
    """A loaded tile with -inf for NaN and for what is cut."""
    if HAS_CUT:
        tile = cut_tile(tile, chunk, row[3], row[4], CHUNK)
    else:
        tile = without_nan(tile, PACKED)
    return tile


@triton.jit
def read_tile(row, HAS_CUT: tl.constexpr, chunk, end, CHUNK: tl.constexpr):
    """The logits of one chunk, for a draw."""
    tile = load_tile(row[0], row[1], chunk, end, row[2], CHUNK, None, False, False)
    return clean_tile(tile, row, chunk, HAS_CUT, CHUNK, None)


@triton.jit(do_not_specialize=["chunks", "tiles", "per_program", "slots"])
def _residual_kernel(
    request, target, draft, partial_ptr, chunks, tiles, per_program, slots, seed_ptr, step_idx_ptr,
    residual_ptr,  # out float32 [B, RESIDUALS, chunks]
    REJECT_ALL: tl.constexpr, ACCEPT_ALL: tl.constexpr, WIDTH: tl.constexpr, COLUMNS: tl.constexpr,
    BLOCK: tl.constexpr, RESIDUALS: tl.constexpr, CHUNK: tl.constexpr, CHUNKS: tl.constexpr,
    TOGETHER: tl.constexpr, PACKED: tl.constexpr, ANYWHERE: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    # Backwards: what the stats read last may still be in the L2.
    program = tl.num_programs(0) - 1 - tl.program_id(0)
    programs = tl.cdiv(tiles, per_program)  # of one row
    first = (program % programs) * per_program
    column = ((program // programs) % RESIDUALS).to(tl.int64)
    b = (program // programs // RESIDUALS).to(tl.int64)
    out_ptr = residual_ptr + (b * RESIDUALS + column) * chunks
    n, limit, first_row, temperature = read_request(request, b, WIDTH, REJECT_ALL)
    limit = drafts_with_rows(draft, b, tl.where(n > 0, limit, 0))
    drafts = read_drafts(request, b, WIDTH, COLUMNS)
    x, y = drafted_logits(target, draft, b, limit, first_row, drafts, WIDTH, COLUMNS)
    seed = tl.load(seed_ptr + b)
    step_idx = tl.load(step_idx_ptr + b)
    wait_for_another(PDL)
    if (n > 0) & (temperature > 0.0):
        (
            limit, accepted, log_weight, log_uniform, origins, totals, draft_origins, draft_totals,
            _best,
        ) = judge(
            x, y, b, rows_for(request, n), limit, temperature, drafts, seed, step_idx, target[3],
            draft, partial_ptr, chunks, slots, ACCEPT_ALL, WIDTH, COLUMNS, CHUNKS,
        )  # fmt: skip
        weight = 1.0
        if BLOCK:
            weight = block_weight(log_weight, column, COLUMNS)
            rows = block_needs(limit, log_weight, log_uniform, COLUMNS).to(tl.int32)
            wanted = at_column(rows, column, COLUMNS) > 0
        else:
            column = accepted.to(tl.int64)
            wanted = column < limit
        if wanted:
            origin = at_column(origins, column, COLUMNS)
            draft_origin = at_column(draft_origins, column, COLUMNS)
            p_share = weight / tl.maximum(at_column(totals, column, COLUMNS), 1e-30)
            q_share = 1.0 / tl.maximum(at_column(draft_totals, column, COLUMNS), 1e-30)
            scale = LOG2E / temperature
            p_row = target_row(target, first_row + column)
            q_row = draft_row(draft, b, column, WIDTH)
            part = tl.arange(0, TOGETHER)
            end = tl.minimum(first + per_program, tiles)
            p_ahead = load_row_ahead(p_row, first, end, TOGETHER * CHUNK, PACKED, ANYWHERE)
            q_ahead = load_row_ahead(q_row, first, end, TOGETHER * CHUNK, PACKED, ANYWHERE)
            for at in range(first, end):
                p_tile = arrived_row(p_ahead, p_row, at, end, TOGETHER * CHUNK, PACKED, ANYWHERE)
                q_tile = arrived_row(q_ahead, q_row, at, end, TOGETHER * CHUNK, PACKED, ANYWHERE)
                p_tile = clean_tile(
                    p_tile, p_row, at, target[4] is not None, TOGETHER * CHUNK, PACKED
                )
                q_tile = clean_tile(
                    q_tile, q_row, at, draft[5] is not None, TOGETHER * CHUNK, PACKED
                )
                p_ahead = load_row_ahead(p_row, at + 1, end, TOGETHER * CHUNK, PACKED, ANYWHERE)
                q_ahead = load_row_ahead(q_row, at + 1, end, TOGETHER * CHUNK, PACKED, ANYWHERE)
                if PACKED is not None:
                    p_one, p_two = unpack(p_tile, PACKED)
                    q_one, q_two = unpack(q_tile, PACKED)
                    left = left_weights(p_one, q_one, origin, draft_origin, scale, p_share, q_share)
                    left += left_weights(
                        p_two, q_two, origin, draft_origin, scale, p_share, q_share
                    )
                    each = tl.sum(tl.reshape(left, [TOGETHER, CHUNK // 2]), axis=1)
                else:
                    left = left_weights(
                        p_tile, q_tile, origin, draft_origin, scale, p_share, q_share
                    )
                    each = tl.sum(tl.reshape(left, [TOGETHER, CHUNK]), axis=1)
                chunk = at * TOGETHER + part
                tl.store(out_ptr + chunk, each, mask=chunk < chunks)
        elif BLOCK:
            # Nothing: what stands is decided without it. Not left open, in case of a rounding.
            part = tl.arange(0, TOGETHER)
            for at in range(first, tl.minimum(first + per_program, tiles)):
                chunk = at * TOGETHER + part
                tl.store(out_ptr + chunk, tl.zeros([TOGETHER], tl.float32), mask=chunk < chunks)
