"""Which token of a row is its set's last one.

A row falls into five parts, best tokens first: those above the bracket's high logit, those that
have it, the candidates in between, those that have the low logit, and the rest. Counts and masses
say in which part the set ends; what follows looks into that part alone.
"""

from __future__ import annotations

import triton
import triton.language as tl

from .._device import LOG2E, is_kept, read_logit
from .among import LAST_ID, UNIT, fixed_mass, last_reaching, load_candidates
from .bracket import whole_of

FAILED = tl.constexpr(0)  # the set ends outside of the bracket
HIGH = tl.constexpr(1)
AMONG = tl.constexpr(2)
LOW = tl.constexpr(3)


@triton.jit
def end_of_row(
    row, k, top_p, few, vocab, temperature, low, high, held, listed_ptr, ties_high, ties_low, above,
    partial_ptr, chunks,
    BITS: tl.constexpr, CHUNKS: tl.constexpr, SIZE: tl.constexpr,
):  # fmt: skip
    """(part, logit, id, how many tokens of a part of ties, max of the row). Logit and id are still
    to be looked for where the set ends in ties. There are at most SIZE candidates.
    """
    count_above, top_above, total_above = above
    n_above = tl.sum(count_above)
    n_high = tl.sum(ties_high)
    n_low = tl.sum(ties_low)
    scale = LOG2E / temperature
    id, x = load_candidates(listed_ptr, held, SIZE)
    top = tl.maximum(tl.max(top_above), tl.maximum(tl.max(x), low))
    top = tl.where(n_high > 0, tl.maximum(top, high), top)
    origin = tl.where(top == float("-inf"), 0.0, top)
    weight = fixed_mass(x, origin, scale)

    logit = tl.full([], float("-inf"), tl.float32)
    last = tl.full([], 0, tl.int32)
    part, wanted = _part_of(k, n_above, n_high, held, n_low)
    unlimited = (k == vocab) & (top_p >= 1.0)
    part = tl.where(unlimited, HIGH, part)
    wanted = tl.where(unlimited, n_high, wanted)
    kept_high = n_high
    kept_low = n_low
    if k < vocab:
        if part == AMONG:
            one = (id < LAST_ID).to(tl.int32)
            logit, last = last_reaching(id, x, one, wanted, BITS)
            weight = tl.where(is_kept(x, id, logit, last), weight, 0)
        kept_high = tl.where(part == HIGH, wanted, n_high)
        kept_low = tl.where(part == LOW, wanted, 0)
        weight = tl.where(part == HIGH, 0, weight)
    if partial_ptr is not None:
        if top_p < 1.0:
            each_high = tl.where(n_high > 0, fixed_mass(high, origin, scale), 0)
            each_low = fixed_mass(low, origin, scale)
            mass_above = total_above * tl.exp2((top_above - origin) * scale) * UNIT
            mass_above = tl.sum(tl.where(total_above > 0.0, mass_above, 0.0).to(tl.int64))
            mass_high = kept_high * each_high
            mass_among = tl.sum(weight)
            mass_low = kept_low * each_low
            total = mass_above + mass_high + mass_among + mass_low
            if k == vocab:
                _top, whole = whole_of(row, temperature, partial_ptr, chunks, CHUNKS)
                goal = (top_p * whole * UNIT).to(tl.int64)
                # Two sums of the same masses may differ by a rounding.
                goal = tl.where(low == float("-inf"), tl.minimum(goal, total), goal)
            else:
                goal = tl.minimum((top_p * total.to(tl.float32)).to(tl.int64), total)
            goal = tl.maximum(goal, 1)
            settled = part > FAILED
            part, short = _part_of(goal, mass_above, mass_high, mass_among, mass_low)
            if part == AMONG:
                logit, last = last_reaching(id, x, weight, short, BITS)
            each = tl.where(part == HIGH, each_high, each_low)
            wanted = ((short + each - 1) // tl.maximum(each, 1)).to(tl.int32)
            # Nothing is finite: the first token, without a pass over the row.
            nothing = (total == 0) & (low == float("-inf"))
            part = tl.where(nothing, AMONG, part)
            logit = tl.where(nothing, float("-inf"), logit)
            last = tl.where(nothing, 0, last)
            # A large top-k left more than the candidates tell of, or none was found.
            part = tl.where((k < vocab) & ((k > few) | ~settled), FAILED, part)
    return part, logit, last, wanted, top


@triton.jit
def nth_tie(
    row_ptr, stride, vocab, logit, ties, wanted, CHUNK: tl.constexpr, CHUNKS: tl.constexpr
):  # fmt: skip
    """int32: the id of the ``wanted``-th token with this logit; ``ties`` counts them by chunk."""
    until = tl.cumsum(ties, 0)
    place = tl.arange(0, CHUNKS)
    chunk = tl.min(tl.where(until >= wanted, place, CHUNKS - 1))
    before = tl.sum(tl.where(place < chunk, ties, 0))
    token = chunk * CHUNK + tl.arange(0, CHUNK)
    x = tl.load(row_ptr + token.to(tl.int64) * stride, mask=token < vocab, other=float("-inf"))
    tied = ((read_logit(x) == logit) & (token < vocab)).to(tl.int32)
    number = before + tl.cumsum(tied, 0)
    return tl.max(tl.where((tied > 0) & (number == wanted), token, 0))


@triton.jit
def _part_of(goal, above, high, among, low):
    """(the part in which prefix sums over the parts reach ``goal``, how much of it that takes)."""
    until_high = above + high
    until_among = until_high + among
    part = tl.where(goal <= until_high, HIGH, tl.where(goal <= until_among, AMONG, LOW))
    part = tl.where((goal <= above) | (goal > until_among + low), FAILED, part)
    before = tl.where(goal <= until_high, above, until_high)
    before = tl.where(goal > until_among, until_among, before)
    return part, goal - before
