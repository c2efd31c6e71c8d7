"""The second pass of ``logprobs``, one small program a row: the sampled token's logprob and rank
from the chunks' sums, and the k best tokens from the groups' maxima.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .._device import (
    LOG2E,
    ORDER_BITS,
    come_before,
    logit_of_key,
    order_key,
    read_logit,
    wait_for_another,
)
from .._hardware import after_another
from .._launch import Launcher
from .._tile_loads import VECTOR
from .entry import entry_of, read_tokens, sampled_logit
from .search import search_groups, slots

WARPS = 8
REGISTERS = 128  # so that two programs share a multiprocessor; with fewer a search spills
SCORE_WARPS = 1  # without top k
TOGETHER = 64  # tokens that are ordered at a time, and classes of chunks: at least the largest k
ROOM = 128  # groups and tokens that a threshold may let through
ROUND = 32  # picked groups looked into at a time
COUNTS = 4  # words for them in the scratch memory
UNIT = tl.constexpr(
    float(1 << 36)
)  # of a sum of exponentials up to V = 2**26, the largest of which is 1


def merge_chunks_of_rows(
    logits: torch.Tensor,
    arguments: tuple[object, ...],
    passed: tuple[torch.Tensor, torch.Tensor, torch.Tensor],  # what the streaming pass left
    k: int,
    entries: int,
    options: dict[str, object],
    launch: Launcher,
    out: tuple[torch.Tensor, ...] = (),
    *,
    raw: bool = False,
    place: int = 0,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """(logprob, rank, topk_ids, topk_logprobs, logz), in ``out`` if that is given; see
    ``kernels.logprobs.Logprobs``. ``raw``: logits in the place of the top k's logprobs."""
    device = logits.device
    chunks, groups = passed[0].shape[1], passed[2].shape[1]  # no groups without top k
    logprob, rank, topk_ids, topk_logprobs, logz = out or (
        launch.empty(entries, dtype=torch.float32, device=device),
        launch.empty(entries, dtype=torch.int64, device=device),
        launch.empty(entries, k, dtype=torch.int64, device=device),
        launch.empty(entries, k, dtype=torch.float32, device=device),
        launch.empty(entries, dtype=torch.float32, device=device),
    )
    wide = max(TOGETHER, triton.next_power_of_2(chunks))
    scratch = launch.empty(
        entries, COUNTS + wide + 3 * ROOM if k else 0, dtype=torch.int32, device=device
    )
    if entries:
        launch(
            _merge_kernel, entries,
            (
                *arguments, *passed, scratch, logprob, logz, rank, topk_ids, topk_logprobs,
                logits.shape[1], chunks, k,
            ),
            lambda: {
                **options, "CHUNKS": wide, "GROUPS": max(TOGETHER, triton.next_power_of_2(groups)),
                "BITS": ORDER_BITS[logits.dtype], "TOGETHER": TOGETHER, "ROOM": ROOM,
                "ROUND": ROUND, "COUNTS": COUNTS, "TOP": k > 0, "RAW": raw,
                "num_warps": WARPS if k else SCORE_WARPS, "maxnreg": REGISTERS if k else None,
                # A product and a sum in one instruction here and two there would have other bits.
                "enable_fp_fusion": False,
                **after_another(),
            },
            place,
        )  # fmt: skip
    return logprob, rank, topk_ids, topk_logprobs, logz


