"""Chunks of a row as the streaming kernels take them: loaded one ahead, and two bfloat16 logits a
register for as long as that is possible.

Streaming is bound by instructions before it is bound by memory (two bytes a logit, some ten
instructions in plain code), so rows that allow it are loaded as 32-bit words, their largest logits
are found and their ranks counted two at a time, and only the exponentials see float32. A program is
one warp: its sums need no barrier.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ._device import LOG2E, is_kept, like_hopper, pick, read_logit

WARPS = 1
# Warps that fill a large GPU a few times over.
PROGRAMS = 8192

VECTOR = tl.constexpr(8)  # neighbours of one lane's load: 16 bytes of bfloat16
TWO_MINUS_INFINITIES = tl.constexpr(-8323200)  # 0xFF80FF80


def packed(logits: torch.Tensor | None) -> bool:
    """Whether rows can be read as words of two bfloat16 logits, 16 bytes a load.

    The interpreter and older GPUs lack the instructions: they run what every other row runs.
    """
    return (
        logits is not None
        and logits.dtype == torch.bfloat16
        and like_hopper(logits.device)
        and logits.stride(-1) == 1
        and logits.shape[-1] % 8 == 0
        and logits.data_ptr() % 16 == 0
        and all(stride % 8 == 0 for stride in logits.stride()[:-1])
    )


def chunks_per_program(rows: int, chunks: int, most: int, programs: int = PROGRAMS) -> int:
    """Chunks of a row that one program goes through: one in a small batch, up to ``most`` once
    there are ``programs`` programs.

    What a chunk gives does not depend on it, so neither does any result.
    """
    return max(1, min(chunks, most, rows * chunks // programs))


@triton.jit
def load_tile(
    row_ptr,
    stride,
    chunk,
    end,
    vocab,
    CHUNK: tl.constexpr,
    PACKED: tl.constexpr,
    ONCE: tl.constexpr,
):
    """A chunk's logits as they stand in memory, [CHUNK] or as words [CHUNK // 2]; -inf past the
    vocabulary, and nothing is read from chunk ``end`` on. What is read ``ONCE`` leaves the caches
    first.
    """
    whole = (chunk < end) & ((chunk + 1) * CHUNK <= vocab)
    if PACKED:
        at = chunk * (CHUNK // 2) + tl.arange(0, CHUNK // 2)
        words = tl.multiple_of(row_ptr.to(tl.pointer_type(tl.int32), bitcast=True), 16)  # bytes
        if whole:
            if ONCE:
                tile = tl.load(words + at, eviction_policy="evict_first")
            else:
                tile = tl.load(words + at)
        else:
            vectors = tl.where(chunk < end, vocab // VECTOR, 0)
            tile = tl.load(
                words + at, mask=at // (VECTOR // 2) < vectors, other=TWO_MINUS_INFINITIES
            )
    else:
        token = chunk * CHUNK + tl.arange(0, CHUNK)
        at = token.to(tl.int64) * stride
        if whole:
            tile = tl.load(row_ptr + at)
        else:
            tile = tl.load(
                row_ptr + at, mask=token < tl.where(chunk < end, vocab, 0), other=float("-inf")
            )
    return tile


@triton.jit
def unpack(words):
    """(first, second) logits of words, as float32."""
    return (words << 16).to(tl.float32, bitcast=True), (words & -65536).to(tl.float32, bitcast=True)


@triton.jit
def _larger_of_two(a, b):
    return tl.inline_asm_elementwise(
        "max.bf16x2 $0, $1, $2;", "=r,r,r", [a, b], dtype=tl.int32, is_pure=True, pack=1
    )  # fmt: skip


@triton.jit
def group_max(tile, CHUNK: tl.constexpr, GROUP: tl.constexpr, PACKED: tl.constexpr):
    """float32 [CHUNK // GROUP]: the max of each group, NaN aside.

    A group is what one lane holds: vectors of 8 neighbours, ``CHUNK * 8 / GROUP`` apart, so that no
    lane has to ask another.
    """
    if PACKED:
        words = tl.reshape(tile, [GROUP // VECTOR, CHUNK // GROUP * (VECTOR // 2)])
        first, second = unpack(tl.reduce(words, 0, _larger_of_two))
        best = tl.reshape(tl.maximum(first, second), [CHUNK // GROUP, VECTOR // 2])
    else:
        vectors = tl.reshape(tile.to(tl.float32), [GROUP // VECTOR, CHUNK // GROUP, VECTOR])
        best = tl.max(vectors, axis=0)
    return tl.max(best, axis=1)


@triton.jit
def _sum_of_halves(reach):
    """The sum of words that hold 0 or -1 in each half: int32."""
    # Minus their sum is first + ((second - first) << 16).
    both = -tl.sum(reach)
    first = both & 65535
    return first + ((first + (both >> 16)) & 65535)


@triton.jit
def _in_both_halves(x):
    """A word of two times the bfloat16 ``x``."""
    one = x.to(tl.bfloat16).to(tl.int16, bitcast=True).to(tl.int32) & 65535
    return one | (one << 16)


@triton.jit
def count_at_least(tile, x, PACKED: tl.constexpr):
    """How many logits of a tile are ``x`` or more: int32."""
    if PACKED:
        reach = tl.inline_asm_elementwise(
            "set.ge.u32.bf16x2 $0, $1, $2;", "=r,r,r", [tile, tile * 0 + _in_both_halves(x)],
            dtype=tl.int32, is_pure=True, pack=1,
        )  # fmt: skip
        count = _sum_of_halves(reach)
    else:
        count = tl.sum((tile.to(tl.float32) >= x).to(tl.int32))
    return count


@triton.jit
def count_above(tile, x, PACKED: tl.constexpr):
    """How many logits of a tile are more than ``x``: int32."""
    if PACKED:
        reach = tl.inline_asm_elementwise(
            "set.gt.u32.bf16x2 $0, $1, $2;", "=r,r,r", [tile, tile * 0 + _in_both_halves(x)],
            dtype=tl.int32, is_pure=True, pack=1,
        )  # fmt: skip
        count = _sum_of_halves(reach)
    else:
        count = tl.sum((tile.to(tl.float32) > x).to(tl.int32))
    return count


@triton.jit
def between(words, low, high):
    """Words with all bits of each half set whose logit lies strictly between the two; a high of NaN
    stands for none."""
    above_low = tl.inline_asm_elementwise(
        "set.gt.u32.bf16x2 $0, $1, $2;", "=r,r,r", [words, words * 0 + _in_both_halves(low)],
        dtype=tl.int32, is_pure=True, pack=1,
    )  # fmt: skip
    reach_high = tl.inline_asm_elementwise(
        "set.ge.u32.bf16x2 $0, $1, $2;", "=r,r,r", [words, words * 0 + _in_both_halves(high)],
        dtype=tl.int32, is_pure=True, pack=1,
    )  # fmt: skip
    return above_low & ~reach_high


@triton.jit
def cut_tile(tile, chunk, cut_logit, cut_id, CHUNK: tl.constexpr):
    """The logits of an element-wise tile as the law reads them, -inf past the cut: float32
    [CHUNK]."""
    token = chunk * CHUNK + tl.arange(0, CHUNK)
    x = read_logit(tile)
    return tl.where(is_kept(x, token, cut_logit, cut_id), x, float("-inf"))


@triton.jit
def sum_exponentials(tile, top, scale, PACKED: tl.constexpr):
    """(max, sum of exp2((x - max) * scale)) of a tile, ``top`` its max NaN aside; (-inf, 0) where
    nothing is finite."""
    if PACKED:
        # One multiply-add a logit. The rounding of ``top * scale`` is in every term alike, and
        # taken out of the sum.
        origin = top * scale
        first, second = unpack(tile)
        total = tl.sum(
            tl.exp2(tl.fma(first, scale, -origin)) + tl.exp2(tl.fma(second, scale, -origin))
        )
        total = total * tl.exp2(-tl.fma(top, scale, -origin))
    else:
        total = tl.sum(tl.exp2((tile.to(tl.float32) - top) * scale))
    # NaN, +inf or nothing but -inf: rare enough to start over, so that no logit pays for the check.
    if (total != total) | (top == float("inf")):
        top = read_logit(top)
        origin = tl.where(top == float("-inf"), 0.0, top)
        if PACKED:
            first, second = unpack(_larger_of_two(tile, tile * 0 + TWO_MINUS_INFINITIES))  # no NaN
            first = tl.exp2((read_logit(first) - origin) * scale)
            total = tl.sum(first + tl.exp2((read_logit(second) - origin) * scale))
        else:
            total = tl.sum(tl.exp2((read_logit(tile) - origin) * scale))
    return top, total


@triton.jit
def tile_max(tile, CHUNK: tl.constexpr, PACKED: tl.constexpr):
    """The largest logit of a tile, NaN aside; NaN if there is no other."""
    if PACKED:
        LANES: tl.constexpr = 128 if CHUNK >= 256 else CHUNK // 2
        words = tl.reduce(tl.reshape(tile, [CHUNK // 2 // LANES, LANES]), 0, _larger_of_two)
        first, second = unpack(words)
        top = tl.max(tl.maximum(first, second))
    else:
        top = tl.max(tile.to(tl.float32))
    return top


@triton.jit
def best_of_tile(tile, chunk, CHUNK: tl.constexpr, PACKED: tl.constexpr):
    """(max, lowest id that has it) of a tile."""
    top = tile_max(tile, CHUNK, PACKED)
    if PACKED:
        # Without NaN for the compiler's sake: it would keep the words unpacked for both
        # temperatures, in twice the registers.
        first, second = unpack(without_nan(tile, PACKED))
        token = chunk * CHUNK + 2 * tl.arange(0, CHUNK // 2)
        best = tl.min(tl.where(first == top, token, tl.where(second == top, token + 1, 2147483647)))
    else:
        token = chunk * CHUNK + tl.arange(0, CHUNK)
        best = tl.min(tl.where(tile.to(tl.float32) == top, token, 2147483647))
    top = read_logit(top)
    # Where nothing is finite NaN is one of the best.
    return top, tl.where(top == float("-inf"), chunk * CHUNK, best)


@triton.jit
def stream_stats(
    row_ptr, stride, vocab, cut_logit, cut_id, temperature, first, end, out_ptr,
    HAS_CUT: tl.constexpr, CHUNK: tl.constexpr, PACKED: tl.constexpr,
):  # fmt: skip
    """Stores (max, second) of the chunks ``first`` to ``end`` of a row at ``out_ptr`` [chunks, 2]:
    second is the sum of exp((x - max) / temperature), or at temperature 0 the bits of the id of the
    chunk's best token.
    """
    ahead = load_tile(row_ptr, stride, first, end, vocab, CHUNK, PACKED, True)
    for chunk in range(first, end):
        tile = ahead
        ahead = load_tile(row_ptr, stride, chunk + 1, end, vocab, CHUNK, PACKED, True)
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


@triton.jit
def without_nan(tile, PACKED: tl.constexpr):
    """The tile with -inf for NaN; +inf stays."""
    if PACKED:
        tile = _larger_of_two(tile, tile * 0 + TWO_MINUS_INFINITIES)
    else:
        tile = tl.maximum(tile.to(tl.float32), float("-inf"))
    return tile


@triton.jit
def mass(x, origin, scale):
    """exp2((x - origin) * scale) of logits without NaN, ``origin`` the largest of their row; +inf
    counts as that."""
    return tl.exp2(tl.minimum((x - origin) * scale, 0.0))
