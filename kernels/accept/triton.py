"""``accept`` on a GPU: one launch for the index map, one more if the rows are copied."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .._device import wait_for_another
from .._hardware import after_another
from .._launch import Launcher, cdiv

# Requests per program. Each program sums the counts of the whole batch by itself, which costs less
# than a second launch or a grid-wide barrier: 4,096 requests are 64 KB of counts, all of it in L2.
TILE = 64
SCAN = 1024
COPY = 2048


def accept_triton(
    accept_tokens: torch.Tensor,
    accept_num: torch.Tensor,
    cu_seqlens_q_output: torch.Tensor,
    seq_lens_encoder: torch.Tensor,
    logits: torch.Tensor | None,
    *,
    launch: Launcher | None = None,
    out: tuple[torch.Tensor, ...] = (),
) -> tuple[torch.Tensor, ...]:
    """The fields of ``kernels.accept.Accepted``, the last only with ``logits``; in ``out`` if that
    is given."""
    launch = launch or Launcher()
    batch, width = accept_tokens.shape
    device = accept_num.device
    token_ids, row_index, cu_tokens = out[:3] or (
        launch.empty(batch * width, dtype=torch.int64, device=device),
        launch.empty(batch * width, dtype=torch.int64, device=device),
        launch.empty(batch + 1, dtype=torch.int32, device=device),
    )
    launch(
        _accept_kernel, max(1, cdiv(batch, TILE)),
        (
            accept_tokens, accept_tokens.stride(0), accept_tokens.stride(1),
            accept_num, accept_num.stride(0),
            cu_seqlens_q_output, cu_seqlens_q_output.stride(0),
            seq_lens_encoder, seq_lens_encoder.stride(0),
            token_ids, row_index, cu_tokens, batch, width,
        ),
        lambda: {
            "TILE": TILE, "SCAN": SCAN, "WIDTH": triton.next_power_of_2(max(1, width)),
            "num_warps": 4, **after_another(),
        },
    )  # fmt: skip
    if logits is None:
        return token_ids, row_index, cu_tokens
    vocab = logits.shape[1]
    if out:
        rows = out[3]
    else:
        rows = launch.empty(batch * width, vocab, dtype=logits.dtype, device=device)
    if rows.numel():
        launch(
            _copy_rows_kernel, batch * width * cdiv(vocab, COPY),
            (
                logits, logits.stride(0), logits.stride(1), row_index, rows, rows.stride(0), vocab,
                batch * width,
            ),
            lambda: {"BLOCK": COPY, "num_warps": 8, **after_another()},
        )  # fmt: skip
    return token_ids, row_index, cu_tokens, rows


@triton.jit
def _counts(num_ptr, num_stride, cu_ptr, cu_stride, enc_ptr, enc_stride, b, mask, width):
    """Valid entries of requests ``b``: int32, and their first target row: int64."""
    b = b.to(tl.int64)
    num = tl.load(num_ptr + b * num_stride, mask=mask, other=0)
    first = tl.load(cu_ptr + b * cu_stride, mask=mask, other=0).to(tl.int64)
    end = tl.load(cu_ptr + (b + 1) * cu_stride, mask=mask, other=0).to(tl.int64)
    encoder = tl.load(enc_ptr + b * enc_stride, mask=mask, other=0)
    num = tl.minimum(num, width)
    # A stale count must not reach into the next request's rows.
    num = tl.minimum(num, (end - first).to(tl.int32))
    num = tl.where(encoder > 0, tl.minimum(num, 1), num)
    return tl.maximum(num, 0), first


@triton.jit(
    do_not_specialize=[
        "tokens_stride_b", "tokens_stride_s", "num_stride", "cu_stride", "enc_stride", "batch",
        "width",
    ]
)  # fmt: skip
def _accept_kernel(
    tokens_ptr, tokens_stride_b, tokens_stride_s,  # int64 [B, S]
    num_ptr, num_stride,  # int32 [B]
    cu_ptr, cu_stride,  # int [B+1]
    enc_ptr, enc_stride,  # int32 [B]
    token_ids_ptr, row_index_ptr, cu_tokens_ptr,  # out: int64 [B*S] twice, int32 [B+1]
    batch, width,
    TILE: tl.constexpr, SCAN: tl.constexpr, WIDTH: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    wait_for_another(PDL)
    tile = tl.program_id(0)
    first_request = tile * TILE

    before = tl.zeros([SCAN], tl.int32)
    every = tl.zeros([SCAN], tl.int32)
    for start in range(0, batch, SCAN):
        b = start + tl.arange(0, SCAN)
        num, _ = _counts(
            num_ptr, num_stride, cu_ptr, cu_stride, enc_ptr, enc_stride, b, b < batch, width
        )
        before += tl.where(b < first_request, num, 0)
        every += num
    base = tl.sum(before)
    total = tl.sum(every)

    b = first_request + tl.arange(0, TILE)  # [TILE]
    num, first = _counts(
        num_ptr, num_stride, cu_ptr, cu_stride, enc_ptr, enc_stride, b, b < batch, width
    )
    offset = base + tl.cumsum(num, 0) - num  # [TILE], exclusive
    tl.store(cu_tokens_ptr + b, offset, mask=b < batch)
    tl.store(cu_tokens_ptr + batch, total, mask=tile == 0)

    s = tl.arange(0, WIDTH)
    valid = s[None, :] < num[:, None]  # [TILE, WIDTH]
    source = b[:, None].to(tl.int64) * tokens_stride_b + s[None, :].to(tl.int64) * tokens_stride_s
    token = tl.load(tokens_ptr + source, mask=valid, other=0)
    slot = offset[:, None] + s[None, :]
    tl.store(token_ids_ptr + slot, token, mask=valid)
    tl.store(row_index_ptr + slot, first[:, None] + s[None, :], mask=valid)

    # The tail is everybody's: this program clears the part of it that lies in its own slots.
    own = b[:, None] * width + s[None, :]
    stale = (own >= total) & (s[None, :] < width) & (b[:, None] < batch)
    nothing = tl.full([TILE, WIDTH], -1, tl.int64)
    tl.store(token_ids_ptr + own, nothing, mask=stale)
    tl.store(row_index_ptr + own, nothing, mask=stale)


@triton.jit(do_not_specialize=["rows"])
def _copy_rows_kernel(
    logits_ptr, logits_stride_t, logits_stride_v,  # [T, V]
    row_index_ptr,  # int64 [R]
    rows_ptr, rows_stride,  # out [R, V]
    vocab, rows,
    BLOCK: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    wait_for_another(PDL)
    slot = (tl.program_id(0) % rows).to(tl.int64)
    row = tl.load(row_index_ptr + slot)
    if row >= 0:
        column = (tl.program_id(0) // rows).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
        mask = column < vocab
        value = tl.load(logits_ptr + row * logits_stride_t + column * logits_stride_v, mask=mask)
        tl.store(rows_ptr + slot * rows_stride + column, value, mask=mask)
