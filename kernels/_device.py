"""Device functions that several kernels share: reading logits, ordering them, drawing from them.

A logit is read the same way everywhere: as float32, NaN as -inf, +inf as the largest finite
float32. A token is better than another if its logit is larger or, with equal logits, if its id is
smaller.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from . import _logits

LARGEST = tl.constexpr(_logits.LARGEST)
COLDEST = tl.constexpr(_logits.COLDEST)
WARMEST = tl.constexpr(_logits.WARMEST)
LOG2E = tl.constexpr(1.4426950408889634)

# Bits of a float32 that tell the values of a type apart, the largest float32 among them, which +inf
# is read as.
ORDER_BITS = {
    torch.bfloat16: 17, torch.float16: 19, torch.float32: 32,
    torch.float8_e4m3fn: 17, torch.float8_e5m2: 17,
}  # fmt: skip


@triton.jit
def wait_for_another(PDL: tl.constexpr):
    """Until the kernel before this one has ended.

    The next one may start from here on: all that was there before this kernel is there for it too,
    so of a call's kernels only the first must wait before it reads the call's arguments.
    """
    if PDL:
        tl.extra.cuda.gdc_wait()
        tl.extra.cuda.gdc_launch_dependents()


@triton.jit
def load_logits(at, there=None):
    """The logits at ``at``, of 8 bits as float32; -inf where not ``there``."""
    return decoded(load_bits(at, there), at)


@triton.jit
def load_bits(at, there=None):
    """The logits at ``at`` as they stand in memory, for ``decoded``; -inf where not ``there``."""
    if at.dtype.element_ty == tl.float8e4nv:
        x = _load_or(at.to(tl.pointer_type(tl.uint8), bitcast=True), there, 255)
    elif at.dtype.element_ty == tl.float8e5:
        x = _load_or(at.to(tl.pointer_type(tl.uint8), bitcast=True), there, 252)
    else:
        x = _load_or(at, there, float("-inf"))
    return x


@triton.jit
def _load_or(at, there, other):
    if there is None:
        x = tl.load(at)
    else:
        x = tl.load(at, mask=there, other=other)
    return x


@triton.jit
def decoded(x, at):
    """What ``load_bits`` loaded from ``at``; 8 bits as float32, NaN as -inf. By arithmetic that
    every GPU has; the interpreter takes NaN and infinity of 8 bits for numbers."""
    if at.dtype.element_ty == tl.float8e4nv:
        # A float16 with the same bits is this many times smaller.
        half = ((x & 127).to(tl.int16) << 7) | ((x & 128).to(tl.int16) << 8)
        value = half.to(tl.float16, bitcast=True).to(tl.float32) * 256.0
        x = tl.where((x & 127) == 127, float("-inf"), value)
    elif at.dtype.element_ty == tl.float8e5:
        value = (x.to(tl.int16) << 8).to(tl.float16, bitcast=True).to(tl.float32)
        x = tl.where((x & 127) > 124, float("-inf"), value)
    return x


@triton.jit
def read_logit(x):
    """float32; NaN becomes -inf because fmax returns the operand that is a number."""
    return tl.minimum(tl.maximum(x.to(tl.float32), float("-inf")), LARGEST)


@triton.jit
def read_temperature(temperature):
    """0 (greedy) for what is not a normal positive number, NaN among them; at most 2**100, where
    everything finite is as likely as the rest."""
    usable = temperature >= COLDEST
    return tl.where(usable, tl.minimum(temperature, WARMEST), 0.0)


@triton.jit
def read_id(id):
    """int32, which is what chunks are numbered in: half the registers of a 64-bit comparison a
    logit."""
    return tl.minimum(id, 2147483647).to(tl.int32)


@triton.jit
def order_key(x, BITS: tl.constexpr):
    """A uint32 that orders as the float32 does, in the lowest ``BITS`` bits; -0.0 ties with 0.0,
    and 0 is free."""
    x = tl.where(x == 0.0, 0.0, x)
    bits = x.to(tl.int32, bitcast=True)
    flipped = tl.where(bits < 0, ~bits, bits ^ -2147483648)
    return flipped.to(tl.uint32, bitcast=True) >> (32 - BITS)


@triton.jit
def logit_of_key(key, BITS: tl.constexpr):
    """The float32 that a key was made of, if ``BITS`` tell it apart."""
    bits = (key << (32 - BITS)).to(tl.int32, bitcast=True)
    low: tl.constexpr = (1 << (32 - BITS)) - 1
    return tl.where(bits < 0, bits ^ -2147483648, ~(bits | low)).to(tl.float32, bitcast=True)


@triton.jit
def come_before(others, other_ids, x, id):
    """int32 like ``x``: how many of the other tokens come before each, by (logit descending, id
    ascending)."""
    tied = (others[:, None] == x[None, :]) & (other_ids[:, None] < id[None, :])
    return tl.sum(((others[:, None] > x[None, :]) | tied).to(tl.int32), axis=0)


@triton.jit
def is_kept(x, token, cut_logit, cut_id):
    """Whether a token survives the top-k/top-p cut: as good as the last kept token, or better."""
    return (x > cut_logit) | ((x == cut_logit) & (token <= cut_id))


@triton.jit
def read_cut(cut_logit_ptr, cut_id_ptr, at, mask):
    """(logit, id) of the last kept token of the rows ``at``; (-inf, 0), which keeps all, without a
    cut."""
    cut_logit = float("-inf")
    cut_id = tl.full([], 0, tl.int32)
    if cut_logit_ptr is not None:
        cut_logit = read_logit(tl.load(cut_logit_ptr + at, mask=mask, other=0.0))
        cut_id = read_id(tl.load(cut_id_ptr + at, mask=mask, other=0))
    return cut_logit, cut_id


@triton.jit
def uniforms(seed, position, STREAM: tl.constexpr):
    """``_random.uniforms``: two float32 numbers inside (0, 1) for an int64 seed and position."""
    zero = (position * 0).to(tl.uint32)
    low = (position & 0xFFFFFFFF).to(tl.uint32)
    high = ((position >> 32) & 0xFFFFFFFF).to(tl.uint32)
    first, second, _, _ = tl.philox(seed, low, high, zero + STREAM, zero)
    return ((first >> 9).to(tl.float32) + 0.5) * (1.0 / 8388608), (
        (second >> 9).to(tl.float32) + 0.5
    ) * (1.0 / 8388608)


@triton.jit
def pick(mass, uniform, N: tl.constexpr):
    """The first of N entries whose prefix sum passes ``uniform`` times the sum; 0 where there is no
    mass."""
    index = tl.arange(0, N)
    until = tl.cumsum(mass, 0)
    goal = uniform * tl.max(until)
    place = tl.min(tl.where((until > goal) & (mass > 0), index, N))
    # A parallel prefix sum may dip by a rounding; then the last entry with mass is the one meant.
    place = tl.where(place < N, place, tl.max(tl.where(mass > 0, index, 0)))
    return place
