"""What is kept of each chunk of a row, its max and its sum, and what of the whole row follows from
them: the best token, the sum, the chunk that a draw falls into.
"""

from __future__ import annotations

import triton
import triton.language as tl

from ._device import LOG2E, pick
from ._tile_arithmetic import best_of_tile, cut_tile, sum_exponentials, tile_max
from ._tile_loads import arrived_tile, load_ahead


@triton.jit
def stream_stats(
    row_ptr, stride, vocab, cut_logit, cut_id, temperature, first, end, out_ptr,
    HAS_CUT: tl.constexpr, CHUNK: tl.constexpr, PACKED: tl.constexpr, ANYWHERE: tl.constexpr,
):  # fmt: skip
    """Stores (max, second) of the chunks ``first`` to ``end`` of a row at ``out_ptr`` [chunks, 2]:
    second is the sum of exp((x - max) / temperature), or at temperature 0 the bits of the id of the
    chunk's best token.
    """
    ahead = load_ahead(row_ptr, stride, first, end, vocab, CHUNK, PACKED, ANYWHERE, True)
    for chunk in range(first, end):
        tile = arrived_tile(
            ahead, row_ptr, stride, chunk, end, vocab, CHUNK, PACKED, ANYWHERE, True
        )
        ahead = load_ahead(row_ptr, stride, chunk + 1, end, vocab, CHUNK, PACKED, ANYWHERE, True)
        if HAS_CUT:
            tile = cut_tile(tile, chunk, cut_logit, cut_id, CHUNK)
        if temperature == 0.0:
            top, best = best_of_tile(tile, chunk, CHUNK, PACKED)
            second = best.to(tl.float32, bitcast=True)
        else:
            top, second = sum_exponentials(
                tile, tile_max(tile, CHUNK, PACKED), LOG2E / temperature, PACKED
            )
        tl.store(out_ptr + chunk * 2, top)
        tl.store(out_ptr + chunk * 2 + 1, second)


@triton.jit
def load_stats(partial_ptr, row, chunks, CHUNKS: tl.constexpr):
    """(tops, seconds) [CHUNKS] of one row of ``stream_stats`` [rows, chunks, 2]; (-inf, 0) past its
    last chunk."""
    chunk = tl.arange(0, CHUNKS)
    at = row * chunks + chunk
    tops = tl.load(partial_ptr + at * 2, mask=chunk < chunks, other=float("-inf"))
    seconds = tl.load(partial_ptr + at * 2 + 1, mask=chunk < chunks, other=0.0)
    return tops, seconds


@triton.jit
def best_of_row(tops, seconds, top):
    """The best token of a row from its ``load_stats`` at temperature 0: int64.

    ``top`` is the max of ``tops``.
    """
    ids = tl.where(tops == top, seconds.to(tl.int32, bitcast=True), 2147483647)
    return tl.min(ids).to(tl.int64)


@triton.jit
def pick_chunk(tops, seconds, top, scale, uniform, CHUNKS: tl.constexpr):
    """(chunk, origin) of a draw from a row's ``load_stats``: a chunk by its mass, and what its
    logits are relative to. ``top`` is the max of ``tops``.
    """
    origin = tl.where(top == float("-inf"), 0.0, top)
    return pick(seconds * tl.exp2((tops - origin) * scale), uniform, CHUNKS), origin


@triton.jit
def merge_stats(tops, seconds, temperature):
    """(origin [S], total [S], best token [S]) of rows from their chunks' ``stream_stats`` [S,
    CHUNKS]."""
    top = tl.max(tops, axis=1)
    bits = seconds.to(tl.int32, bitcast=True)
    best = tl.min(tl.where(tops == top[:, None], bits, 2147483647), axis=1)
    origin = tl.where(top == float("-inf"), 0.0, top)
    scale = LOG2E / tl.where(temperature == 0.0, 1.0, temperature)
    total = tl.sum(seconds * tl.exp2((tops - origin[:, None]) * scale), axis=1)
    return origin, total, best
