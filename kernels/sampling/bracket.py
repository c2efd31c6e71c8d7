"""Two logits of each row between which its set ends, guessed from a sample of the row.

The sample is one segment at a hashed place in each of as many equal parts of the row. The guess is
so wide (``SIGMAS`` standard deviations, and two segments for what stands together) that it fails
next to never; that it did not is checked when the whole row has been counted against it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from .._chunk_stats import load_stats
from .._device import LOG2E, ORDER_BITS, order_key, read_logit, wait_for_another
from .._hardware import after_another
from .._launch import Launcher, cdiv
from .limits import ends_by_mass, read_limits

SIGMAS = tl.constexpr(5.0)
NEAR = tl.constexpr(8)  # ranks: a search that is this close is not worth another look
# What a bracket in the middle of a row is divided in, and the numbers that a row's counting needs.
STEPS = tl.constexpr(8)
COUNTERS = tl.constexpr(16)
WARPS = 8
REGISTERS = 128  # two programs share a multiprocessor


@dataclass(frozen=True)
class Geometry:
    """Sizes that depend on V alone; smaller in tests."""

    sample: int  # tokens in the sample, a power of two
    large_sample: int  # where that would leave too many candidates
    segment: int  # neighbours among them
    room: int  # candidates of a row that there is room for, a power of two
    chunk: int  # tokens that are counted together
    small: int  # candidates that nearly every row has no more than

    def few(self, vocab: int) -> int:
        """The largest k whose candidates, from the best token on, fit with a quarter to spare."""
        if self.takes_all(vocab):
            return vocab
        ranks = 0.75 * self.room * self.large_sample / vocab - 2.0 * self.segment - 8.0
        if ranks <= 0:
            return 0
        root = (-5.0 + (25.0 + 4.0 * ranks) ** 0.5) / 2.0  # ranks = root**2 + 5 * root
        return int(root * root * vocab / self.large_sample)

    def takes_all(self, vocab: int) -> bool:
        """Whether a row is its own list of candidates."""
        return vocab <= self.room or vocab < self.large_sample


def guess_brackets(
    logits: torch.Tensor,
    limits: tuple[torch.Tensor | None, ...],
    partial: torch.Tensor | None,  # float32 [R, chunks, 2] of ``stream_stats``, with top_p
    geometry: Geometry,
    launch: Launcher,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(low and high logit float32 [R, 2], zeros int32 [R] to count candidates with, zeros int32
    [R, COUNTERS] to count the tokens of its steps with).

    Candidates lie strictly between the two. A high of NaN stands for none, a low of -inf for all
    that is finite.
    """
    rows, vocab = logits.shape
    chunks = cdiv(vocab, geometry.chunk)
    bracket = launch.empty(rows, 2, dtype=torch.float32, device=logits.device)
    held = launch.empty(rows, dtype=torch.int32, device=logits.device)
    counters = launch.empty(rows, COUNTERS.value, dtype=torch.int32, device=logits.device)
    launch(
        _bracket_kernel, rows,
        (
            logits, *logits.stride(), limits, partial, bracket, held, counters, vocab, chunks,
            geometry.few(vocab),
        ),
        lambda: {
            "ALL": geometry.takes_all(vocab), "BITS": ORDER_BITS[logits.dtype],
            "SAMPLE": geometry.sample, "LARGE_SAMPLE": geometry.large_sample,
            "SEGMENT": geometry.segment, "ROOM": geometry.room,
            "CHUNKS": triton.next_power_of_2(chunks), "num_warps": WARPS, "maxnreg": REGISTERS,
            **after_another(),
        },
    )  # fmt: skip
    return bracket, held, counters


