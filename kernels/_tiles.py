"""Chunks of a row as the streaming kernels take them: loaded one ahead, and two logits of 16 bits a
register for as long as that is possible.

Streaming is bound by instructions before it is bound by memory (two bytes a logit, some ten
instructions in plain code), so rows that allow it are loaded as 32-bit words, their largest logits
are found and their ranks counted two at a time, and only the exponentials see float32. A program is
one warp: its sums need no barrier.

A row may begin anywhere. Memory is read in vectors of 16 bytes from the one on in which it begins,
and the words of each chunk are put together from them: a tile is the same words wherever its row
lies, so that everything that follows has the same bits.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ._device import LOG2E, is_kept, like_hopper, pick, read_logit

WARPS = 1
# Where a tile is put together from two: more, and too few programs run at once.
REGISTERS_ANYWHERE = 128
# Warps that fill a large GPU a few times over.
PROGRAMS = 8192

VECTOR = tl.constexpr(8)  # neighbours of one lane's load: 16 bytes of two bytes each


def packing(*rows: torch.Tensor | None, cut: bool = False) -> dict[str, object]:
    """How tensors whose rows are read together are read; an absent one is None.

    PACKED: the type of logits that are read two a word, 16 bytes a load; None for logit by logit,
    which is how a cut is applied. ANYWHERE: not every row of them begins and ends on 16 bytes.
    """
    given = [logits for logits in rows if logits is not None]
    dtype = given[0].dtype
    if cut or dtype not in _PACKED or not all(_has_words(logits, dtype) for logits in given):
        return {"PACKED": None, "ANYWHERE": False}
    aligned = all(_is_aligned(logits) for logits in given)
    return {"PACKED": _PACKED[dtype], "ANYWHERE": not aligned}


def streaming(*rows: torch.Tensor | None, cut: bool = False) -> dict[str, object]:
    """Options of a kernel that goes through such rows with ``WARPS`` warps."""
    read = packing(*rows, cut=cut)
    registers = REGISTERS_ANYWHERE if read["ANYWHERE"] else None
    return {**read, "num_warps": WARPS, "maxnreg": registers}


_PACKED = {torch.bfloat16: tl.bfloat16, torch.float16: tl.float16}


def _has_words(logits: torch.Tensor, dtype: torch.dtype) -> bool:
    """The interpreter and older GPUs lack the instructions: they run what every other row runs."""
    return logits.dtype == dtype and logits.stride(-1) == 1 and like_hopper(logits.device)


def _is_aligned(logits: torch.Tensor) -> bool:
    return (
        logits.shape[-1] % 8 == 0
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
    ANYWHERE: tl.constexpr,
    ONCE: tl.constexpr,
):
    """A chunk's logits as they stand in memory, [CHUNK] or as words [CHUNK // 2]; -inf past the
    vocabulary, and nothing is read from chunk ``end`` on. What is read ``ONCE`` leaves the caches
    first.
    """
    whole = (chunk < end) & ((chunk + 1) * CHUNK <= vocab)
    if PACKED is None:
        token = chunk * CHUNK + tl.arange(0, CHUNK)
        at = token.to(tl.int64) * stride
        if whole:
            tile = tl.load(row_ptr + at)
        else:
            tile = tl.load(
                row_ptr + at, mask=token < tl.where(chunk < end, vocab, 0), other=float("-inf")
            )
    elif not ANYWHERE:
        words = tl.multiple_of(row_ptr.to(tl.pointer_type(tl.int32), bitcast=True), 16)  # bytes
        at = chunk * (CHUNK // 2) + tl.arange(0, CHUNK // 2)
        if whole:
            tile = _load_words(words + at, None, None, ONCE)
        else:
            vectors = tl.where(chunk < end, vocab // VECTOR, 0)
            there = at // (VECTOR // 2) < vectors
            tile = _load_words(words + at, there, _minus_infinities(PACKED), ONCE)
    else:
        # From the vector on in which the row begins, behind ``before`` logits of no concern.
        before = (row_ptr.to(tl.int64) & 15).to(tl.int32) // 2
        words = (row_ptr - before).to(tl.pointer_type(tl.int32), bitcast=True)
        words = tl.multiple_of(words, 16)  # bytes
        at = chunk * (CHUNK // 2) + tl.arange(0, CHUNK // 2)
        if whole:
            low = _load_words(words + at, None, None, ONCE)
            shifted = tl.zeros([CHUNK // 2], tl.int32) < before
            high = _load_words(words + at + VECTOR // 2, shifted, 0, ONCE)
            tile = _words_after(low, high, before)
        else:
            vector = at // (VECTOR // 2)
            vectors = tl.where(chunk < end, (before + vocab + VECTOR - 1) // VECTOR, 0)
            low = _load_words(words + at, vector < vectors, 0, ONCE)
            high = _load_words(words + at + VECTOR // 2, vector + 1 < vectors, 0, ONCE)
            tile = _words_after(low, high, before)
            token = chunk * CHUNK + 2 * tl.arange(0, CHUNK // 2)
            none = _minus_infinities(PACKED)
            tile = tl.where(token + 1 < vocab, tile, (tile & 65535) | (none & -65536))
            tile = tl.where(token < vocab, tile, none)
    return tile


@triton.jit
def load_ahead(
    row_ptr,
    stride,
    chunk,
    end,
    vocab,
    CHUNK: tl.constexpr,
    PACKED: tl.constexpr,
    ANYWHERE: tl.constexpr,
    ONCE: tl.constexpr,
):
    """``load_tile`` of the chunk that is wanted next, for ``arrived_tile``. A row that begins
    anywhere has no registers left for that: its tiles are loaded when they are wanted.
    """
    if ANYWHERE:
        ahead = chunk
    else:
        ahead = load_tile(row_ptr, stride, chunk, end, vocab, CHUNK, PACKED, ANYWHERE, ONCE)
    return ahead


@triton.jit
def arrived_tile(
    ahead,
    row_ptr,
    stride,
    chunk,
    end,
    vocab,
    CHUNK: tl.constexpr,
    PACKED: tl.constexpr,
    ANYWHERE: tl.constexpr,
    ONCE: tl.constexpr,
):
    """The ``load_tile`` of a chunk for which ``load_ahead`` was asked."""
    tile = ahead
    if ANYWHERE:
        tile = load_tile(row_ptr, stride, chunk, end, vocab, CHUNK, PACKED, ANYWHERE, ONCE)
    return tile


@triton.jit
def _load_words(at, mask, other, ONCE: tl.constexpr):
    if ONCE:
        words = tl.load(at, mask=mask, other=other, eviction_policy="evict_first")
    else:
        words = tl.load(at, mask=mask, other=other)
    return words


@triton.jit
def _words_after(low, high, before):
    """Vectors of four words, from the half word ``before`` of those of ``low`` on, to which those
    of ``high`` are the next."""
    a, b, c, d = _words_of_vectors(low)
    e, f, g, h = _words_of_vectors(high)
    odd = (before & 1) * 16
    if before < 2:
        words = _vectors_of_words(a, b, c, d, e, odd)
    elif before < 4:
        words = _vectors_of_words(b, c, d, e, f, odd)
    elif before < 6:
        words = _vectors_of_words(c, d, e, f, g, odd)
    else:
        words = _vectors_of_words(d, e, f, g, h, odd)
    return words


@triton.jit
def _words_of_vectors(words):
    """The first, second, third and fourth word of each vector."""
    even, odd = tl.split(tl.reshape(words, [words.shape[0] // 4, 2, 2]))
    first, third = tl.split(even)
    second, fourth = tl.split(odd)
    return first, second, third, fourth


@triton.jit
def _vectors_of_words(a, b, c, d, e, bits):
    """The vectors of the 128 bits from bit ``bits`` of the words ``a`` on."""
    even = tl.join(_word_after(a, b, bits), _word_after(c, d, bits))
    odd = tl.join(_word_after(b, c, bits), _word_after(d, e, bits))
    return tl.reshape(tl.join(even, odd), [a.shape[0] * 4])


@triton.jit
def _word_after(low, high, bits):
    both = (high.to(tl.int64) << 32) | low.to(tl.uint32, bitcast=True).to(tl.int64)
    return (both >> bits).to(tl.int32)


@triton.jit
def _minus_infinities(PACKED: tl.constexpr):
    """A word of two."""
    return -8323200 if PACKED == tl.bfloat16 else -67044352  # 0xFF80FF80, 0xFC00FC00


@triton.jit
def unpack(words, PACKED: tl.constexpr):
    """(first, second) logits of words, as float32."""
    if PACKED == tl.bfloat16:
        first = (words << 16).to(tl.float32, bitcast=True)
        second = (words & -65536).to(tl.float32, bitcast=True)
    else:
        first = words.to(tl.int16).to(tl.float16, bitcast=True).to(tl.float32)
        second = (words >> 16).to(tl.int16).to(tl.float16, bitcast=True).to(tl.float32)
    return first, second


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
def _at_least(words, x, PACKED: tl.constexpr):
    """Words with all bits of each half set whose logit is ``x`` or more."""
    both = words * 0 + _in_both_halves(x, PACKED)
    if PACKED == tl.bfloat16:
        reach = tl.inline_asm_elementwise(
            "set.ge.u32.bf16x2 $0, $1, $2;", "=r,r,r", [words, both],
            dtype=tl.int32, is_pure=True, pack=1,
        )  # fmt: skip
    else:
        reach = tl.inline_asm_elementwise(
            "set.ge.u32.f16x2 $0, $1, $2;", "=r,r,r", [words, both],
            dtype=tl.int32, is_pure=True, pack=1,
        )  # fmt: skip
    return reach


@triton.jit
def _above(words, x, PACKED: tl.constexpr):
    """Words with all bits of each half set whose logit is more than ``x``."""
    both = words * 0 + _in_both_halves(x, PACKED)
    if PACKED == tl.bfloat16:
        reach = tl.inline_asm_elementwise(
            "set.gt.u32.bf16x2 $0, $1, $2;", "=r,r,r", [words, both],
            dtype=tl.int32, is_pure=True, pack=1,
        )  # fmt: skip
    else:
        reach = tl.inline_asm_elementwise(
            "set.gt.u32.f16x2 $0, $1, $2;", "=r,r,r", [words, both],
            dtype=tl.int32, is_pure=True, pack=1,
        )  # fmt: skip
    return reach


@triton.jit
def count_at_least(tile, x, PACKED: tl.constexpr):
    """How many logits of a tile are ``x`` or more: int32."""
    if PACKED is not None:
        count = _sum_of_halves(_at_least(tile, x, PACKED))
    else:
        count = tl.sum((tile.to(tl.float32) >= x).to(tl.int32))
    return count


@triton.jit
def count_above(tile, x, PACKED: tl.constexpr):
    """How many logits of a tile are more than ``x``: int32."""
    if PACKED is not None:
        count = _sum_of_halves(_above(tile, x, PACKED))
    else:
        count = tl.sum((tile.to(tl.float32) > x).to(tl.int32))
    return count


@triton.jit
def between(words, low, high, PACKED: tl.constexpr):
    """Words with all bits of each half set whose logit lies strictly between the two; a high of NaN
    stands for none."""
    return _above(words, low, PACKED) & ~_at_least(words, high, PACKED)


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


@triton.jit
def without_nan(tile, PACKED: tl.constexpr):
    """The tile with -inf for NaN; +inf stays."""
    if PACKED is not None:
        none = tile * 0 + _minus_infinities(PACKED)
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
