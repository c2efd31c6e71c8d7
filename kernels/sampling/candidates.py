"""``top_p_candidates`` on a GPU: the best tokens come from ``logprobs``; this cuts them where their
mass is enough."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


def cut_candidates_triton(
    ids: torch.Tensor,
    logprobs: torch.Tensor,
    top_p: torch.Tensor,
    *,
    out: tuple[torch.Tensor, ...] = (),
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """See ``kernels.sampling.top_p_candidates``; ``ids`` and ``logprobs`` are contiguous."""
    rows, columns = ids.shape
    kept, scores, lens = out or (
        torch.empty_like(ids),
        torch.empty_like(logprobs),
        torch.empty(rows, dtype=torch.int32, device=ids.device),
    )
    if rows:
        _candidates_kernel[(rows,)](
            ids, logprobs, top_p, top_p.stride(0), kept, scores, lens, columns,
            COLUMNS=64, num_warps=1,
        )  # fmt: skip
    return kept, scores, lens


@triton.jit(do_not_specialize=["top_p_stride", "columns"])
def _candidates_kernel(
    ids_ptr, logprob_ptr, top_p_ptr, top_p_stride,  # int64 [T, C], float32 [T, C], float32 [T]
    kept_ptr, score_ptr, length_ptr,  # out int64 [T, C], float32 [T, C], int32 [T]
    columns,
    COLUMNS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, COLUMNS)
    at = row * columns + column
    mask = column < columns
    ids = tl.load(ids_ptr + at, mask=mask, other=0)
    score = tl.exp(tl.load(logprob_ptr + at, mask=mask, other=float("-inf")))
    top_p = tl.load(top_p_ptr + row * top_p_stride)
    reached = (tl.cumsum(score, 0) >= top_p) & mask
    length = tl.min(tl.where(reached, column + 1, columns))
    tl.store(kept_ptr + at, tl.where(column < length, ids, 0), mask=mask)
    tl.store(score_ptr + at, tl.where(column < length, score, 0.0), mask=mask)
    tl.store(length_ptr + row, length)
