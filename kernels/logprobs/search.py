"""The k best tokens of a row from all of its groups' maxima: for rows of long ties, or whose best
tokens are neighbours.

Fewer than k groups have a max above the k-th best max. What is above it lies in these, and the rest
of the k best are ties with it, of which the first in the order of ids are taken.
"""

from __future__ import annotations

import triton
import triton.language as tl

from .._device import order_key, read_logit
from .._tile_loads import VECTOR
from .entry import read_tokens


@triton.jit
def slots(count_ptr, chosen):
    """A slot of its own for each chosen element, counted at ``count_ptr``.

    Their order is left open: what is stored there is ordered later.
    """
    # An address that looks different in each lane: for one that does not the compiler adds up whole
    # warps first, in twenty instructions an element, of which nearly none is chosen.
    return tl.atomic_add(
        count_ptr + tl.where(chosen, 0, 1), 1, mask=chosen, sem="relaxed", scope="cta"
    )


@triton.jit
def search_groups(
    k, tops, chunks, count_at, groups_at, tokens_at, row_max_ptr, row_ptr, logits_stride_v, vocab,
    cut_logit, cut_id,
    HAS_CUT: tl.constexpr, CHUNK: tl.constexpr, GROUP: tl.constexpr, CHUNKS: tl.constexpr,
    GROUPS: tl.constexpr, TOGETHER: tl.constexpr, BITS: tl.constexpr,
):  # fmt: skip
    """Stores exactly the k best tokens, in any order, and returns k, at most TOGETHER."""
    per_chunk: tl.constexpr = CHUNK // GROUP
    group = tl.arange(0, GROUPS)
    there = group < chunks * per_chunk
    best = tl.load(row_max_ptr + group, mask=there, other=float("-inf"))
    group_key = tl.where(there, order_key(read_logit(best), BITS), 0)
    nothing = order_key(tl.full([], float("-inf"), tl.float32), BITS)
    threshold = tl.maximum(_kth_key(group_key, k, BITS), nothing)
    tl.debug_barrier()
    tl.store(count_at, 0)
    tl.debug_barrier()
    better = group_key > threshold
    tl.store(groups_at + slots(count_at, better), group, mask=better)
    tl.debug_barrier()
    picked = tl.load(count_at, volatile=True)

    above = tl.full([], 0, tl.int32)
    tl.debug_barrier()
    tl.store(count_at, 0)
    tl.debug_barrier()
    if picked > 0:  # else all ties, from the best token on
        above = _store_better(
            k, picked, threshold, count_at, groups_at, tokens_at, row_ptr, logits_stride_v, vocab,
            cut_logit, cut_id, HAS_CUT, CHUNK, GROUP, TOGETHER, BITS,
        )  # fmt: skip
    # The ties that are still wanted, chunk by chunk in the order of ids.
    found = tl.minimum(above, k)
    top_key = order_key(tops, BITS)
    place = tl.arange(0, CHUNKS)
    chunk = tl.min(tl.where((top_key >= threshold) & (place < chunks), place, CHUNKS))
    while (found < k) & (chunk < chunks):
        token = chunk * CHUNK + tl.arange(0, CHUNK)
        here = token < vocab
        tile = read_tokens(row_ptr, logits_stride_v, token, here, cut_logit, cut_id, HAS_CUT)
        tied = (here & (order_key(tile, BITS) == threshold)).to(tl.int32)
        number = tl.cumsum(tied, 0)
        left = k - found
        _store_tokens(tokens_at, found + number - 1, token, tile, (tied > 0) & (number <= left))
        found += tl.minimum(tl.sum(tied), left)
        reach = (top_key >= threshold) & (place > chunk) & (place < chunks)
        chunk = tl.min(tl.where(reach, place, CHUNKS))
    return k


@triton.jit
def _store_better(
    k, picked, threshold, count_at, groups_at, tokens_at, row_ptr, logits_stride_v, vocab,
    cut_logit, cut_id,
    HAS_CUT: tl.constexpr, CHUNK: tl.constexpr, GROUP: tl.constexpr, TOGETHER: tl.constexpr,
    BITS: tl.constexpr,
):  # fmt: skip
    """Stores the tokens above the threshold, the k best if they are more, and returns how many
    there are. All of them lie in the picked groups, which are looked into at once.
    """
    per_chunk: tl.constexpr = CHUNK // GROUP
    place = tl.arange(0, TOGETHER * GROUP)
    one = tl.load(groups_at + place // GROUP, mask=place // GROUP < picked, other=0)
    vector = place % GROUP // VECTOR
    id = one // per_chunk * CHUNK + (vector * per_chunk + one % per_chunk) * VECTOR + place % VECTOR
    listed = (place // GROUP < picked) & (id < vocab)
    x = read_tokens(row_ptr, logits_stride_v, id, listed, cut_logit, cut_id, HAS_CUT)
    key = tl.where(listed, order_key(x, BITS), 0)
    above = tl.sum((key > threshold).to(tl.int32))
    if above >= k:
        last = _kth_key(key, k, BITS)
        room = k - tl.sum((key > last).to(tl.int32))
        chosen = (key > last) | ((key == last) & (id <= _nth_id(id, key == last, room)))
    else:
        chosen = key > threshold
    _store_tokens(tokens_at, slots(count_at, chosen), id, x, chosen)
    return above


@triton.jit
def _store_tokens(tokens_at, slot, id, x, chosen):
    tl.store(tokens_at + slot * 2, id, mask=chosen)
    tl.store(tokens_at + slot * 2 + 1, x.to(tl.int32, bitcast=True), mask=chosen)


@triton.jit
def _kth_key(key, k, BITS: tl.constexpr):
    """The k-th largest key; 0 where there are fewer that are not 0."""
    found = tl.full([], 0, tl.uint32)
    bit = tl.full([], 1 << (BITS - 1), tl.uint32)
    for _bit in range(BITS):
        enough = tl.sum((key >= (found | bit)).to(tl.int32)) >= k
        found = tl.where(enough, found | bit, found)
        bit = bit >> 1
    return found


@triton.jit
def _nth_id(id, tied, n):
    """The n-th smallest of the tied ids."""
    # The largest number that fewer than n of them are below.
    found = tl.full([], 0, tl.int32)
    bit = tl.full([], 1 << 30, tl.int32)
    for _bit in range(31):
        below = tl.sum((tied & (id < (found | bit))).to(tl.int32))
        found = tl.where(below < n, found | bit, found)
        bit = bit >> 1
    return found
