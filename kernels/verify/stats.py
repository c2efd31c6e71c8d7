"""The streaming pass of ``verify``: max and sum of every chunk of every row that can matter."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .._chunk_stats import stream_stats
from .._device import wait_for_another
from .._hardware import after_another
from .._launch import Launcher, cdiv
from .._tile_loads import chunks_per_program, streaming
from .inputs import VerifyInputs
from .request import (
    draft_of,
    draft_row,
    drafts_with_rows,
    has_cut,
    read_request,
    request_of,
    rows_for,
    rows_of,
    target_of,
    target_row,
)


def row_stats(given: VerifyInputs, chunk: int, launch: Launcher) -> torch.Tensor:
    """float32 [B, slots, chunks, 2]: ``stream_stats`` of each request's S target rows, then of its
    S-1 draft rows."""
    batch, width = given.step_input_ids.shape
    vocab, slots = given.target_logits.shape[1], width
    if given.draft_logits is not None:
        vocab, slots = max(vocab, given.draft_logits.shape[2]), 2 * width - 1
    chunks = cdiv(vocab, chunk)
    partial = launch.empty(
        batch, slots, chunks, 2, dtype=torch.float32, device=given.target_logits.device
    )
    per_program = chunks_per_program(batch * slots, chunks, most=3)
    launch(
        _stats_kernel, batch * slots * cdiv(chunks, per_program),
        (
            request_of(given), target_of(given), draft_of(given), partial, chunks, per_program,
            slots,
        ),
        lambda: {
            "REJECT_ALL": given.reject_all, "WIDTH": width, "CHUNK": chunk,
            **streaming(*rows_of(given), cut=has_cut(given)), **after_another(),
        },
    )  # fmt: skip
    return partial


@triton.jit(do_not_specialize=["chunks", "per_program", "slots"])
def _stats_kernel(
    request, target, draft,
    # out float32 [B, slots, chunks, 2]; slots: S target rows, S-1 draft rows
    partial_ptr, chunks, per_program, slots,
    REJECT_ALL: tl.constexpr, WIDTH: tl.constexpr, CHUNK: tl.constexpr,
    PACKED: tl.constexpr, ANYWHERE: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    wait_for_another(PDL)
    program = tl.program_id(0)
    programs = tl.cdiv(chunks, per_program)  # of one row
    first = (program % programs) * per_program
    end = tl.minimum(first + per_program, chunks)
    slot = (program // programs) % slots
    b = (program // programs // slots).to(tl.int64)
    out_ptr = partial_ptr + (b * slots + slot) * chunks * 2
    n, limit, first_row, temperature = read_request(request, b, WIDTH, REJECT_ALL)
    limit = drafts_with_rows(draft, b, limit)
    if slot < WIDTH:
        if (slot <= limit) & (slot < rows_for(request, n)):
            row_ptr, stride, vocab, cut_logit, cut_id = target_row(target, first_row + slot)
            stream_stats(
                row_ptr, stride, vocab, cut_logit, cut_id, temperature, first, end, out_ptr,
                target[4] is not None, CHUNK, PACKED, ANYWHERE,
            )  # fmt: skip
    elif draft[0] is not None:
        column = (slot - WIDTH).to(tl.int64)
        if column < limit:
            row_ptr, stride, vocab, cut_logit, cut_id = draft_row(draft, b, column, WIDTH)
            # A greedy request's drafts are judged by the target alone; their mass only has to be
            # finite.
            scale = tl.where(temperature == 0.0, 1.0, temperature)
            stream_stats(
                row_ptr, stride, vocab, cut_logit, cut_id, scale, first, end, out_ptr,
                draft[5] is not None, CHUNK, PACKED, ANYWHERE,
            )  # fmt: skip
