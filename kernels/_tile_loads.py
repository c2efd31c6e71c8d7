"""Chunks of a row read from memory as the streaming kernels take them: one ahead, and two logits of
16 bits a register where rows allow it. ``_tile_arithmetic`` is what is done with them.

A row may begin anywhere. Memory is read in vectors of 16 bytes from the one on in which it begins,
and the words of each chunk are put together from them: a tile is the same words wherever its row
lies, so that everything that follows has the same bits.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ._device import decoded, load_bits
from ._hardware import like_hopper

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
    """A chunk's logits, [CHUNK] (of 8 bits as float32) or as words [CHUNK // 2]; -inf past the
    vocabulary, and nothing is read from chunk ``end`` on. What is read ``ONCE`` leaves the caches
    first.
    """
    tile = _load_bits_of_tile(row_ptr, stride, chunk, end, vocab, CHUNK, PACKED, ANYWHERE, ONCE)
    if PACKED is None:
        tile = decoded(tile, row_ptr)
    return tile


@triton.jit
def _load_bits_of_tile(
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
    """The chunk's logits as they stand in memory."""
    whole = (chunk < end) & ((chunk + 1) * CHUNK <= vocab)
    if PACKED is None:
        token = chunk * CHUNK + tl.arange(0, CHUNK)
        at = token.to(tl.int64) * stride
        if whole:
            tile = load_bits(row_ptr + at)
        else:
            tile = load_bits(row_ptr + at, token < tl.where(chunk < end, vocab, 0))
    elif not ANYWHERE:
        words = tl.multiple_of(row_ptr.to(tl.pointer_type(tl.int32), bitcast=True), 16)  # bytes
        at = chunk * (CHUNK // 2) + tl.arange(0, CHUNK // 2)
        if whole:
            tile = _load_words(words + at, None, None, ONCE)
        else:
            vectors = tl.where(chunk < end, vocab // VECTOR, 0)
            there = at // (VECTOR // 2) < vectors
            tile = _load_words(words + at, there, minus_infinities(PACKED), ONCE)
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
            none = minus_infinities(PACKED)
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
        ahead = _load_bits_of_tile(
            row_ptr, stride, chunk, end, vocab, CHUNK, PACKED, ANYWHERE, ONCE
        )
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
    elif PACKED is None:
        tile = decoded(tile, row_ptr)
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
def minus_infinities(PACKED: tl.constexpr):
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
