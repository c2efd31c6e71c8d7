"""TOPP, FastDeploy's strategy 0, which is not lossless: one launch over the candidates."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .._device import uniforms
from .._launch import Launcher
from .._random import RECOVER as _RECOVER
from .inputs import VerifyInputs
from .request import (
    at_column,
    emit_of,
    leading,
    read_drafts,
    read_request,
    request_of,
    store_step,
    widths_of,
)

RECOVER = tl.constexpr(_RECOVER)


def accept_candidates(
    given: VerifyInputs, tokens: torch.Tensor, count: torch.Tensor, launch: Launcher
) -> None:
    """Emits the drafts that are candidates, and one candidate drawn after them."""
    ids, scores = given.candidate_ids, given.candidate_scores
    candidates = (
        ids,
        *ids.stride(),
        scores,
        *scores.stride(),
        given.candidate_lens.contiguous(),
        ids.shape[1],
    )
    launch(
        _topp_kernel, given.step_input_ids.shape[0],
        (
            request_of(given), candidates, given.top_p.contiguous(), given.seeds.contiguous(),
            given.step_idx.contiguous(), given.verify_window, emit_of(given, tokens, count),
        ),
        lambda: {
            **widths_of(given), "CANDIDATES": triton.next_power_of_2(ids.shape[1]), "num_warps": 1,
        },
    )  # fmt: skip


@triton.jit(do_not_specialize=["window"])
def _topp_kernel(
    request,
    # ids int64 [T, C] and their strides, scores float32 [T, C] and theirs, lengths int32 [T], C
    candidate,
    top_p_ptr, seed_ptr, step_idx_ptr, window, emit,
    REJECT_ALL: tl.constexpr, ACCEPT_ALL: tl.constexpr, WIDTH: tl.constexpr, COLUMNS: tl.constexpr,
    CANDIDATES: tl.constexpr,
):  # fmt: skip
    (
        id_ptr,
        id_stride_t,
        id_stride_c,
        score_ptr,
        score_stride_t,
        score_stride_c,
        length_ptr,
        candidates,
    ) = candidate
    b = tl.program_id(0).to(tl.int64)
    n, limit, first_row, _temperature = read_request(request, b, WIDTH, REJECT_ALL)
    column = tl.arange(0, COLUMNS)
    drafts = read_drafts(request, b, WIDTH, COLUMNS)
    limit = leading(drafts >= 0, limit, COLUMNS)
    place = tl.arange(0, CANDIDATES)
    at = (first_row + column)[:, None] * id_stride_t + place[None, :] * id_stride_c
    there = (column < limit)[:, None] & (place < candidates)[None, :]
    ids = tl.load(id_ptr + at, mask=there, other=-1)  # [COLUMNS, CANDIDATES]
    length = tl.load(length_ptr + first_row + column, mask=column < limit, other=0)
    same = (ids == drafts[:, None]) & there
    listed = tl.max((same & (place[None, :] < length[:, None])).to(tl.int32), axis=1) > 0
    best = tl.max((same & (place == 0)[None, :]).to(tl.int32), axis=1) > 0
    second = tl.max((same & (place == 1)[None, :]).to(tl.int32), axis=1) > 0
    if ACCEPT_ALL:
        listed = column >= 0
    # With a window above 0 a second best stands if as many drafts after it are the best: it takes
    # them all along.
    second = second & (window > 0)
    accepted = limit * 0
    walking = n > 0
    for _step in range(WIDTH - 1):
        if walking & (accepted < limit):
            following = leading(best | (column <= accepted), limit, COLUMNS) - accepted - 1
            by_window = (at_column(second.to(tl.int32), accepted, COLUMNS) > 0) & (
                following >= window
            )
            alone = at_column(listed.to(tl.int32), accepted, COLUMNS) > 0
            step = tl.where(alone, 1, tl.where(by_window, 1 + window, 0))
            accepted = accepted + step
            walking = step > 0
    step_idx = tl.load(step_idx_ptr + b)
    last = tl.full([], -1, tl.int64)
    if n > 0:
        row = first_row + accepted
        chance, _unused = uniforms(tl.load(seed_ptr + b), step_idx + accepted.to(tl.int64), RECOVER)
        have = tl.minimum(tl.load(length_ptr + row), candidates)
        score = tl.load(
            score_ptr + row * score_stride_t + place * score_stride_c, mask=place < have, other=0.0
        )
        reached = (tl.cumsum(score, 0) >= chance * tl.load(top_p_ptr + b)) & (place < have)
        index = tl.min(tl.where(reached, place, CANDIDATES))
        index = tl.where(index < CANDIDATES, index, 0)
        last = tl.load(id_ptr + row * id_stride_t + index * id_stride_c)
    store_step(emit, b, n, step_idx, drafts, accepted, last, WIDTH, COLUMNS)