@triton.jit(
    do_not_specialize=[
        "total", "token_stride", "rows_stride", "temperature_stride", "cut_logit_stride",
        "cut_id_stride",
        "chunks", "k",
    ]
)  # fmt: skip
def _merge_kernel(
    logits_ptr, logits_stride_t, logits_stride_v, total,  # [T, V], T
    token_ptr, token_stride,  # int [R]
    rows_ptr, rows_stride,  # int64 [R]
    temperature_ptr, temperature_stride,  # float32 [R]
    cut_logit_ptr, cut_logit_stride, cut_id_ptr, cut_id_stride,  # float32 [R], int64 [R]
    partial_ptr, at_least_ptr, group_max_ptr,  # [R, chunks, 2], [R, chunks], [R, groups]
    # int32 [R, COUNTS + CHUNKS + 3 * ROOM]: counts, chunks, groups, (id, logit's bits) of tokens
    scratch_ptr,
    # out: [R], [R], [R], [R, k], [R, k]
    logprob_ptr, logz_ptr, rank_ptr, topk_ids_ptr, topk_logprobs_ptr,
    vocab, chunks, k,
    HAS_CUT: tl.constexpr, CHUNK: tl.constexpr, GROUP: tl.constexpr, CHUNKS: tl.constexpr,
    GROUPS: tl.constexpr,
    BITS: tl.constexpr, TOGETHER: tl.constexpr, ROOM: tl.constexpr, ROUND: tl.constexpr,
    COUNTS: tl.constexpr,
    TOP: tl.constexpr, RAW: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    entry = tl.program_id(0).to(tl.int64)
    row, temperature, cut_logit, cut_id = entry_of(
        entry, total, rows_ptr, rows_stride, temperature_ptr, temperature_stride,
        cut_logit_ptr, cut_logit_stride, cut_id_ptr, cut_id_stride,
    )  # fmt: skip
    row_ptr = logits_ptr + row * logits_stride_t
    known = row < row
    sampled = tl.full([], 0.0, tl.float32)
    if token_ptr is not None:
        # These are inputs: they need not wait for the other kernel.
        token = tl.load(token_ptr + entry * token_stride).to(tl.int64)
        token = tl.where(row >= 0, token, -1)
        sampled, known = sampled_logit(
            row_ptr, logits_stride_v, token, vocab, cut_logit, cut_id, HAS_CUT
        )
    wait_for_another(PDL)
    if row < 0:
        store_nothing(
            entry, k, logprob_ptr, logz_ptr, rank_ptr, topk_ids_ptr, topk_logprobs_ptr, TOGETHER
        )
    else:
        tops, totals, at_least = load_chunks(
            entry, chunks, partial_ptr, at_least_ptr, token_ptr is not None, CHUNKS
        )
        if not TOP:
            score(
                entry,
                tops,
                totals,
                at_least,
                sampled,
                known,
                temperature,
                vocab,
                logprob_ptr,
                logz_ptr,
                rank_ptr,
            )
        else:
            counts_at = scratch_ptr + entry * (COUNTS + CHUNKS + 3 * ROOM)
            chunks_at = counts_at + COUNTS
            tokens_at = chunks_at + CHUNKS + ROOM
            tl.store(counts_at + tl.arange(0, COUNTS), tl.zeros([COUNTS], tl.int32))
            row_max_ptr = group_max_ptr + entry * chunks * (CHUNK // GROUP)
            threshold = _threshold(
                tops, chunks, row_max_ptr, k, CHUNK // GROUP, CHUNKS, GROUPS, TOGETHER, BITS
            )
            # At -inf nearly everything ties: a row with fewer finite logits than k, or fewer
            # groups. NaN lets none.
            reach = tops >= tl.where(threshold > float("-inf"), threshold, float("nan"))
            tl.debug_barrier()
            slot = slots(counts_at, reach)
            # While the slots are on their way.
            origin, log_total = score(
                entry,
                tops,
                totals,
                at_least,
                sampled,
                known,
                temperature,
                vocab,
                logprob_ptr,
                logz_ptr,
                rank_ptr,
            )
            tl.store(chunks_at + slot, tl.arange(0, CHUNKS), mask=reach)
            picked = _groups_of_chunks(
                threshold, counts_at, chunks_at, row_max_ptr, CHUNK // GROUP, CHUNKS, ROOM, ROUND
            )
            found = ROOM + 1
            if (picked > 0) & (picked <= ROOM):
                found = _tokens_of_groups(
                    picked, threshold, counts_at + 2, chunks_at + CHUNKS, row_ptr, logits_stride_v,
                    vocab,
                    cut_logit, cut_id, HAS_CUT, CHUNK, GROUP, ROOM, ROUND,
                )  # fmt: skip
            if found > ROOM:
                found = search_groups(
                    k, tops, chunks, counts_at + 3, chunks_at, tokens_at, row_max_ptr, row_ptr,
                    logits_stride_v, vocab, cut_logit, cut_id, HAS_CUT, CHUNK, GROUP, CHUNKS,
                    GROUPS, TOGETHER, BITS,
                )  # fmt: skip
                tl.debug_barrier()
            if RAW:
                origin = origin * 0.0
                log_total = origin
                temperature = 1.0
            order_tokens(
                entry, k, tokens_at, found, origin, temperature, log_total, topk_ids_ptr,
                topk_logprobs_ptr, TOGETHER,
            )  # fmt: skip


@triton.jit
def store_nothing(
    entry, k, logprob_ptr, logz_ptr, rank_ptr, topk_ids_ptr, topk_logprobs_ptr,
    TOGETHER: tl.constexpr,
):  # fmt: skip
    """What an entry without a row is given."""
    place = tl.arange(0, TOGETHER)
    tl.store(logprob_ptr + entry, float("nan"))
    tl.store(logz_ptr + entry, float("nan"))
    tl.store(rank_ptr + entry, 0)
    tl.store(topk_ids_ptr + entry * k + place, tl.full([TOGETHER], -1, tl.int64), mask=place < k)
    tl.store(topk_logprobs_ptr + entry * k + place, float("nan"), mask=place < k)


@triton.jit
def load_chunks(
    entry, chunks, partial_ptr, at_least_ptr, RANKED: tl.constexpr, CHUNKS: tl.constexpr
):
    """(maxima, sums, tokens at least as good as the sampled one) [CHUNKS] of a row's chunks."""
    chunk = tl.arange(0, CHUNKS)
    here = chunk < chunks
    at = entry * chunks + chunk
    tops = tl.load(partial_ptr + at * 2, mask=here, other=float("-inf"))
    totals = tl.load(partial_ptr + at * 2 + 1, mask=here, other=0.0)
    at_least = tl.zeros([CHUNKS], tl.int32)
    if RANKED:
        at_least = tl.load(at_least_ptr + at, mask=here, other=0)
    return tops, totals, at_least


@triton.jit
def order_tokens(
    entry, k, tokens_at, found, origin, temperature, log_total, topk_ids_ptr, topk_logprobs_ptr,
    TOGETHER: tl.constexpr,
):  # fmt: skip
    """Stores the k best of the ``found`` tokens at ``tokens_at``, best first."""
    for start in range(0, found, TOGETHER):
        id, x = _found_tokens(tokens_at, start, found, TOGETHER)
        order = tl.zeros([TOGETHER], tl.int32)
        for other in range(0, found, TOGETHER):
            other_id, other_x = _found_tokens(tokens_at, other, found, TOGETHER)
            order += come_before(other_x, other_id, x, id)
        best_lp = _logprob(x, origin, temperature, log_total)
        wanted = (start + tl.arange(0, TOGETHER) < found) & (order < k)
        tl.store(topk_ids_ptr + entry * k + order, id.to(tl.int64), mask=wanted)
        tl.store(topk_logprobs_ptr + entry * k + order, best_lp, mask=wanted)


@triton.jit
def score(
    entry,
    tops,
    totals,
    at_least,
    sampled,
    known,
    temperature,
    vocab,
    logprob_ptr,
    logz_ptr,
    rank_ptr,
):
    """(origin, log of the sum of exponentials) of a row from its chunks; stores that sum, and the
    sampled token's logprob and rank.
    """
    top = tl.max(tops)
    origin = tl.where(top == float("-inf"), 0.0, top)
    # Added up as integers, exactly: a float sum would depend on how many warps add, and so on k.
    share = totals * tl.exp2((tops - origin) * (LOG2E / temperature)) * UNIT
    total = tl.sum(share.to(tl.int64)).to(tl.float32) / UNIT
    log_total = tl.log(total)  # -inf for a row of -inf
    tl.store(logz_ptr + entry, origin / temperature + log_total)
    rank = tl.sum(at_least).to(tl.int64)
    # At -inf everything ties, the lanes past the vocabulary too, which must not be counted.
    rank = tl.where(sampled == float("-inf"), vocab, rank)
    lp = _logprob(sampled, origin, temperature, log_total)
    tl.store(logprob_ptr + entry, tl.where(known, lp, float("nan")))
    tl.store(rank_ptr + entry, tl.where(known, rank, 0))
    return origin, log_total


@triton.jit
def _logprob(x, origin, temperature, log_total):
    share = (x - origin) / temperature - log_total
    return tl.where(x == float("-inf"), float("-inf"), share)


@triton.jit
def _threshold(
    tops, chunks, row_max_ptr, k,
    PER_CHUNK: tl.constexpr, CHUNKS: tl.constexpr, GROUPS: tl.constexpr, TOGETHER: tl.constexpr,
    BITS: tl.constexpr,
):  # fmt: skip
    """A logit that k tokens reach, and few more: the k-th best of classes of chunks or, where there
    are too few chunks with a finite logit for that, of the groups. Every one of the k best tokens
    reaches it. -inf where fewer than k groups have a finite one.
    """
    threshold = tl.full([], float("-inf"), tl.float32)
    if 2 * k <= chunks:
        fold = tl.max(tl.reshape(tops, [CHUNKS // TOGETHER, TOGETHER]), axis=0)
        place = tl.arange(0, TOGETHER)
        threshold = tl.max(
            tl.where(come_before(fold, place, fold, place) == k - 1, fold, float("-inf"))
        )
    # Few chunks, or few with a finite logit: a mask that leaves neighbours.
    if threshold == float("-inf"):
        group = tl.arange(0, GROUPS)
        best = tl.load(row_max_ptr + group, mask=group // PER_CHUNK < chunks, other=float("-inf"))
        group_key = tl.where(group < chunks * PER_CHUNK, order_key(read_logit(best), BITS), 0)
        key = tl.full([], 0, tl.uint32)
        bit = tl.full([], 1 << (BITS - 1), tl.uint32)
        for _bit in range(BITS):
            enough = tl.sum((group_key >= (key | bit)).to(tl.int32)) >= k
            key = tl.where(enough, key | bit, key)
            bit = bit >> 1
        threshold = tl.where(key > 0, logit_of_key(key, BITS), float("-inf"))
    return threshold


@triton.jit
def _groups_of_chunks(
    threshold, counts_at, chunks_at, row_max_ptr,
    PER_CHUNK: tl.constexpr, CHUNKS: tl.constexpr, ROOM: tl.constexpr, ROUND: tl.constexpr,
):  # fmt: skip
    """Stores those groups of the chunks at ``chunks_at`` that reach the threshold, and says how
    many they are; more than ``ROOM`` where there is no room for all.
    """
    tl.debug_barrier()
    chunks = tl.load(counts_at, volatile=True)
    ties = tl.full([], 0, tl.int32)
    if chunks > ROUND:  # so many are ties as a rule, of which each would ask for a slot
        for start in range(0, chunks, ROUND):
            _group, good = _good_groups(
                threshold, start, chunks, chunks_at, row_max_ptr, PER_CHUNK, ROUND
            )
            ties += tl.sum(tl.sum(good.to(tl.int32), axis=1))
    if ties <= ROOM:
        for start in range(0, chunks, ROUND):
            group, good = _good_groups(
                threshold, start, chunks, chunks_at, row_max_ptr, PER_CHUNK, ROUND
            )
            spot = slots(counts_at + 1, good)
            tl.store(chunks_at + CHUNKS + spot, group, mask=good & (spot < ROOM))
    tl.debug_barrier()
    return tl.maximum(tl.load(counts_at + 1, volatile=True), ties)


@triton.jit
def _good_groups(
    threshold, start, chunks, chunks_at, row_max_ptr, PER_CHUNK: tl.constexpr, ROUND: tl.constexpr
):
    """(groups, whether they reach the threshold) [ROUND, PER_CHUNK] of the chunks that are listed
    from ``start`` on."""
    place = start + tl.arange(0, ROUND)
    chunk = tl.load(chunks_at + place, mask=place < chunks, other=0)
    group = (chunk * PER_CHUNK)[:, None] + tl.arange(0, PER_CHUNK)[None, :]
    there = (place < chunks)[:, None] & (group >= 0)
    best = tl.load(row_max_ptr + group, mask=there, other=float("-inf")).to(tl.float32)
    return group, best >= threshold


@triton.jit
def _tokens_of_groups(
    picked, threshold, count_at, groups_at, row_ptr, logits_stride_v, vocab, cut_logit, cut_id,
    HAS_CUT: tl.constexpr, CHUNK: tl.constexpr, GROUP: tl.constexpr, ROOM: tl.constexpr,
    ROUND: tl.constexpr,
):  # fmt: skip
    """Stores the tokens that reach the threshold, in any order, and says how many they are; more
    than ``ROOM`` where there is no room for all.
    """
    per_chunk: tl.constexpr = CHUNK // GROUP
    vectors: tl.constexpr = GROUP // VECTOR
    for start in range(0, picked, ROUND):
        vector = tl.arange(0, ROUND * vectors)
        place = start + vector // vectors
        one = tl.load(groups_at + place, mask=place < picked, other=0)
        first = one // per_chunk * CHUNK + (vector % vectors * per_chunk + one % per_chunk) * VECTOR
        id = (
            tl.multiple_of(first, VECTOR)[:, None] + tl.arange(0, VECTOR)[None, :]
        )  # [ROUND * vectors, VECTOR]
        there = (place < picked)[:, None] & (id < vocab)
        x = read_tokens(row_ptr, logits_stride_v, id, there, cut_logit, cut_id, HAS_CUT)
        reach = x >= threshold
        slot = slots(count_at, reach)
        fits = reach & (slot < ROOM)
        tl.store(groups_at + ROOM + slot * 2, id, mask=fits)
        tl.store(groups_at + ROOM + slot * 2 + 1, x.to(tl.int32, bitcast=True), mask=fits)
    tl.debug_barrier()
    return tl.load(count_at, volatile=True)


@triton.jit
def _found_tokens(tokens_at, start, found, N: tl.constexpr):
    """(ids, logits) of the found tokens from ``start`` on; past the last, what comes after any
    token."""
    place = start + tl.arange(0, N)
    id = tl.load(tokens_at + place * 2, mask=place < found, other=2147483647)
    x = tl.load(tokens_at + place * 2 + 1, mask=place < found, other=-8388608)
    return id, x.to(tl.float32, bitcast=True)
