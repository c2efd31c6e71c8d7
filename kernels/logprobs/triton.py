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

from .._device import LOG2E, ORDER_BITS, is_kept, order_key, read_id, read_logit, select_best

CHUNK = 8192
GROUP = 64
MAX_K = 64


def logprobs_triton(
    logits: torch.Tensor,
    token_ids: torch.Tensor,
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
    entries = token_ids.shape[0]
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
    picked = torch.empty(entries, MAX_K if k else 0, 2, dtype=torch.int32, device=device)
    none = logits  # an absent argument needs a pointer that is never read
    per_entry = (
        rows if rows is not None else none, rows.stride(0) if rows is not None else 0,
        temperature if temperature is not None else none,
        temperature.stride(0) if temperature is not None else 0,
        cut_logit if cut_logit is not None else none,
        cut_logit.stride(0) if cut_logit is not None else 0,
        cut_id if cut_id is not None else none, cut_id.stride(0) if cut_id is not None else 0,
    )  # fmt: skip
    options = {
        "HAS_ROWS": rows is not None,
        "HAS_TEMPERATURE": temperature is not None,
        "HAS_CUT": cut_logit is not None,
        "CHUNK": chunk,
        "GROUP": group,
    }
    _chunk_kernel[(entries * chunks,)](
        logits, logits.stride(0), logits.stride(1), token_ids, token_ids.stride(0), *per_entry,
        partial, at_least, group_max, vocab, chunks, k,
        **options, num_warps=4,
    )  # fmt: skip
    _merge_kernel[(entries,)](
        logits, logits.stride(0), logits.stride(1), token_ids, token_ids.stride(0), *per_entry,
        partial, at_least, group_max, picked,
        logprob, rank, topk_ids, topk_logprobs, entries, vocab, chunks, k,
        **options, CHUNKS=triton.next_power_of_2(chunks), GROUPS=triton.next_power_of_2(groups),
        BITS=ORDER_BITS[logits.dtype], BEST=MAX_K, num_warps=8,
    )  # fmt: skip
    return logprob[0], rank, topk_ids, topk_logprobs, logprob[1]


@triton.jit
def _entry(
    entry, rows_ptr, rows_stride, temperature_ptr, temperature_stride,
    cut_logit_ptr, cut_logit_stride, cut_id_ptr, cut_id_stride,
    HAS_ROWS: tl.constexpr, HAS_TEMPERATURE: tl.constexpr, HAS_CUT: tl.constexpr,
):  # fmt: skip
    """Row of the logits (-1 for none), temperature, and the last kept token of one entry."""
    row = entry
    if HAS_ROWS:
        row = tl.load(rows_ptr + entry * rows_stride)
    temperature = 1.0
    if HAS_TEMPERATURE:
        temperature = tl.load(temperature_ptr + entry * temperature_stride)
        temperature = tl.where(temperature == 0.0, 1.0, temperature)
    cut_logit = float("-inf")
    cut_id = tl.full([], 0, tl.int32)
    if HAS_CUT:
        cut_logit = read_logit(tl.load(cut_logit_ptr + entry * cut_logit_stride))
        cut_id = read_id(tl.load(cut_id_ptr + entry * cut_id_stride))
    return row, temperature, cut_logit, cut_id


@triton.jit
def _sampled_logit(
    row_ptr, logits_stride_v, token, vocab, cut_logit, cut_id, HAS_CUT: tl.constexpr
):
    known = (token >= 0) & (token < vocab)
    x = tl.load(row_ptr + token * logits_stride_v, mask=known, other=float("-inf"))
    x = read_logit(x)
    if HAS_CUT:
        x = tl.where(is_kept(x, token, cut_logit, cut_id), x, float("-inf"))
    return x, known


@triton.jit(
    do_not_specialize=[
        "token_stride", "rows_stride", "temperature_stride", "cut_logit_stride", "cut_id_stride",
        "vocab", "chunks", "k",
    ]
)  # fmt: skip
def _chunk_kernel(
    logits_ptr, logits_stride_t, logits_stride_v,  # [T, V]
    token_ptr, token_stride,  # int [R]
    rows_ptr, rows_stride,  # int64 [R]
    temperature_ptr, temperature_stride,  # float32 [R]
    cut_logit_ptr, cut_logit_stride, cut_id_ptr, cut_id_stride,  # float32 [R], int64 [R]
    partial_ptr, at_least_ptr, group_max_ptr,  # out: [R, chunks, 2], [R, chunks], [R, groups]
    vocab, chunks, k,
    HAS_ROWS: tl.constexpr, HAS_TEMPERATURE: tl.constexpr, HAS_CUT: tl.constexpr,
    CHUNK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0).to(tl.int64)
    entry = program // chunks
    chunk = program % chunks
    row, temperature, cut_logit, cut_id = _entry(
        entry, rows_ptr, rows_stride, temperature_ptr, temperature_stride,
        cut_logit_ptr, cut_logit_stride, cut_id_ptr, cut_id_stride,
        HAS_ROWS, HAS_TEMPERATURE, HAS_CUT,
    )  # fmt: skip
    if row >= 0:
        row_ptr = logits_ptr + row * logits_stride_t
        id = (chunk * CHUNK).to(tl.int32) + tl.arange(0, CHUNK)
        x = tl.load(
            row_ptr + id.to(tl.int64) * logits_stride_v, mask=id < vocab, other=float("-inf")
        )  # [CHUNK]
        token = tl.load(token_ptr + entry * token_stride).to(tl.int64)
        sampled, _ = _sampled_logit(
            row_ptr, logits_stride_v, token, vocab, cut_logit, cut_id, HAS_CUT
        )
        x = read_logit(x)
        if HAS_CUT:
            x = tl.where(is_kept(x, id, cut_logit, cut_id), x, float("-inf"))

        best = tl.max(tl.reshape(x, [CHUNK // GROUP, GROUP]), axis=1)  # [CHUNK // GROUP]
        if k > 0:
            group = tl.arange(0, CHUNK // GROUP)
            # A max is one of its inputs, so the logits' own type holds it exactly.
            tl.store(
                group_max_ptr + program * (CHUNK // GROUP) + group,
                best.to(group_max_ptr.dtype.element_ty),
            )
        top = tl.max(best)
        # A chunk of -inf: any finite origin gives exp(-inf) = 0 instead of NaN.
        origin = tl.where(top == float("-inf"), 0.0, top)
        total = tl.sum(tl.exp2((x - origin) * (LOG2E / temperature)))
        tl.store(partial_ptr + program * 2, top)
        tl.store(partial_ptr + program * 2 + 1, total)
        tl.store(at_least_ptr + program, tl.sum((x >= sampled).to(tl.int32)))


@triton.jit(
    do_not_specialize=[
        "token_stride", "rows_stride", "temperature_stride", "cut_logit_stride", "cut_id_stride",
        "entries", "vocab", "chunks", "k",
    ]
)  # fmt: skip
def _merge_kernel(
    logits_ptr, logits_stride_t, logits_stride_v,  # [T, V]
    token_ptr, token_stride,  # int [R]
    rows_ptr, rows_stride,  # int64 [R]
    temperature_ptr, temperature_stride,  # float32 [R]
    cut_logit_ptr, cut_logit_stride, cut_id_ptr, cut_id_stride,  # float32 [R], int64 [R]
    partial_ptr, at_least_ptr, group_max_ptr,  # [R, chunks, 2], [R, chunks], [R, groups]
    picked_ptr,  # scratch int32 [R, BEST, 2]
    logprob_ptr, rank_ptr, topk_ids_ptr, topk_logprobs_ptr,  # out: [2, R], [R], [R, k], [R, k]
    entries, vocab, chunks, k,
    HAS_ROWS: tl.constexpr, HAS_TEMPERATURE: tl.constexpr, HAS_CUT: tl.constexpr,
    CHUNK: tl.constexpr, GROUP: tl.constexpr, CHUNKS: tl.constexpr, GROUPS: tl.constexpr,
    BITS: tl.constexpr, BEST: tl.constexpr,
):  # fmt: skip
    entry = tl.program_id(0).to(tl.int64)
    row, temperature, cut_logit, cut_id = _entry(
        entry, rows_ptr, rows_stride, temperature_ptr, temperature_stride,
        cut_logit_ptr, cut_logit_stride, cut_id_ptr, cut_id_stride,
        HAS_ROWS, HAS_TEMPERATURE, HAS_CUT,
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

        token = tl.load(token_ptr + entry * token_stride).to(tl.int64)
        sampled, known = _sampled_logit(
            row_ptr, logits_stride_v, token, vocab, cut_logit, cut_id, HAS_CUT
        )
        rank = tl.sum(tl.load(at_least_ptr + at, mask=here, other=0)).to(tl.int64)
        # At -inf everything ties, the lanes past the vocabulary too, which must not be counted.
        rank = tl.where(sampled == float("-inf"), vocab, rank)
        lp = tl.where(
            sampled == float("-inf"), float("-inf"), (sampled - origin) / temperature - log_total
        )
        tl.store(logprob_ptr + entry, tl.where(known, lp, float("nan")))
        tl.store(logprob_ptr + entries + entry, origin / temperature + log_total)
        tl.store(rank_ptr + entry, tl.where(known, rank, 0))

        if k > 0:
            group = tl.arange(0, GROUPS)
            groups = chunks * (CHUNK // GROUP)
            best = tl.load(
                group_max_ptr + entry * groups + group, mask=group < groups, other=float("-inf")
            )
            best = read_logit(best)
            key = tl.where(group < groups, order_key(best, BITS), 0)
            wanted = tl.minimum(k, groups)
            chosen, slot = select_best(key, wanted, BITS)
            scratch = picked_ptr + entry * BEST * 2
            tl.store(scratch + slot * 2, group, mask=chosen)
            tl.debug_barrier()

            picked = tl.load(scratch + place * 2, mask=place < wanted, other=0)  # [BEST]
            id = picked[:, None] * GROUP + tl.arange(0, GROUP)[None, :]  # [BEST, GROUP]
            there = (place < wanted)[:, None] & (id < vocab)
            x = tl.load(
                row_ptr + id.to(tl.int64) * logits_stride_v, mask=there, other=float("-inf")
            )
            x = read_logit(x)
            if HAS_CUT:
                x = tl.where(is_kept(x, id, cut_logit, cut_id), x, float("-inf"))
            # Groups come by position, so a token's place in the flattened tile orders as its id.
            x = tl.reshape(x, [BEST * GROUP])
            id = tl.reshape(id, [BEST * GROUP])
            key = tl.where(tl.reshape(there, [BEST * GROUP]), order_key(x, BITS), 0)
            chosen, slot = select_best(key, k, BITS)
            tl.debug_barrier()
            tl.store(scratch + slot * 2, id, mask=chosen)
            tl.store(scratch + slot * 2 + 1, x.to(tl.int32, bitcast=True), mask=chosen)
            tl.debug_barrier()

            id = tl.load(scratch + place * 2, mask=place < k, other=0)  # [BEST], by id
            x = tl.load(scratch + place * 2 + 1, mask=place < k, other=0)
            x = tl.where(place < k, x.to(tl.float32, bitcast=True), float("-inf"))
            other_x = tl.load(scratch + place * 2 + 1, mask=place < k, other=0)
            other_x = tl.where(place < k, other_x.to(tl.float32, bitcast=True), float("-inf"))
            before = (other_x[None, :] > x[:, None]) | (
                (other_x[None, :] == x[:, None]) & (place[None, :] < place[:, None])
            )
            order = tl.sum(before.to(tl.int32), axis=1)
            best_lp = tl.where(
                x == float("-inf"), float("-inf"), (x - origin) / temperature - log_total
            )
            tl.store(topk_ids_ptr + entry * k + order, id.to(tl.int64), mask=place < k)
            tl.store(topk_logprobs_ptr + entry * k + order, best_lp, mask=place < k)
