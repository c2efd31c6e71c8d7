"""What the stats decide about a request. Every program that needs it computes it again: that costs
less than one more launch.
"""

from __future__ import annotations

import triton
import triton.language as tl

from .._chunk_stats import merge_stats
from .._device import is_kept, load_logits, read_cut, read_logit, uniforms
from .._random import ACCEPT as _ACCEPT
from .request import draft_slot, leading

ACCEPT = tl.constexpr(_ACCEPT)


@triton.jit
def drafted_logits(
    target, draft, b, limit, first_row, drafts, WIDTH: tl.constexpr, COLUMNS: tl.constexpr
):
    """(target's logit, draft model's logit) of each draft [COLUMNS], -inf for what is no token or
    cut; the second is the first for one-hot drafts. Inputs only, so it need not wait for the stats.
    """
    column = tl.arange(0, COLUMNS)
    row = first_row + column
    known = (column < limit) & (drafts >= 0) & (drafts < target[3])
    x = read_logit(load_logits(target[0] + row * target[1] + drafts * target[2], known))
    if target[4] is not None:
        cut_logit, cut_id = read_cut(target[4], target[5], row, known)
        x = tl.where(is_kept(x, drafts, cut_logit, cut_id), x, float("-inf"))
    y = x
    if draft[0] is not None:
        drafted = (column < limit) & (drafts >= 0) & (drafts < draft[4])
        row = draft[0] + draft_slot(draft, b) * draft[1] + column * draft[2]
        at = row + drafts * draft[3]
        y = read_logit(load_logits(at, drafted))
        if draft[5] is not None:
            cut_logit, cut_id = read_cut(draft[5], draft[6], b * (WIDTH - 1) + column, drafted)
            y = tl.where(is_kept(y, drafts, cut_logit, cut_id), y, float("-inf"))
    return x, y


@triton.jit
def _load_stats(partial_ptr, b, slot, used, slots, chunks, CHUNKS: tl.constexpr):
    """(tops, seconds) [S, CHUNKS] of the rows ``slot`` [S] of request ``b``."""
    chunk = tl.arange(0, CHUNKS)
    at = (b * slots + slot[:, None]) * chunks + chunk[None, :]
    mask = used[:, None] & (chunk < chunks)[None, :]
    tops = tl.load(partial_ptr + at * 2, mask=mask, other=float("-inf"))
    seconds = tl.load(partial_ptr + at * 2 + 1, mask=mask, other=0.0)
    return tops, seconds


@triton.jit
def log_mass(x, origin, total, temperature):
    """log of the probability of logits ``x``; -inf without mass."""
    lp = (x - origin) / tl.where(temperature == 0.0, 1.0, temperature) - tl.log(total)
    return tl.where(x == float("-inf"), float("-inf"), lp)


@triton.jit
def judge(
    x, y, b, rows, limit, temperature, drafts, seed, step_idx, vocab, draft, partial_ptr, chunks,
    slots, ACCEPT_ALL: tl.constexpr, WIDTH: tl.constexpr, COLUMNS: tl.constexpr,
    CHUNKS: tl.constexpr,
):  # fmt: skip
    """Position by position [COLUMNS]: (limit, drafts accepted one by one, log of the block weight,
    log-uniform, origin and total of the target rows, of the draft rows, best tokens). ``x`` and
    ``y`` are ``drafted_logits``, ``rows`` how many rows of the target there are.
    """
    column = tl.arange(0, COLUMNS)
    used = (column <= limit) & (column < rows)
    tops, seconds = _load_stats(partial_ptr, b, column, used, slots, chunks, CHUNKS)
    origin, total, best = merge_stats(tops, seconds, temperature)
    log_p = log_mass(x, origin, total, temperature)

    log_q = tl.zeros([COLUMNS], tl.float32)
    draft_origin = tl.zeros([COLUMNS], tl.float32)
    draft_total = tl.zeros([COLUMNS], tl.float32)
    declared = (column < limit) & (drafts >= 0) & (drafts < vocab)
    if draft[0] is not None:
        tops, seconds = _load_stats(
            partial_ptr, b, WIDTH + column, column < limit, slots, chunks, CHUNKS
        )
        scale = tl.where(temperature == 0.0, 1.0, temperature)
        draft_origin, draft_total, _best = merge_stats(tops, seconds, scale)
        drafted = (column < limit) & (drafts >= 0) & (drafts < draft[4])
        log_q = log_mass(y, draft_origin, draft_total, scale)
        if not ACCEPT_ALL:
            # exp, not log_q itself: a mass that float32 rounds to nothing is none.
            declared = drafted & (tl.exp(log_q) > 0)
    limit = leading(declared, limit, COLUMNS)

    uniform, _second = uniforms(seed, step_idx + column, ACCEPT)
    log_uniform = tl.log(uniform)
    log_ratio = tl.where(column < limit, log_p - log_q, 0.0)
    stays = log_uniform < log_ratio
    stays = tl.where(temperature == 0.0, drafts == best, stays)
    if ACCEPT_ALL:
        stays = column >= 0
    accepted = leading(stays, limit, COLUMNS)

    # The block weight min(w * ratio, 1), unrolled: the log of position i is c[i] - max(c[:i+1]), c
    # the prefix sums.
    earlier = column[None, :] < column[:, None]
    until = tl.sum(tl.where(earlier, log_ratio[None, :], 0.0), axis=1)
    upto = column[None, :] <= column[:, None]
    highest = tl.max(tl.where(upto, until[None, :], float("-inf")), axis=1)
    return (
        limit, accepted, until - highest, log_uniform,
        origin, total, draft_origin, draft_total, best,
    )  # fmt: skip


@triton.jit
def standing_blocks(limit, log_weight, log_uniform, COLUMNS: tl.constexpr):
    """bool [COLUMNS]: whether the block of i drafts stands as far as its weight says. That of
    ``limit`` drafts does then; a shorter one stands with a smaller chance than its weight, by its
    residual's mass.
    """
    column = tl.arange(0, COLUMNS)
    # The uniform of position i - 1 judges the block of i drafts.
    before = column[None, :] == column[:, None] - 1
    judged_by = tl.sum(tl.where(before, log_uniform[None, :], 0.0), axis=1)
    return (column >= 1) & (column <= limit) & (judged_by < log_weight)


@triton.jit
def block_needs(limit, log_weight, log_uniform, COLUMNS: tl.constexpr):
    """bool [COLUMNS]: the rows whose residual decides something, or may be drawn from. None if all
    drafts stand, else that of every block that may stand, and the first, which is drawn from if
    none does.
    """
    column = tl.arange(0, COLUMNS)
    may = standing_blocks(limit, log_weight, log_uniform, COLUMNS)
    whole = tl.max((may & (column == limit)).to(tl.int32)) > 0
    return (may | (column == 0)) & (column < limit) & (column >= tl.where(whole, limit, 0))
