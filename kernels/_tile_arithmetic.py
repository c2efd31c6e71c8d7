"""Arithmetic on the tiles of ``_tile_loads``: maxima, counts, sums of exponentials.

Streaming is bound by instructions before it is bound by memory (two bytes a logit, some ten
instructions in plain code), so the largest of packed logits are found and their ranks counted two
at a time, and only the exponentials see float32. A program is one warp: its sums need no barrier.
"""

from __future__ import annotations

import triton
import triton.language as tl

from ._device import is_kept, read_logit
from ._tile_loads import VECTOR, minus_infinities, unpack


@triton.jit
def _larger_of_two_bfloat16(a, b):
    return tl.inline_asm_elementwise(
        "max.bf16x2 $0, $1, $2;", "=r,r,r", [a, b], dtype=tl.int32, is_pure=True, pack=1
    )  # fmt: skip


@triton.jit
def _larger_of_two_float16(a, b):
    return tl.inline_asm_elementwise(
        "max.f16x2 $0, $1, $2;", "=r,r,r", [a, b], dtype=tl.int32, is_pure=True, pack=1
    )  # fmt: skip


@triton.jit
def _largest_of_two(words, PACKED: tl.constexpr):
    """Words of the largest first and second logits along the first axis, NaN aside."""
    if PACKED == tl.bfloat16:
        largest = tl.reduce(words, 0, _larger_of_two_bfloat16)
    else:
        largest = tl.reduce(words, 0, _larger_of_two_float16)
    return largest


@triton.jit
def group_max(tile, CHUNK: tl.constexpr, GROUP: tl.constexpr, PACKED: tl.constexpr):
    """float32 [CHUNK // GROUP]: the max of each group, NaN aside.

    A group is what one lane holds: vectors of 8 neighbours, ``CHUNK * 8 / GROUP`` apart, so that no
    lane has to ask another.
    """
    if PACKED is not None:
        words = tl.reshape(tile, [GROUP // VECTOR, CHUNK // GROUP * (VECTOR // 2)])
        first, second = unpack(_largest_of_two(words, PACKED), PACKED)
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
def _in_both_halves(x, PACKED: tl.constexpr):
    """A word of two times ``x``."""
    one = x.to(PACKED).to(tl.int16, bitcast=True).to(tl.int32) & 65535
    return one | (one << 16)


@triton.jit
def _compare(words, RELATION: tl.constexpr, x, PACKED: tl.constexpr):
    """Words with all bits of each half set whose logit is ``x`` or more ("ge"), or more than ``x``
    ("gt").
    """
    both = words * 0 + _in_both_halves(x, PACKED)
    PAIR: tl.constexpr = "bf16x2" if PACKED == tl.bfloat16 else "f16x2"
    return tl.inline_asm_elementwise(
        "set." + RELATION + ".u32." + PAIR + " $0, $1, $2;", "=r,r,r", [words, both],
        dtype=tl.int32, is_pure=True, pack=1,
    )  # fmt: skip


@triton.jit
def count_at_least(tile, x, PACKED: tl.constexpr):
    """How many logits of a tile are ``x`` or more: int32."""
    if PACKED is not None:
        count = _sum_of_halves(_compare(tile, "ge", x, PACKED))
    else:
        count = tl.sum((tile.to(tl.float32) >= x).to(tl.int32))
    return count


@triton.jit
def count_above(tile, x, PACKED: tl.constexpr):
    """How many logits of a tile are more than ``x``: int32."""
    if PACKED is not None:
        count = _sum_of_halves(_compare(tile, "gt", x, PACKED))
    else:
        count = tl.sum((tile.to(tl.float32) > x).to(tl.int32))
    return count


@triton.jit
def between(words, low, high, PACKED: tl.constexpr):
    """Words with all bits of each half set whose logit lies strictly between the two; a high of NaN
    stands for none."""
    return _compare(words, "gt", low, PACKED) & ~_compare(words, "ge", high, PACKED)


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
    if PACKED is not None:
        # One multiply-add a logit. The rounding of ``top * scale`` is in every term alike, and
        # taken out of the sum.
        origin = top * scale
        first, second = unpack(tile, PACKED)
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
        if PACKED is not None:
            first, second = unpack(without_nan(tile, PACKED), PACKED)
            first = tl.exp2((read_logit(first) - origin) * scale)
            total = tl.sum(first + tl.exp2((read_logit(second) - origin) * scale))
        else:
            total = tl.sum(tl.exp2((read_logit(tile) - origin) * scale))
    return top, total


@triton.jit
def tile_max(tile, CHUNK: tl.constexpr, PACKED: tl.constexpr):
    """The largest logit of a tile, NaN aside; NaN if there is no other."""
    if PACKED is not None:
        LANES: tl.constexpr = 128 if CHUNK >= 256 else CHUNK // 2
        words = _largest_of_two(tl.reshape(tile, [CHUNK // 2 // LANES, LANES]), PACKED)
        first, second = unpack(words, PACKED)
        top = tl.max(tl.maximum(first, second))
    else:
        top = tl.max(tile.to(tl.float32))
    return top


@triton.jit
def best_of_tile(tile, chunk, CHUNK: tl.constexpr, PACKED: tl.constexpr):
    """(max, lowest id that has it) of a tile."""
    top = tile_max(tile, CHUNK, PACKED)
    if PACKED is not None:
        # Without NaN for the compiler's sake: it would keep the words unpacked for both
        # temperatures, in twice the registers.
        first, second = unpack(without_nan(tile, PACKED), PACKED)
        token = chunk * CHUNK + 2 * tl.arange(0, CHUNK // 2)
        best = tl.min(tl.where(first == top, token, tl.where(second == top, token + 1, 2147483647)))
    else:
        token = chunk * CHUNK + tl.arange(0, CHUNK)
        best = tl.min(tl.where(tile.to(tl.float32) == top, token, 2147483647))
    top = read_logit(top)
    # Where nothing is finite NaN is one of the best.
    return top, tl.where(top == float("-inf"), chunk * CHUNK, best)


@triton.jit
def without_nan(tile, PACKED: tl.constexpr):
    """The tile with -inf for NaN; +inf stays."""
    if PACKED is not None:
        none = tile * 0 + minus_infinities(PACKED)
        if PACKED == tl.bfloat16:
            tile = _larger_of_two_bfloat16(tile, none)
        else:
            tile = _larger_of_two_float16(tile, none)
    else:
        tile = tl.maximum(tile.to(tl.float32), float("-inf"))
    return tile


@triton.jit
def mass(x, origin, scale):
    """exp2((x - origin) * scale) of logits without NaN, ``origin`` the largest of their row; +inf
    counts as that."""
    return tl.exp2(tl.minimum((x - origin) * scale, 0.0))


@triton.jit
def mass_above(tile, x, count, scale, CHUNK: tl.constexpr, PACKED: tl.constexpr):
    """(max, sum of exp2((logit - max) * scale)) of a tile's logits above ``x``, of which there are
    ``count``; (-inf, 0) of none."""
    top = tl.full([], float("-inf"), tl.float32)
    total = tl.full([], 0.0, tl.float32)
    if count > 0:
        top = read_logit(tile_max(tile, CHUNK, PACKED))
        if PACKED is not None:
            one, two = unpack(tile, PACKED)
            total = tl.sum(
                tl.where(one > x, mass(one, top, scale), 0.0)
                + tl.where(two > x, mass(two, top, scale), 0.0)
            )
        else:
            total = tl.sum(tl.where(tile > x, mass(tile, top, scale), 0.0))
    return top, total
