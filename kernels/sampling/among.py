"""Where a set ends among the candidates of a row, which one program holds in registers.

Weights are integers, so that no sum depends on the order in which candidates were found.
"""

from __future__ import annotations

import triton
import triton.language as tl

from .._device import order_key

# Of a mass relative to the best token, up to V = 2**26.
UNIT = tl.constexpr(float(1 << 36))
LAST_ID = tl.constexpr(2147483647)


@triton.jit
def load_candidates(candidates_ptr, held, SIZE: tl.constexpr):
    """(ids, logits) [SIZE]; past the last one, ``LAST_ID`` and -inf."""
    place = tl.arange(0, SIZE)
    id = tl.load(candidates_ptr + place * 2, mask=place < held, other=LAST_ID)
    bits = tl.load(candidates_ptr + place * 2 + 1, mask=place < held, other=-8388608)
    return id, bits.to(tl.float32, bitcast=True)


@triton.jit
def fixed_mass(x, origin, scale):
    """int64: the mass of logits relative to ``origin``, the largest of their row, in UNITs."""
    mass = tl.exp2(tl.minimum((x - origin) * scale, 0.0))
    return tl.where(x == float("-inf"), 0.0, mass * UNIT).to(tl.int64)


@triton.jit
def last_reaching(id, x, weight, goal, BITS: tl.constexpr):
    """(logit, id) of the token with which the weight of the best, added up from the best one on,
    first reaches ``goal``, which is at least 1 and at most their sum.
    """
    # A key of 0 is nobody's.
    key = tl.where(weight > 0, order_key(x, BITS), 0)
    last, bit = _common_bits(key, key > 0)
    while bit > 0:
        higher = last | bit
        reached = tl.sum(tl.where(key >= higher, weight, 0))
        last = tl.where(reached >= goal, higher, last)
        bit = bit >> 1
    tied = key == last
    each = tl.max(tl.where(tied, weight, 0))
    short = goal - tl.sum(tl.where(key > last, weight, 0))
    ties = tl.sum(tied.to(tl.int32))
    wanted = tl.minimum((short + each - 1) // tl.maximum(each, 1), ties).to(tl.int32)
    logit = tl.max(tl.where(tied, x, float("-inf")))
    if wanted == ties:
        last_id = tl.max(tl.where(tied, id, 0))
    else:
        # The largest number that fewer than ``wanted`` of the tied ids are below.
        last_id, id_bit = _common_bits(id, tied)
        while id_bit > 0:
            below = tl.sum((tied & (id < (last_id | id_bit))).to(tl.int32))
            last_id = tl.where(below < wanted, last_id | id_bit, last_id)
            id_bit = id_bit >> 1
    return logit, last_id


@triton.jit
def _common_bits(key, chosen):
    """(the leading bits that the chosen keys have in common, the highest bit that they differ in or
    0); where one is chosen at least."""
    most = tl.max(tl.where(chosen, key, 0))
    least = tl.min(tl.where(chosen, key, most))
    # The highest bit in which they differ, from all those below it.
    apart = most ^ least
    apart |= apart >> 1
    apart |= apart >> 2
    apart |= apart >> 4
    apart |= apart >> 8
    apart |= apart >> 16
    return most & ~apart, apart ^ (apart >> 1)
