"""``top_k_top_p_cut`` on a GPU: the best 64 tokens settle nearly every row; for the rest one
program per row finds the last kept logit bit by bit, one pass over the row (from L2) a bit.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .._device import (
    LOG2E,
    ORDER_BITS,
    after_another,
    is_kept,
    order_key,
    read_logit,
    wait_for_another,
)
from ..logprobs import MAX_K
from ..logprobs.triton import logprobs_triton


def top_k_top_p_cut_triton(
    logits: torch.Tensor,
    temperature: torch.Tensor,
    top_k: torch.Tensor | None,
    top_p: torch.Tensor | None,
    *,
    block: int = 4096,
    **options: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """See ``kernels.sampling.top_k_top_p_cut``; ``block`` and ``options`` (of logprobs) are smaller
    in tests only."""
    rows, vocab = logits.shape
    cut_logit = torch.empty(rows, dtype=torch.float32, device=logits.device)
    cut_id = torch.empty(rows, dtype=torch.int64, device=logits.device)
    if rows:
        best = min(MAX_K, vocab)
        top = logprobs_triton(logits, None, best, None, temperature, None, None, **options)
        _cut_kernel[(rows,)](
            logits, logits.stride(0), logits.stride(1), temperature.contiguous(),
            None if top_k is None else top_k.contiguous(),
            None if top_p is None else top_p.contiguous(),
            top[2], top[3], cut_logit, cut_id, vocab, best,
            BITS=ORDER_BITS[logits.dtype], BLOCK=block, BEST=MAX_K, num_warps=8, **after_another(),
        )  # fmt: skip
    return cut_logit, cut_id


@triton.jit
def _load_block(row_ptr, stride, start, vocab, cut_logit, cut_id, BLOCK: tl.constexpr):
    """(logits, ids, is a token that the cut keeps) [BLOCK]."""
    id = start + tl.arange(0, BLOCK)
    x = tl.load(row_ptr + id.to(tl.int64) * stride, mask=id < vocab, other=float("-inf"))
    x = read_logit(x)
    return x, id, (id < vocab) & is_kept(x, id, cut_logit, cut_id)


@triton.jit
def _weights(x, top, scale, BY_MASS: tl.constexpr):
    """1 a token to count them, exact in float32 up to 2**24; or the mass relative to the best
    token."""
    if BY_MASS:
        weight = tl.exp2((x - top) * scale)
    else:
        weight = tl.where(x == x, 1.0, 1.0)
    return weight


@triton.jit
def _last_kept(
    row_ptr, stride, vocab, goal, top, scale, cut_logit, cut_id,
    BY_MASS: tl.constexpr, BITS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """(logit, id) of the token with which the weight of the best tokens first reaches ``goal``."""
    threshold = tl.full([], 0, tl.uint32)
    bit = tl.full([], 1 << (BITS - 1), tl.uint32)
    for _ in range(BITS):
        higher = threshold | bit
        weight = tl.zeros([BLOCK], tl.float32)
        for start in range(0, vocab, BLOCK):
            x, id, kept = _load_block(row_ptr, stride, start, vocab, cut_logit, cut_id, BLOCK)
            reaches = kept & (order_key(x, BITS) >= higher)
            weight += tl.where(reaches, _weights(x, top, scale, BY_MASS), 0.0)
        threshold = tl.where(tl.sum(weight) >= goal, higher, threshold)
        bit = bit >> 1

    above = tl.zeros([BLOCK], tl.float32)
    logit = tl.full([BLOCK], float("-inf"), tl.float32)
    ties = tl.zeros([BLOCK], tl.int32)
    for start in range(0, vocab, BLOCK):
        x, id, kept = _load_block(row_ptr, stride, start, vocab, cut_logit, cut_id, BLOCK)
        key = order_key(x, BITS)
        above += tl.where(kept & (key > threshold), _weights(x, top, scale, BY_MASS), 0.0)
        tied = kept & (key == threshold)
        logit = tl.maximum(logit, tl.where(tied, x, float("-inf")))
        ties += tied.to(tl.int32)
    last_logit = tl.max(logit)
    each = _weights(last_logit, top, scale, BY_MASS)
    wanted = tl.ceil((goal - tl.sum(above)) / tl.maximum(each, 1e-30)).to(tl.int32)
    wanted = tl.minimum(tl.maximum(wanted, 1), tl.sum(ties))

    seen = tl.full([], 0, tl.int32)
    last_id = tl.full([], 0, tl.int32)
    for start in range(0, vocab, BLOCK):
        x, id, kept = _load_block(row_ptr, stride, start, vocab, cut_logit, cut_id, BLOCK)
        tied = (kept & (order_key(x, BITS) == threshold)).to(tl.int32)
        number = seen + tl.cumsum(tied, 0)
        last_id += tl.sum(tl.where((tied > 0) & (number == wanted), id, 0))
        seen += tl.sum(tied)
    return last_logit, last_id


@triton.jit(do_not_specialize=["best"])
def _cut_kernel(
    logits_ptr, stride_r, stride_v,  # [R, V]
    temperature_ptr, top_k_ptr, top_p_ptr,  # [R]
    best_id_ptr, best_logprob_ptr,  # int64 [R, best], float32 [R, best]
    cut_logit_ptr, cut_id_ptr,  # out float32 [R], int64 [R]
    vocab, best,
    BITS: tl.constexpr, BLOCK: tl.constexpr, BEST: tl.constexpr,
    PDL: tl.constexpr,
):  # fmt: skip
    wait_for_another(PDL)
    row = tl.program_id(0).to(tl.int64)
    row_ptr = logits_ptr + row * stride_r
    temperature = tl.load(temperature_ptr + row)
    k = tl.full([], 0, tl.int32) + vocab
    if top_k_ptr is not None:
        asked = tl.load(top_k_ptr + row)
        k = tl.where((asked > 0) & (asked < vocab), asked, vocab).to(tl.int32)
    k = tl.where(temperature == 0.0, 1, k)
    top_p = 1.0
    if top_p_ptr is not None:
        top_p = tl.where(temperature == 0.0, 1.0, tl.load(top_p_ptr + row))

    # Nearly every set ends among the best 64, whose masses are known. ``last`` is the place of its
    # last token.
    place = tl.arange(0, BEST)
    lp = tl.load(best_logprob_ptr + row * best + place, mask=place < best, other=float("-inf"))
    mass = tl.where(place < k, tl.exp(lp), 0.0)
    until = tl.cumsum(mass, 0)
    # Against all of the row if top-k left it whole, else against what top-k left.
    goal = top_p * tl.where(k <= best, tl.max(until), 1.0)
    ends = tl.min(tl.where((until >= goal) & (place < best), place, BEST))
    last = tl.where(top_p < 1.0, tl.minimum(ends, k - 1), k - 1)
    whole = k == vocab
    everything = whole & (top_p >= 1.0)
    known = (k <= best) | (whole & (top_p < 1.0) & (ends < BEST))
    if known & (last < best):
        token = tl.load(best_id_ptr + row * best + last)
        logit = read_logit(tl.load(row_ptr + token * stride_v))
        if everything:
            logit = tl.full([], float("-inf"), tl.float32)
            token = tl.full([], 0, tl.int64) + vocab - 1
        tl.store(cut_logit_ptr + row, logit)
        tl.store(cut_id_ptr + row, token)
    else:
        _search_cut(
            row, row_ptr, stride_v, vocab, k, top_p, temperature, cut_logit_ptr, cut_id_ptr,
            BITS, BLOCK,
        )  # fmt: skip


@triton.jit
def _search_cut(
    row, row_ptr, stride_v, vocab, k, top_p, temperature, cut_logit_ptr, cut_id_ptr,
    BITS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Stores the last token of top-k, then of top-p within it, from passes over the whole row."""
    cut_logit = tl.full([], float("-inf"), tl.float32)
    cut_id = tl.full([], 0, tl.int32) + vocab - 1  # keeps everything
    if k < vocab:
        cut_logit, cut_id = _last_kept(
            row_ptr, stride_v, vocab, k.to(tl.float32), 0.0, 1.0, cut_logit, cut_id,
            False, BITS, BLOCK,
        )  # fmt: skip
    if top_p < 1.0:
        best = tl.full([BLOCK], float("-inf"), tl.float32)
        for start in range(0, vocab, BLOCK):
            x, _, _ = _load_block(row_ptr, stride_v, start, vocab, cut_logit, cut_id, BLOCK)
            best = tl.maximum(best, x)
        top = tl.max(best)
        scale = LOG2E / temperature
        if top == float("-inf"):
            cut_logit = top
            cut_id = cut_id * 0
        else:
            mass = tl.zeros([BLOCK], tl.float32)
            for start in range(0, vocab, BLOCK):
                x, _, kept = _load_block(row_ptr, stride_v, start, vocab, cut_logit, cut_id, BLOCK)
                mass += tl.where(kept, _weights(x, top, scale, True), 0.0)
            # A sum in another order may fall short of the goal by a rounding, and above 0 is
            # nothing to reach.
            goal = tl.maximum(top_p * tl.sum(mass), 1e-30)
            cut_logit, cut_id = _last_kept(
                row_ptr, stride_v, vocab, goal, top, scale, cut_logit, cut_id,
                True, BITS, BLOCK,
            )  # fmt: skip
    tl.store(cut_logit_ptr + row, cut_logit)
    tl.store(cut_id_ptr + row, cut_id.to(tl.int64))
