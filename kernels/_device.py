"""Device functions that several kernels share: reading logits, ordering them, selecting the best k exactly.

A logit is read the same way everywhere: as float32, NaN as -inf, +inf as the largest finite float32. A token
is better than another if its logit is larger or, with equal logits, if its id is smaller.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ._dispatch import interpreting

# Programs that keep every multiprocessor of a large GPU busy a few times over.
PROGRAMS = 1536

LARGEST = tl.constexpr(3.4028234663852886e38)
LOG2E = tl.constexpr(1.4426950408889634)

# Bits of a float32 that a value of this type can tell apart once it is upcast: sign, exponent, mantissa.
ORDER_BITS = {torch.bfloat16: 16, torch.float16: 19, torch.float32: 32}


def dependent_launch() -> bool:
    """Whether a kernel may be launched while the one before it still runs, and wait on the device for its results
    (programmatic dependent launch, Hopper and later): a launch then costs next to nothing.
    """
    return not interpreting() and torch.cuda.get_device_capability()[0] >= 9


def after_another() -> dict[str, bool]:
    """Launch options of a kernel that begins with ``gdc_wait``."""
    return {"PDL": True, "launch_pdl": True} if dependent_launch() else {"PDL": False}


def chunks_per_program(rows: int, chunks: int) -> int:
    """Chunks of a row that one program goes through, loading ahead: one in a small batch, several in a large one.

    What a chunk gives does not depend on it, so neither does any result.
    """
    return max(1, min(chunks, rows * chunks // PROGRAMS))


@triton.jit
def read_logit(x):
    """float32; NaN becomes -inf because fmax returns the operand that is a number."""
    return tl.minimum(tl.maximum(x.to(tl.float32), float("-inf")), LARGEST)


@triton.jit
def read_id(id):
    """int32, which is what chunks are numbered in: half the registers of a 64-bit comparison a logit."""
    return tl.minimum(id, 2147483647).to(tl.int32)


@triton.jit
def order_key(x, BITS: tl.constexpr):
    """A uint32 that orders as the float32 does, in the lowest ``BITS`` bits; -0.0 ties with 0.0, and 0 is free."""
    x = tl.where(x == 0.0, 0.0, x)
    bits = x.to(tl.int32, bitcast=True)
    flipped = tl.where(bits < 0, ~bits, bits ^ -2147483648)
    return flipped.to(tl.uint32, bitcast=True) >> (32 - BITS)


@triton.jit
def kth_largest(key, k, BITS: tl.constexpr):
    """The largest threshold that at least ``k`` keys reach, bit by bit: as many counts as a key has bits."""
    threshold = tl.full([], 0, tl.uint32)
    bit = tl.full([], 1 << (BITS - 1), tl.uint32)
    for _ in range(BITS):
        higher = threshold | bit
        enough = tl.sum((key >= higher).to(tl.int32)) >= k
        threshold = tl.where(enough, higher, threshold)
        bit = bit >> 1
    return threshold


@triton.jit
def select_best(key, k, BITS: tl.constexpr):
    """(chosen, slot, k): exactly ``k`` of the keys, the best by (key, lower position), numbered by position.

    At most 32,767 keys: two counts share one prefix sum.
    """
    threshold = kth_largest(key, k, BITS)
    above = (key > threshold).to(tl.int32)
    tied = (key == threshold).to(tl.int32)
    room = k - tl.sum(above)
    counted = tl.cumsum(above * 65536 + tied, 0)
    above_until = counted >> 16
    tied_until = counted & 65535
    chosen = (above > 0) | ((tied > 0) & (tied_until <= room))
    return chosen, above_until + tl.minimum(tied_until, room) - 1, k


@triton.jit
def select_at_least(key, there, threshold, k, ROOM: tl.constexpr, BITS: tl.constexpr):
    """(chosen, slot, how many): a superset of the ``k`` best keys, numbered by position.

    ``threshold`` is any value that ``k`` of the keys reach. Usually few more than ``k`` do, and all of them are chosen;
    if they are more than ``ROOM``, the k best are searched for.
    """
    reach = (there & (key >= threshold)).to(tl.int32)
    count = tl.sum(reach)
    if count <= ROOM:
        chosen = reach > 0
        slot = tl.cumsum(reach, 0) - 1
    else:
        chosen, slot, count = select_best(tl.where(there, key, 0), k, BITS)
    return chosen, slot, count


@triton.jit
def order_among(key, N: tl.constexpr):
    """int32 [N]: how many of the N keys come before each, by (key descending, position ascending)."""
    place = tl.arange(0, N)
    before = (key[None, :] > key[:, None]) | ((key[None, :] == key[:, None]) & (place[None, :] < place[:, None]))
    return tl.sum(before.to(tl.int32), axis=1)


@triton.jit
def is_kept(x, token, cut_logit, cut_id):
    """Whether a token survives the top-k/top-p cut: as good as the last kept token, or better."""
    return (x > cut_logit) | ((x == cut_logit) & (token <= cut_id))


@triton.jit
def uniforms(seed, position, STREAM: tl.constexpr):
    """``_random.uniforms``: two float32 numbers inside (0, 1) for an int64 seed and position."""
    zero = (position * 0).to(tl.uint32)
    low = (position & 0xFFFFFFFF).to(tl.uint32)
    high = ((position >> 32) & 0xFFFFFFFF).to(tl.uint32)
    first, second, _, _ = tl.philox(seed, low, high, zero + STREAM, zero)
    return ((first >> 9).to(tl.float32) + 0.5) * (1.0 / 8388608), ((second >> 9).to(tl.float32) + 0.5) * (1.0 / 8388608)


@triton.jit
def pick(mass, uniform, N: tl.constexpr):
    """The first of N entries whose prefix sum passes ``uniform`` times the sum; 0 where there is no mass."""
    index = tl.arange(0, N)
    until = tl.cumsum(mass, 0)
    goal = uniform * tl.max(until)
    place = tl.min(tl.where((until > goal) & (mass > 0), index, N))
    # A parallel prefix sum may dip by a rounding; then the last entry with mass is the one meant.
    place = tl.where(place < N, place, tl.max(tl.where(mass > 0, index, 0)))
    return place


@triton.jit
def load_raw(row_ptr, stride, chunk, end, vocab, CHUNK: tl.constexpr):
    """A chunk's logits [CHUNK] in their own type, -inf past the vocabulary; nothing is read from chunk ``end`` on.

    To be asked for one chunk ahead, so that a program always has a load under way while it computes.
    """
    token = chunk * CHUNK + tl.arange(0, CHUNK)
    limit = tl.where(chunk < end, vocab, 0)
    return tl.load(row_ptr + token.to(tl.int64) * stride, mask=token < limit, other=float("-inf"))


@triton.jit
def widen(raw, chunk, cut_logit, cut_id, HAS_CUT: tl.constexpr, CHUNK: tl.constexpr):
    """(logits float32 [CHUNK], token ids int32 [CHUNK]); -inf past the cut. Without a cut the logits are as they stand:
    NaN and +inf are ``chunk_stats``'s to find, which costs less than to look for them here.
    """
    token = chunk * CHUNK + tl.arange(0, CHUNK)
    x = raw.to(tl.float32)
    if HAS_CUT:
        x = read_logit(x)
        x = tl.where(is_kept(x, token, cut_logit, cut_id), x, float("-inf"))
    return x, token


@triton.jit
def load_chunk(row_ptr, stride, chunk, vocab, cut_logit, cut_id, HAS_CUT: tl.constexpr, CHUNK: tl.constexpr):
    """``load_raw`` and ``widen`` of a single chunk."""
    raw = load_raw(row_ptr, stride, chunk, chunk + 1, vocab, CHUNK)
    return widen(raw, chunk, cut_logit, cut_id, HAS_CUT, CHUNK)


@triton.jit
def sum_exponentials(x, top, scale):
    """(max, sum of exp2((x - max) * scale)) of logits, ``top`` their max; (-inf, 0) where none is finite."""
    total = tl.sum(tl.exp2((x - top) * scale))
    # NaN, +inf or nothing but -inf: rare enough to start over, so that no logit pays for the check.
    if (total != total) | (top == float("inf")):
        y = read_logit(x)
        top = tl.max(y)
        total = tl.sum(tl.exp2((y - tl.where(top == float("-inf"), 0.0, top)) * scale))
    return top, total


@triton.jit
def chunk_stats(x, token, temperature):
    """(max, second) of a chunk: the sum of exp((x - max) / temperature), or at temperature 0 the bits of the id of
    its best token.
    """
    if temperature == 0.0:
        y = read_logit(x)
        top = tl.max(y)
        best = tl.min(tl.where(y == top, token, 2147483647))
        second = best.to(tl.float32, bitcast=True)
    else:
        top, second = sum_exponentials(x, tl.max(x), LOG2E / temperature)
    return top, second


@triton.jit
def merge_chunks(tops, seconds, temperature):
    """(origin [S], total [S], best token [S]) of rows from their chunks' ``chunk_stats`` [S, CHUNKS]."""
    top = tl.max(tops, axis=1)
    bits = seconds.to(tl.int32, bitcast=True)
    best = tl.min(tl.where(tops == top[:, None], bits, 2147483647), axis=1)
    origin = tl.where(top == float("-inf"), 0.0, top)
    scale = LOG2E / tl.where(temperature == 0.0, 1.0, temperature)
    total = tl.sum(seconds * tl.exp2((tops - origin[:, None]) * scale), axis=1)
    return origin, total, best
