"""The last kept token of a row bit by bit, one pass over the row a bit: for rows whose bracket was
guessed wrong, which ordinary inputs do not bring about.
"""

from __future__ import annotations

import triton
import triton.language as tl

from .._device import LOG2E, is_kept, order_key, read_logit


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


@triton.jit
def search_cut(
    row_ptr, stride_v, vocab, k, top_p, temperature,
    BITS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """(logit, id) of the last token of top-k, then of top-p within it, from passes over the row."""
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
    return cut_logit, cut_id


@triton.jit
def best_logit(row_ptr, stride_v, vocab, BLOCK: tl.constexpr):
    """The largest logit of a row."""
    best = tl.full([BLOCK], float("-inf"), tl.float32)
    for start in range(0, vocab, BLOCK):
        id = start + tl.arange(0, BLOCK)
        x = tl.load(row_ptr + id.to(tl.int64) * stride_v, mask=id < vocab, other=float("-inf"))
        best = tl.maximum(best, read_logit(x))
    return tl.max(best)
