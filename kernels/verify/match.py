"""GREEDY and TARGET_MATCH: the token that the target itself emits at every position, and the drafts
that equal it."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .._chunk_stats import best_of_row, load_stats, pick_chunk
from .._device import LOG2E, pick, uniforms, wait_for_another
from .._hardware import after_another
from .._launch import Launcher
from .._random import RECOVER as _RECOVER
from .._tile_arithmetic import mass
from .inputs import VerifyInputs
from .request import (
    at_column,
    emit_of,
    leading,
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
from .residual import read_tile

RECOVER = tl.constexpr(_RECOVER)
DRAW_WARPS = 4


def match_drafts(
    given: VerifyInputs,
    partial: torch.Tensor,
    chunk: int,
    tokens: torch.Tensor,  # out int64 [B, S]
    count: torch.Tensor,  # out int32 [B]
    launch: Launcher,
) -> None:
    """Draws every row, then emits the drafts that agree and the first token that does not."""
    batch, width = given.step_input_ids.shape
    chunks = partial.shape[2]
    drawn = launch.empty(batch, width, dtype=torch.int64, device=tokens.device)
    step_idx = given.step_idx.contiguous()
    # A greedy draw reads no seed, but its branch is compiled all the same.
    seeds = step_idx if given.seeds is None else given.seeds.contiguous()
    launch(
        _draw_kernel, batch * width,
        (request_of(given), target_of(given), partial, chunks, seeds, step_idx, drawn),
        lambda: {
            "REJECT_ALL": given.reject_all, "WIDTH": width, "CHUNK": chunk,
            "CHUNKS": triton.next_power_of_2(chunks), "num_warps": DRAW_WARPS, **after_another(),
        },
    )  # fmt: skip
    emit = emit_of(given, tokens, count)
    launch(
        _match_kernel, batch,
        (request_of(given), drawn, given.target_logits.shape[1], step_idx, emit),
        lambda: {**widths_of(given), "num_warps": 1, **after_another()},
    )  # fmt: skip


@triton.jit(do_not_specialize=["chunks"])
def _draw_kernel(
    request, target, partial_ptr, chunks, seed_ptr, step_idx_ptr,
    drawn_ptr,  # out int64 [B, S]: what the target emits at each position
    REJECT_ALL: tl.constexpr, WIDTH: tl.constexpr, CHUNK: tl.constexpr, CHUNKS: tl.constexpr,
    PDL: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0).to(tl.int64)
    column = program % WIDTH
    b = program // WIDTH
    n, limit, first_row, temperature = read_request(request, b, WIDTH, REJECT_ALL)
    wait_for_another(PDL)
    if (column < rows_for(request, n)) & (column <= limit):
        tops, seconds = load_stats(partial_ptr, program, chunks, CHUNKS)
        top = tl.max(tops)
        if temperature == 0.0:
            tl.store(drawn_ptr + program, best_of_row(tops, seconds, top))
        else:
            scale = LOG2E / temperature
            chunk_uniform, token_uniform = uniforms(
                tl.load(seed_ptr + b), tl.load(step_idx_ptr + b) + column, RECOVER
            )
            chosen, origin = pick_chunk(tops, seconds, top, scale, chunk_uniform, CHUNKS)
            row = target_row(target, first_row + column)
            x = read_tile(row, target[4] is not None, chosen, chosen + 1, CHUNK)
            token = chosen * CHUNK + pick(mass(x, origin, scale), token_uniform, CHUNK)
            tl.store(drawn_ptr + program, token.to(tl.int64))


@triton.jit
def _match_kernel(
    request, drawn_ptr, vocab,  # int64 [B, S]
    step_idx_ptr, emit,
    REJECT_ALL: tl.constexpr, ACCEPT_ALL: tl.constexpr, WIDTH: tl.constexpr, COLUMNS: tl.constexpr,
    PDL: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    n, limit, _row, _temperature = read_request(request, b, WIDTH, REJECT_ALL)
    column = tl.arange(0, COLUMNS)
    drafts = read_drafts(request, b, WIDTH, COLUMNS)
    wait_for_another(PDL)
    known = (column <= limit) & (column < rows_for(request, n))
    drawn = tl.load(drawn_ptr + b * WIDTH + column, mask=known, other=-1)
    agree = (drafts >= 0) & (drafts < vocab)
    if not ACCEPT_ALL:
        agree = agree & (drafts == drawn)
    accepted = leading(agree, limit, COLUMNS)
    last = or_given(request, b, n, accepted, at_column(drawn, accepted, COLUMNS))
    store_step(emit, b, n, tl.load(step_idx_ptr + b), drafts, accepted, last, WIDTH, COLUMNS)