@triton.jit(do_not_specialize=["chunks", "few"])
def _bracket_kernel(
    logits_ptr, stride_r, stride_v,  # [R, V]
    limits, partial_ptr,  # [R] each, float32 [R, chunks, 2] or None
    bracket_ptr, held_ptr, counters_ptr,  # out: float32 [R, 2], int32 [R], int32 [R, COUNTERS]
    vocab, chunks, few,
    ALL: tl.constexpr, BITS: tl.constexpr, SAMPLE: tl.constexpr, LARGE_SAMPLE: tl.constexpr,
    SEGMENT: tl.constexpr, ROOM: tl.constexpr, CHUNKS: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    wait_for_another(PDL)
    row = tl.program_id(0).to(tl.int64)
    row_ptr = logits_ptr + row * stride_r
    temperature, k, top_p = read_limits(row, limits, vocab)
    low = tl.full([], float("-inf"), tl.float32)
    high = tl.full([], float("nan"), tl.float32)
    if (k == vocab) & (top_p >= 1.0):
        high = low  # nothing ends anywhere: all that is finite lies above
    else:
        if not ALL:
            low, high, fits = _guess(
                row_ptr, stride_v, row, k, top_p, temperature, few, vocab, partial_ptr, chunks,
                BITS, SAMPLE, SEGMENT, ROOM, CHUNKS,
            )  # fmt: skip
            if not fits:
                low, high, fits = _guess(
                    row_ptr, stride_v, row, k, top_p, temperature, few, vocab, partial_ptr, chunks,
                    BITS, LARGE_SAMPLE, SEGMENT, ROOM, CHUNKS,
                )  # fmt: skip
    tl.store(bracket_ptr + row * 2, low)
    tl.store(bracket_ptr + row * 2 + 1, high)
    tl.store(held_ptr + row, 0)
    number = tl.arange(0, COUNTERS)
    tl.store(counters_ptr + row * COUNTERS + number, number * 0)


@triton.jit
def _guess(
    row_ptr, stride, row, k, top_p, temperature, few, vocab, partial_ptr, chunks,
    BITS: tl.constexpr, SAMPLE: tl.constexpr, SEGMENT: tl.constexpr, ROOM: tl.constexpr,
    CHUNKS: tl.constexpr,
):  # fmt: skip
    """(low, high, whether there is room for the candidates of a guess so wide)."""
    share = SAMPLE / (vocab * 1.0)
    widest = (ROOM * 3 // 8) * share
    x = _sample_of(row_ptr, stride, vocab, SAMPLE, SEGMENT)
    key = order_key(x, BITS)
    middle = k * share
    deviation = tl.sqrt(middle * (1.0 - k * 1.0 / vocab))
    if partial_ptr is not None:
        if ends_by_mass(k, top_p, vocab):
            top, total = whole_of(row, temperature, partial_ptr, chunks, CHUNKS)
            weight = tl.exp2(tl.minimum((x - top) * (LOG2E / temperature), 0.0))
            tail = (1.0 - top_p) * total * share
            middle, deviation = _rank_by_mass(key, weight, tail, BITS, SAMPLE)
    half = SIGMAS * deviation + 2.0 * SEGMENT + NEAR
    fits = half <= widest
    half = tl.minimum(half, widest)
    first = tl.where(k <= few, 0.0, middle - half)
    high, low = _logits_at(x, key, first, middle + half, BITS, SAMPLE)
    return low, high, fits


@triton.jit
def whole_of(row, temperature, partial_ptr, chunks, CHUNKS: tl.constexpr):
    """(max, mass relative to it) of a row from its ``stream_stats``."""
    tops, totals = load_stats(partial_ptr, row, chunks, CHUNKS)
    top = tl.max(tops)
    top = tl.where(top == float("-inf"), 0.0, top)
    return top, tl.sum(totals * tl.exp2((tops - top) * (LOG2E / temperature)))


@triton.jit
def _sample_of(row_ptr, stride, vocab, SAMPLE: tl.constexpr, SEGMENT: tl.constexpr):
    """float32 [SAMPLE]."""
    SEGMENTS: tl.constexpr = SAMPLE // SEGMENT
    place = tl.arange(0, SAMPLE)
    segment = (place // SEGMENT).to(tl.int64)
    chance = (segment * 2654435769 >> 16) & 65535
    free = vocab // SEGMENTS - (SEGMENT - 1)
    token = segment * vocab // SEGMENTS + (chance * free >> 16) + place % SEGMENT
    return read_logit(tl.load(row_ptr + token * stride))


@triton.jit
def _rank_by_mass(key, weight, tail, BITS: tl.constexpr, SAMPLE: tl.constexpr):
    """(rank in the sample after which all worse tokens weigh ``tail``, its standard deviation)."""
    worst = tl.full([], 0, tl.uint32)
    bit = tl.full([], 1 << (BITS - 1), tl.uint32)
    # How much of the sample reaches ``worst``, and how much what is known to be too good.
    most = tl.full([], SAMPLE, tl.int32)
    least = most * 0
    while (bit > 0) & (most - least > NEAR):
        higher = worst | bit
        worse = tl.sum(tl.where(key < higher, weight, 0.0))
        better = tl.sum((key >= higher).to(tl.int32))
        enough = worse <= tail
        worst = tl.where(enough, higher, worst)
        most = tl.where(enough, better, most)
        least = tl.where(enough, least, better)
        bit = bit >> 1
    worse = tl.where(key < worst, weight, 0.0)
    below = tl.sum(worse)
    squares = tl.sum(worse * worse)
    one = tl.min(tl.where(key >= worst, weight, float("inf")))
    one = tl.where(most > 0, one, tl.max(weight))
    one = tl.maximum(one, 1e-30)
    # Ties may weigh more than the tail: a part of them belongs to it.
    equal = tl.minimum(tl.maximum(tail - below, 0.0) / one, (most - least) * 1.0)
    squares += equal * one * one
    below += equal * one
    variance = tl.maximum(squares - below * below / SAMPLE, 0.0)
    return most - equal, tl.minimum(tl.sqrt(variance) / one, SAMPLE * 1.0)


@triton.jit
def _logits_at(x, key, first, last, BITS: tl.constexpr, SAMPLE: tl.constexpr):
    """(high, low): logits of the sample that ``first`` and ``last`` of it reach, or a few more; NaN
    and -inf where that is none and more than there are.
    """
    has_high = first >= 1.0
    has_low = last < SAMPLE
    first = tl.maximum(first, 1.0).to(tl.int32)
    last = tl.ceil(tl.minimum(last, SAMPLE * 1.0)).to(tl.int32)
    high = tl.full([], 0, tl.uint32)
    low = tl.full([], 0, tl.uint32)
    bit = tl.full([], 1 << (BITS - 1), tl.uint32)
    seek_high = has_high
    seek_low = has_low
    while (bit > 0) & (seek_high | seek_low):
        # Both counts in one sum: each has half a word.
        both = (key >= (high | bit)).to(tl.int32) + ((key >= (low | bit)).to(tl.int32) << 16)
        counts = tl.sum(both)
        reach_high = counts & 65535
        reach_low = counts >> 16
        high = tl.where(seek_high & (reach_high >= first), high | bit, high)
        low = tl.where(seek_low & (reach_low >= last), low | bit, low)
        seek_high = seek_high & ((reach_high < first) | (reach_high > first + NEAR))
        seek_low = seek_low & ((reach_low < last) | (reach_low > last + NEAR))
        bit = bit >> 1
    known = key > 0
    high_x = tl.min(tl.where(known & (key >= high), x, float("inf")))
    low_x = tl.min(tl.where(known & (key >= low), x, float("inf")))
    return tl.where(has_high, high_x, float("nan")), tl.where(has_low, low_x, float("-inf"))
