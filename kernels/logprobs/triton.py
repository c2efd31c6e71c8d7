"""``logprobs`` on a GPU: one streaming pass over the rows, then one small program per row.

The first kernel reads a chunk of a row once (2 bytes a bf16 logit; nothing else of size V moves) and leaves its
max, sum of exponentials and rank count, and the max of each group of 64 neighbours. The k best tokens lie in the
k best groups, if groups are ordered by (max descending, position ascending): a token in another group has k
tokens of other groups before it. So the second kernel picks k groups out of V/64 maxima, reads those 64*k logits
again, and orders k of them. Its cost does not depend on the logits, and adversarial ties change nothing.

Chunks and groups depend on V alone, so a row's sums have the same order whatever the batch around it.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .._device import (
    LOG2E,
    ORDER_BITS,
    chunks_per_program,
    is_kept,
    load_raw,
    order_among,
    order_key,
    read_id,
    read_logit,
    select_at_least,
    sum_exponentials,
    widen,
)

CHUNK = 8192
GROUP = 64
MAX_K = 64
CHUNK_WARPS = 4
MERGE_WARPS = 4
ROUND = 32  # picked groups looked into at a time


def logprobs_triton(
    logits: torch.Tensor,
    token_ids: torch.Tensor | None,
    k: int,
    rows: torch.Tensor | None,
    temperature: torch.Tensor | None,
    cut_logit: torch.Tensor | None,
    cut_id: torch.Tensor | None,
    *,
    chunk: int = CHUNK,
    group: int = GROUP,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """See ``kernels.logprobs.logprobs``; ``chunk`` and ``group`` are smaller in tests only."""
    vocab, device = logits.shape[1], logits.device
    entries = logits.shape[0] if token_ids is None else token_ids.shape[0]
    logprob = torch.empty(2, entries, dtype=torch.float32, device=device)
    rank = torch.empty(entries, dtype=torch.int64, device=device)
    topk_ids = torch.empty(entries, k, dtype=torch.int64, device=device)
    topk_logprobs = torch.empty(entries, k, dtype=torch.float32, device=device)
    if entries == 0:
        return logprob[0], rank, topk_ids, topk_logprobs, logprob[1]

    chunks = triton.cdiv(vocab, chunk)
    groups = chunks * (chunk // group)
    partial = torch.empty(entries, chunks, 2, dtype=torch.float32, device=device)
    at_least = torch.empty(entries, chunks, dtype=torch.int32, device=device)
    group_max = torch.empty(entries, groups if k else 0, dtype=logits.dtype, device=device)
    picked = torch.empty(entries, MAX_K if k else 0, 3, dtype=torch.int32, device=device)
    arguments = (
        logits, logits.stride(0), logits.stride(1),
        *_with_stride(token_ids), *_with_stride(rows), *_with_stride(temperature),
        *_with_stride(cut_logit), *_with_stride(cut_id),
    )  # fmt: skip
    options = {"HAS_CUT": cut_logit is not None, "CHUNK": chunk, "GROUP": group}
    per_program = chunks_per_program(entries, chunks)
    _chunk_kernel[(entries * triton.cdiv(chunks, per_program),)](
        *arguments, partial, at_least, group_max, vocab, chunks, per_program, k,
        **options, num_warps=CHUNK_WARPS,
    )  # fmt: skip
    _merge_kernel[(entries,)](
        *arguments, partial, at_least, group_max, picked,
        logprob, rank, topk_ids, topk_logprobs, entries, vocab, chunks, k,
        **options, CHUNKS=triton.next_power_of_2(chunks), GROUPS=max(MAX_K, triton.next_power_of_2(groups)),
        BITS=ORDER_BITS[logits.dtype], BEST=MAX_K, ROUND=ROUND, num_warps=MERGE_WARPS,
    )  # fmt: skip
    return logprob[0], rank, topk_ids, topk_logprobs, logprob[1]


def _with_stride(vector: torch.Tensor | None) -> tuple[torch.Tensor | None, int]:
    """An absent argument stays None, which Triton compiles away."""
    return (None, 0) if vector is None else (vector, vector.stride(0))


@triton.jit
def _entry(
    entry, rows_ptr, rows_stride, temperature_ptr, temperature_stride,
    cut_logit_ptr, cut_logit_stride, cut_id_ptr, cut_id_stride,
):  # fmt: skip
    """Row of the logits (-1 for none), temperature, and the last kept token of one entry."""
    row = entry
    if rows_ptr is not None:
        row = tl.load(rows_ptr + entry * rows_stride)
    temperature = 1.0
    if temperature_ptr is not None:
        temperature = tl.load(temperature_ptr + entry * temperature_stride)
        temperature = tl.where(temperature == 0.0, 1.0, temperature)
    cut_logit = float("-inf")
    cut_id = tl.full([], 0, tl.int32)
    if cut_logit_ptr is not None:
        cut_logit = read_logit(tl.load(cut_logit_ptr + entry * cut_logit_stride))
        cut_id = read_id(tl.load(cut_id_ptr + entry * cut_id_stride))
    return row, temperature, cut_logit, cut_id


@triton.jit
def _sampled_logit(row_ptr, logits_stride_v, token, vocab, cut_logit, cut_id, HAS_CUT: tl.constexpr):
    known = (token >= 0) & (token < vocab)
    x = tl.load(row_ptr + token * logits_stride_v, mask=known, other=float("-inf"))
    x = read_logit(x)
    if HAS_CUT:
        x = tl.where(is_kept(x, token, cut_logit, cut_id), x, float("-inf"))
    return x, known


@triton.jit(
    do_not_specialize=[
        "token_stride", "rows_stride", "temperature_stride", "cut_logit_stride", "cut_id_stride",
        "chunks", "per_program", "k",
    ]
)  # fmt: skip
def _chunk_kernel(
    logits_ptr, logits_stride_t, logits_stride_v,  # [T, V]
    token_ptr, token_stride,  # int [R]
    rows_ptr, rows_stride,  # int64 [R]
    temperature_ptr, temperature_stride,  # float32 [R]
    cut_logit_ptr, cut_logit_stride, cut_id_ptr, cut_id_stride,  # float32 [R], int64 [R]
    partial_ptr, at_least_ptr, group_max_ptr,  # out: [R, chunks, 2], [R, chunks], [R, groups]
    vocab, chunks, per_program, k,
    HAS_CUT: tl.constexpr, CHUNK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    programs = tl.cdiv(chunks, per_program)  # of one row
    entry = (program // programs).to(tl.int64)
    first = (program % programs) * per_program
    row, temperature, cut_logit, cut_id = _entry(
        entry, rows_ptr, rows_stride, temperature_ptr, temperature_stride,
        cut_logit_ptr, cut_logit_stride, cut_id_ptr, cut_id_stride,
    )  # fmt: skip
    if row >= 0:
        row_ptr = logits_ptr + row * logits_stride_t
        end = tl.minimum(first + per_program, chunks)
        ahead = load_raw(row_ptr, logits_stride_v, first, end, vocab, CHUNK)
        if token_ptr is not None:
            token = tl.load(token_ptr + entry * token_stride).to(tl.int64)
            sampled, _known = _sampled_logit(row_ptr, logits_stride_v, token, vocab, cut_logit, cut_id, HAS_CUT)
        for chunk in range(first, end):
            raw = ahead
            ahead = load_raw(row_ptr, logits_stride_v, chunk + 1, end, vocab, CHUNK)
            x, _id = widen(raw, chunk, cut_logit, cut_id, HAS_CUT, CHUNK)
            at = entry * chunks + chunk
            best = tl.max(tl.reshape(x, [CHUNK // GROUP, GROUP]), axis=1)
            if k > 0:
                # A max is one of its inputs, so the logits' own type holds it exactly.
                group = tl.arange(0, CHUNK // GROUP)
                tl.store(
                    group_max_ptr + at * (CHUNK // GROUP) + group,
                    best.to(group_max_ptr.dtype.element_ty),
                )
            top, total = sum_exponentials(x, tl.max(best), LOG2E / temperature)
            tl.store(partial_ptr + at * 2, top)
            tl.store(partial_ptr + at * 2 + 1, total)
            if token_ptr is not None:
                tl.store(at_least_ptr + at, tl.sum((x >= sampled).to(tl.int32)))


@triton.jit(
    do_not_specialize=[
        "token_stride", "rows_stride", "temperature_stride", "cut_logit_stride", "cut_id_stride",
        "entries", "chunks", "k",
    ]
)  # fmt: skip
def _merge_kernel(
    logits_ptr, logits_stride_t, logits_stride_v,  # [T, V]
    token_ptr, token_stride,  # int [R]
    rows_ptr, rows_stride,  # int64 [R]
    temperature_ptr, temperature_stride,  # float32 [R]
    cut_logit_ptr, cut_logit_stride, cut_id_ptr, cut_id_stride,  # float32 [R], int64 [R]
    partial_ptr, at_least_ptr, group_max_ptr,  # [R, chunks, 2], [R, chunks], [R, groups]
    picked_ptr,  # scratch int32 [R, 3, BEST]: groups, then (id, logit's bits) of tokens
    logprob_ptr, rank_ptr, topk_ids_ptr, topk_logprobs_ptr,  # out: [2, R], [R], [R, k], [R, k]
    entries, vocab, chunks, k,
    HAS_CUT: tl.constexpr, CHUNK: tl.constexpr, GROUP: tl.constexpr, CHUNKS: tl.constexpr, GROUPS: tl.constexpr,
    BITS: tl.constexpr, BEST: tl.constexpr, ROUND: tl.constexpr,
):  # fmt: skip
    entry = tl.program_id(0).to(tl.int64)
    row, temperature, cut_logit, cut_id = _entry(
        entry, rows_ptr, rows_stride, temperature_ptr, temperature_stride,
        cut_logit_ptr, cut_logit_stride, cut_id_ptr, cut_id_stride,
    )  # fmt: skip
    place = tl.arange(0, BEST)
    if row < 0:
        tl.store(logprob_ptr + entry, float("nan"))
        tl.store(logprob_ptr + entries + entry, float("nan"))
        tl.store(rank_ptr + entry, 0)
        tl.store(topk_ids_ptr + entry * k + place, tl.full([BEST], -1, tl.int64), mask=place < k)
        tl.store(topk_logprobs_ptr + entry * k + place, float("nan"), mask=place < k)
    else:
        row_ptr = logits_ptr + row * logits_stride_t
        chunk = tl.arange(0, CHUNKS)
        here = chunk < chunks
        at = entry * chunks + chunk
        tops = tl.load(partial_ptr + at * 2, mask=here, other=float("-inf"))
        totals = tl.load(partial_ptr + at * 2 + 1, mask=here, other=0.0)
        top = tl.max(tops)
        origin = tl.where(top == float("-inf"), 0.0, top)
        total = tl.sum(totals * tl.exp2((tops - origin) * (LOG2E / temperature)))
        log_total = tl.log(total)  # -inf for a row of -inf

        tl.store(logprob_ptr + entries + entry, origin / temperature + log_total)
        if token_ptr is not None:
            token = tl.load(token_ptr + entry * token_stride).to(tl.int64)
            sampled, known = _sampled_logit(row_ptr, logits_stride_v, token, vocab, cut_logit, cut_id, HAS_CUT)
            rank = tl.sum(tl.load(at_least_ptr + at, mask=here, other=0)).to(tl.int64)
            # At -inf everything ties, the lanes past the vocabulary too, which must not be counted.
            rank = tl.where(sampled == float("-inf"), vocab, rank)
            lp = tl.where(sampled == float("-inf"), float("-inf"), (sampled - origin) / temperature - log_total)
            tl.store(logprob_ptr + entry, tl.where(known, lp, float("nan")))
            tl.store(rank_ptr + entry, tl.where(known, rank, 0))
        else:
            tl.store(logprob_ptr + entry, float("nan"))
            tl.store(rank_ptr + entry, 0)

        if k > 0:
            group = tl.arange(0, GROUPS)
            groups = chunks * (CHUNK // GROUP)
            best = tl.load(group_max_ptr + entry * groups + group, mask=group < groups, other=float("-inf"))
            key = tl.where(group < groups, order_key(read_logit(best), BITS), 0)
            # Fold the groups into 64 classes: k classes reach the k-th best class, so k groups and k tokens do too.
            fold = tl.max(tl.reshape(key, [GROUPS // BEST, BEST]), axis=0)
            threshold = tl.max(tl.where(order_among(fold, BEST) == k - 1, fold, 0))
            chosen, slot, picked = select_at_least(key, group < groups, threshold, tl.minimum(k, groups), BEST, BITS)
            groups_at = picked_ptr + entry * BEST * 3
            tokens_at = groups_at + BEST
            tl.store(groups_at + slot, group, mask=chosen)
            tl.debug_barrier()

            # The tokens of those groups that reach the threshold, by id: few more than k of them.
            found = 0
            for start in range(0, picked, ROUND):
                x, id, there = _picked_tokens(
                    groups_at, start, picked, row_ptr, logits_stride_v, vocab, cut_logit, cut_id,
                    HAS_CUT, GROUP, ROUND,
                )  # fmt: skip
                reach = (there & (order_key(x, BITS) >= threshold)).to(tl.int32)
                spot = found + tl.cumsum(reach, 0) - 1
                room = (reach > 0) & (spot < BEST)
                tl.store(tokens_at + spot * 2, id, mask=room)
                tl.store(tokens_at + spot * 2 + 1, x.to(tl.int32, bitcast=True), mask=room)
                found += tl.sum(reach)
            if found > BEST:
                _exactly_k(
                    groups_at, tokens_at, picked, k, row_ptr, logits_stride_v, vocab,
                    cut_logit, cut_id, HAS_CUT, GROUP, ROUND, BITS,
                )  # fmt: skip
                found = k
            tl.debug_barrier()

            id = tl.load(tokens_at + place * 2, mask=place < found, other=0)  # [BEST], by id
            x = tl.load(tokens_at + place * 2 + 1, mask=place < found, other=0)
            x = x.to(tl.float32, bitcast=True)
            key = tl.where(place < found, order_key(x, BITS), 0)
            order = order_among(key, BEST)
            best_lp = tl.where(x == float("-inf"), float("-inf"), (x - origin) / temperature - log_total)
            wanted = (place < found) & (order < k)
            tl.store(topk_ids_ptr + entry * k + order, id.to(tl.int64), mask=wanted)
            tl.store(topk_logprobs_ptr + entry * k + order, best_lp, mask=wanted)


@triton.jit
def _picked_tokens(
    groups_at, start, picked, row_ptr, logits_stride_v, vocab, cut_logit, cut_id,
    HAS_CUT: tl.constexpr, GROUP: tl.constexpr, ROUND: tl.constexpr,
):  # fmt: skip
    """(logits, ids, is a token) of ``ROUND`` picked groups, flattened: groups come by position, places order as ids."""
    place = start + tl.arange(0, ROUND)
    group = tl.load(groups_at + place, mask=place < picked, other=0)
    id = group[:, None] * GROUP + tl.arange(0, GROUP)[None, :]  # [ROUND, GROUP]
    there = (place < picked)[:, None] & (id < vocab)
    x = tl.load(row_ptr + id.to(tl.int64) * logits_stride_v, mask=there, other=float("-inf"))
    x = read_logit(x)
    if HAS_CUT:
        x = tl.where(is_kept(x, id, cut_logit, cut_id), x, float("-inf"))
    size: tl.constexpr = ROUND * GROUP
    return tl.reshape(x, [size]), tl.reshape(id, [size]), tl.reshape(there, [size])


@triton.jit
def _exactly_k(
    groups_at, tokens_at, picked, k, row_ptr, logits_stride_v, vocab, cut_logit, cut_id,
    HAS_CUT: tl.constexpr, GROUP: tl.constexpr, ROUND: tl.constexpr, BITS: tl.constexpr,
):  # fmt: skip
    """Stores the k best tokens of the picked groups, by id, when a threshold let too many through: long ties,
    or the best tokens side by side.
    """
    threshold = tl.full([], 0, tl.uint32)
    bit = tl.full([], 1 << (BITS - 1), tl.uint32)
    above = 0
    for _bit in range(BITS):
        higher = threshold | bit
        count = 0
        for start in range(0, picked, ROUND):
            x, id, there = _picked_tokens(
                groups_at, start, picked, row_ptr, logits_stride_v, vocab, cut_logit, cut_id,
                HAS_CUT, GROUP, ROUND,
            )  # fmt: skip
            count += tl.sum((there & (order_key(x, BITS) >= higher)).to(tl.int32))
        threshold = tl.where(count >= k, higher, threshold)
        # The last count that was too small is that of the keys above the final threshold.
        above = tl.where(count >= k, above, count)
        bit = bit >> 1

    room = k - above
    tied_before = 0
    chosen_before = 0
    for start in range(0, picked, ROUND):
        x, id, there = _picked_tokens(
            groups_at, start, picked, row_ptr, logits_stride_v, vocab, cut_logit, cut_id,
            HAS_CUT, GROUP, ROUND,
        )  # fmt: skip
        key = order_key(x, BITS)
        tied = (there & (key == threshold)).to(tl.int32)
        number = tied_before + tl.cumsum(tied, 0)
        chosen = (there & (key > threshold)) | ((tied > 0) & (number <= room))
        slot = chosen_before + tl.cumsum(chosen.to(tl.int32), 0) - 1
        tl.store(tokens_at + slot * 2, id, mask=chosen)
        tl.store(tokens_at + slot * 2 + 1, x.to(tl.int32, bitcast=True), mask=chosen)
        tied_before += tl.sum(tied)
        chosen_before += tl.sum(chosen.to(tl.int32))
