"""What a row asks for."""

from __future__ import annotations

import triton
import triton.language as tl

from .._device import read_temperature


@triton.jit
def read_limits(row, limits, vocab):
    """(temperature, k, top_p) of a row as the law reads them: k is ``vocab`` and top_p 1 where they
    are off, and a greedy row has k = 1 at temperature 1. ``limits`` are pointers: temperature,
    top_k or None, top_p or None.
    """
    temperature_ptr, top_k_ptr, top_p_ptr = limits
    temperature = read_temperature(tl.load(temperature_ptr + row))
    greedy = temperature == 0.0
    k = tl.full([], 0, tl.int32) + vocab
    if top_k_ptr is not None:
        asked = tl.load(top_k_ptr + row)
        k = tl.where((asked > 0) & (asked < vocab), asked, vocab).to(tl.int32)
    top_p = 1.0
    if top_p_ptr is not None:
        asked_p = tl.load(top_p_ptr + row)
        top_p = tl.where(asked_p < 1.0, tl.maximum(asked_p, 0.0), 1.0)  # NaN: off
    return tl.where(greedy, 1.0, temperature), tl.where(greedy, 1, k), tl.where(greedy, 1.0, top_p)


@triton.jit
def cut_by_min_p(row, min_p_ptr, limits, vocab, top, cut_logit, cut_id):
    """The cut of a row whose largest logit is ``top``, or where ``min_p`` times the best token's
    probability lies if that is above it.
    """
    temperature, _k, _top_p = read_limits(row, limits, vocab)
    min_p = tl.load(min_p_ptr + row)
    limited = (min_p > 0.0) & (top > float("-inf"))  # NaN: off
    part = tl.where(limited, tl.minimum(min_p, 1.0), 1.0)
    floor = top + temperature * tl.log(part)
    stricter = limited & (floor > cut_logit)
    return tl.where(stricter, floor, cut_logit), tl.where(stricter, vocab - 1, cut_id)


@triton.jit
def ends_by_mass(k, top_p, vocab):
    """Whether top-p alone ends the row's set; else top-k does, or nothing."""
    return (k == vocab) & (top_p < 1.0)
