"""Device functions that several kernels share: reading logits, ordering them, selecting the best k exactly.

A logit is read the same way everywhere: as float32, NaN as -inf, +inf as the largest finite float32. A token
is better than another if its logit is larger or, with equal logits, if its id is smaller.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

LARGEST = tl.constexpr(3.4028234663852886e38)
LOG2E = tl.constexpr(1.4426950408889634)

# Bits of a float32 that a value of this type can tell apart once it is upcast: sign, exponent, mantissa.
ORDER_BITS = {torch.bfloat16: 16, torch.float16: 19, torch.float32: 32}


@triton.jit
def read_logit(x):
    """float32; NaN becomes -inf because fmax returns the operand that is a number."""
    return tl.minimum(tl.maximum(x.to(tl.float32), float("-inf")), LARGEST)


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
    """(chosen, slot): exactly ``k`` of the keys, the best by (key, lower position), numbered by position.

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
    return chosen, above_until + tl.minimum(tied_until, room) - 1


@triton.jit
def is_kept(x, token, cut_logit, cut_id):
    """Whether a token survives the top-k/top-p cut: as good as the last kept token, or better."""
    return (x > cut_logit) | ((x == cut_logit) & (token <= cut_id))
