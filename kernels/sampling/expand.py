"""``expand_sampling_params`` on a GPU: one program per request."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

MAX_SEED = tl.constexpr(9223372036854775806)


def expand_triton(
    cu_seqlens_q_output: torch.Tensor,
    rows: int,
    infer_seed: torch.Tensor,
    temperature: torch.Tensor,
    top_k: torch.Tensor,
    top_p: torch.Tensor,
    increment: int,
    *,
    out: tuple[torch.Tensor, ...] = (),
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """See ``kernels.sampling.expand_sampling_params``."""
    device, batch = infer_seed.device, infer_seed.shape[0]
    seeds, scale, k, p, next_seed = out or (
        torch.empty(rows, dtype=torch.int64, device=device),
        torch.empty(rows, dtype=torch.float32, device=device),
        torch.empty(rows, dtype=torch.int64, device=device),
        torch.empty(rows, dtype=torch.float32, device=device),
        torch.empty(batch, dtype=torch.int64, device=device),
    )
    _expand_kernel[(batch + 1,)](
        cu_seqlens_q_output.contiguous(), infer_seed.contiguous(), temperature.contiguous(),
        top_k.contiguous(), top_p.contiguous(), seeds, scale, k, p, next_seed,
        batch, rows, increment, BLOCK=16, num_warps=1,
    )  # fmt: skip
    return seeds, scale, k, p, next_seed


@triton.jit
def _add_seed(seed, more):
    """(seed + more) % MAX_SEED without leaving 64 bits: both are below MAX_SEED."""
    return tl.where(seed >= MAX_SEED - more, seed - (MAX_SEED - more), seed + more)


@triton.jit(do_not_specialize=["batch", "rows", "increment"])
def _expand_kernel(
    cu_ptr, seed_ptr, temperature_ptr, top_k_ptr, top_p_ptr,  # [B+1], then [B]
    row_seed_ptr, row_temperature_ptr, row_top_k_ptr, row_top_p_ptr,  # out [rows]
    next_seed_ptr,  # out int64 [B]
    batch, rows, increment,
    BLOCK: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    first = tl.load(cu_ptr + b).to(tl.int64)
    # The program past the batch owns the rows past the batch.
    real = b < batch
    end = tl.load(cu_ptr + b + 1, mask=real, other=0).to(tl.int64)
    end = tl.minimum(tl.where(real, end, rows), rows)
    seed = tl.load(seed_ptr + b, mask=real, other=0)
    temperature = tl.load(temperature_ptr + b, mask=real, other=0.0)
    top_k = tl.load(top_k_ptr + b, mask=real, other=0)
    top_p = tl.load(top_p_ptr + b, mask=real, other=1.0)
    for start in range(first, end, BLOCK):
        row = start + tl.arange(0, BLOCK)
        mask = row < end
        step = tl.where(real, row - first, 0)
        tl.store(row_seed_ptr + row, _add_seed(seed, 4 * step), mask=mask)
        tl.store(row_temperature_ptr + row, temperature + tl.zeros([BLOCK], tl.float32), mask=mask)
        tl.store(row_top_k_ptr + row, top_k + tl.zeros([BLOCK], tl.int64), mask=mask)
        tl.store(row_top_p_ptr + row, top_p + tl.zeros([BLOCK], tl.float32), mask=mask)
    more = tl.full([], 0, tl.int64) + increment
    tl.store(next_seed_ptr + b, _add_seed(seed, more), mask=real)
