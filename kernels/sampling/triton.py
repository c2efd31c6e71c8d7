"""The sampling ops on a GPU.

``top_k_top_p_cut``: the best 64 tokens settle nearly every row; for the rest one program per row finds the last kept
logit bit by bit, one pass over the row (from L2) a bit.
``sample``: one streaming pass for max and sum per chunk, then one program per row picks a chunk by its mass and reads
that chunk alone.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .._device import (
    LOG2E,
    ORDER_BITS,
    after_another,
    chunk_stats,
    chunks_per_program,
    dependent_launch,
    is_kept,
    load_chunk,
    load_raw,
    order_key,
    pick,
    read_id,
    read_logit,
    uniforms,
    widen,
)
from ..logprobs.triton import MAX_K, logprobs_triton

MAX_SEED = tl.constexpr(9223372036854775806)


def top_k_top_p_cut_triton(
    logits: torch.Tensor,
    temperature: torch.Tensor,
    top_k: torch.Tensor | None,
    top_p: torch.Tensor | None,
    *,
    block: int = 4096,
    **options: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """See ``kernels.sampling.top_k_top_p_cut``; ``block`` and ``options`` (of logprobs) are smaller in tests only."""
    rows, vocab = logits.shape
    cut_logit = torch.empty(rows, dtype=torch.float32, device=logits.device)
    cut_id = torch.empty(rows, dtype=torch.int64, device=logits.device)
    if rows:
        best = min(MAX_K, vocab)
        top = logprobs_triton(logits, None, best, None, temperature, None, None, **options)
        _cut_kernel[(rows,)](
            logits, logits.stride(0), logits.stride(1), temperature.contiguous(),
            None if top_k is None else top_k.contiguous(),
            None if top_p is None else top_p.contiguous(),
            top[2], top[3], cut_logit, cut_id, vocab, best,
            BITS=ORDER_BITS[logits.dtype], BLOCK=block, BEST=MAX_K, num_warps=8, **after_another(),
        )  # fmt: skip
    return cut_logit, cut_id


def sample_triton(
    logits: torch.Tensor,
    seeds: torch.Tensor,
    positions: torch.Tensor,
    temperature: torch.Tensor,
    cut: tuple[torch.Tensor, torch.Tensor] | None,
    stream: int,
    *,
    chunk: int,
) -> torch.Tensor:
    """See ``kernels.sampling.sample``."""
    rows, vocab = logits.shape
    tokens = torch.empty(rows, dtype=torch.int64, device=logits.device)
    if rows == 0:
        return tokens
    chunks = triton.cdiv(vocab, chunk)
    partial = torch.empty(rows, chunks, 2, dtype=torch.float32, device=logits.device)
    arguments = (
        logits, logits.stride(0), logits.stride(1), temperature.contiguous(),
        cut[0].contiguous() if cut else None, cut[1].contiguous() if cut else None,
    )  # fmt: skip
    per_program = chunks_per_program(rows, chunks)
    _sample_stats_kernel[(rows * triton.cdiv(chunks, per_program),)](
        *arguments,
        partial,
        vocab,
        chunks,
        per_program,
        CHUNK=chunk,
        num_warps=4,
        PDL=dependent_launch(),
    )
    _sample_kernel[(rows,)](
        *arguments, partial, seeds.contiguous(), positions.contiguous(), tokens, vocab, chunks,
        STREAM=stream, CHUNK=chunk, CHUNKS=triton.next_power_of_2(chunks), num_warps=8, **after_another(),
    )  # fmt: skip
    return tokens


def cut_candidates_triton(
    ids: torch.Tensor, logprobs: torch.Tensor, top_p: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """See ``kernels.sampling.top_p_candidates``; ``ids`` and ``logprobs`` are contiguous."""
    rows, columns = ids.shape
    kept = torch.empty_like(ids)
    scores = torch.empty_like(logprobs)
    lens = torch.empty(rows, dtype=torch.int32, device=ids.device)
    if rows:
        _candidates_kernel[(rows,)](
            ids, logprobs, top_p, top_p.stride(0), kept, scores, lens, columns,
            COLUMNS=64, num_warps=1,
        )  # fmt: skip
    return kept, scores, lens


def expand_triton(
    cu_seqlens_q_output: torch.Tensor,
    rows: int,
    infer_seed: torch.Tensor,
    temperature: torch.Tensor,
    top_k: torch.Tensor,
    top_p: torch.Tensor,
    increment: int,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """See ``kernels.sampling.expand_sampling_params``."""
    device, batch = infer_seed.device, infer_seed.shape[0]
    seeds = torch.empty(rows, dtype=torch.int64, device=device)
    scale = torch.empty(rows, dtype=torch.float32, device=device)
    k = torch.empty(rows, dtype=torch.int64, device=device)
    p = torch.empty(rows, dtype=torch.float32, device=device)
    next_seed = torch.empty(batch, dtype=torch.int64, device=device)
    _expand_kernel[(batch + 1,)](
        cu_seqlens_q_output.contiguous(), infer_seed.contiguous(), temperature.contiguous(),
        top_k.contiguous(), top_p.contiguous(), seeds, scale, k, p, next_seed,
        batch, rows, increment, BLOCK=16, num_warps=1,
    )  # fmt: skip
    return seeds, scale, k, p, next_seed


@triton.jit
def _load_block(row_ptr, stride, start, vocab, cut_logit, cut_id, BLOCK: tl.constexpr):
    """(logits, ids, is a token that the cut keeps) [BLOCK]."""
    id = start + tl.arange(0, BLOCK)
    x = tl.load(row_ptr + id.to(tl.int64) * stride, mask=id < vocab, other=float("-inf"))
    x = read_logit(x)
    return x, id, (id < vocab) & is_kept(x, id, cut_logit, cut_id)


@triton.jit
def _weights(x, top, scale, BY_MASS: tl.constexpr):
    """1 a token to count them, exact in float32 up to 2**24; or the mass relative to the best token."""
    if BY_MASS:
        weight = tl.exp2((x - top) * scale)
    else:
        weight = tl.where(x == x, 1.0, 1.0)
    return weight


@triton.jit
def _last_kept(
    row_ptr, stride, vocab, goal, top, scale, cut_logit, cut_id,
    BY_MASS: tl.constexpr, BITS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """(logit, id) of the token with which the weight of the best tokens first reaches ``goal``."""
    threshold = tl.full([], 0, tl.uint32)
    bit = tl.full([], 1 << (BITS - 1), tl.uint32)
    for _ in range(BITS):
        higher = threshold | bit
        weight = tl.zeros([BLOCK], tl.float32)
        for start in range(0, vocab, BLOCK):
            x, id, kept = _load_block(row_ptr, stride, start, vocab, cut_logit, cut_id, BLOCK)
            reaches = kept & (order_key(x, BITS) >= higher)
            weight += tl.where(reaches, _weights(x, top, scale, BY_MASS), 0.0)
        threshold = tl.where(tl.sum(weight) >= goal, higher, threshold)
        bit = bit >> 1

    above = tl.zeros([BLOCK], tl.float32)
    logit = tl.full([BLOCK], float("-inf"), tl.float32)
    ties = tl.zeros([BLOCK], tl.int32)
    for start in range(0, vocab, BLOCK):
        x, id, kept = _load_block(row_ptr, stride, start, vocab, cut_logit, cut_id, BLOCK)
        key = order_key(x, BITS)
        above += tl.where(kept & (key > threshold), _weights(x, top, scale, BY_MASS), 0.0)
        tied = kept & (key == threshold)
        logit = tl.maximum(logit, tl.where(tied, x, float("-inf")))
        ties += tied.to(tl.int32)
    last_logit = tl.max(logit)
    each = _weights(last_logit, top, scale, BY_MASS)
    wanted = tl.ceil((goal - tl.sum(above)) / tl.maximum(each, 1e-30)).to(tl.int32)
    wanted = tl.minimum(tl.maximum(wanted, 1), tl.sum(ties))

    seen = tl.full([], 0, tl.int32)
    last_id = tl.full([], 0, tl.int32)
    for start in range(0, vocab, BLOCK):
        x, id, kept = _load_block(row_ptr, stride, start, vocab, cut_logit, cut_id, BLOCK)
        tied = (kept & (order_key(x, BITS) == threshold)).to(tl.int32)
        number = seen + tl.cumsum(tied, 0)
        last_id += tl.sum(tl.where((tied > 0) & (number == wanted), id, 0))
        seen += tl.sum(tied)
    return last_logit, last_id


@triton.jit(do_not_specialize=["best"])
def _cut_kernel(
    logits_ptr, stride_r, stride_v,  # [R, V]
    temperature_ptr, top_k_ptr, top_p_ptr,  # [R]
    best_id_ptr, best_logprob_ptr,  # int64 [R, best], float32 [R, best]
    cut_logit_ptr, cut_id_ptr,  # out float32 [R], int64 [R]
    vocab, best,
    BITS: tl.constexpr, BLOCK: tl.constexpr, BEST: tl.constexpr,
    PDL: tl.constexpr,
):  # fmt: skip
    if PDL:
        tl.extra.cuda.gdc_wait()
    row = tl.program_id(0).to(tl.int64)
    row_ptr = logits_ptr + row * stride_r
    temperature = tl.load(temperature_ptr + row)
    k = tl.full([], 0, tl.int32) + vocab
    if top_k_ptr is not None:
        asked = tl.load(top_k_ptr + row)
        k = tl.where((asked > 0) & (asked < vocab), asked, vocab).to(tl.int32)
    k = tl.where(temperature == 0.0, 1, k)
    top_p = 1.0
    if top_p_ptr is not None:
        top_p = tl.where(temperature == 0.0, 1.0, tl.load(top_p_ptr + row))

    # Nearly every set ends among the best 64, whose masses are known. ``last`` is the place of its last token.
    place = tl.arange(0, BEST)
    lp = tl.load(best_logprob_ptr + row * best + place, mask=place < best, other=float("-inf"))
    mass = tl.where(place < k, tl.exp(lp), 0.0)
    until = tl.cumsum(mass, 0)
    # Against all of the row if top-k left it whole, else against what top-k left.
    goal = top_p * tl.where(k <= best, tl.max(until), 1.0)
    ends = tl.min(tl.where((until >= goal) & (place < best), place, BEST))
    last = tl.where(top_p < 1.0, tl.minimum(ends, k - 1), k - 1)
    whole = k == vocab
    everything = whole & (top_p >= 1.0)
    known = (k <= best) | (whole & (top_p < 1.0) & (ends < BEST))
    if known & (last < best):
        token = tl.load(best_id_ptr + row * best + last)
        logit = read_logit(tl.load(row_ptr + token * stride_v))
        if everything:
            logit = tl.full([], float("-inf"), tl.float32)
            token = tl.full([], 0, tl.int64) + vocab - 1
        tl.store(cut_logit_ptr + row, logit)
        tl.store(cut_id_ptr + row, token)
    else:
        _search_cut(
            row, row_ptr, stride_v, vocab, k, top_p, temperature, cut_logit_ptr, cut_id_ptr,
            BITS, BLOCK,
        )  # fmt: skip


@triton.jit
def _search_cut(
    row, row_ptr, stride_v, vocab, k, top_p, temperature, cut_logit_ptr, cut_id_ptr,
    BITS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Stores the last token of top-k, then of top-p within it, from passes over the whole row."""
    cut_logit = tl.full([], float("-inf"), tl.float32)
    cut_id = tl.full([], 0, tl.int32) + vocab - 1  # keeps everything
    if k < vocab:
        cut_logit, cut_id = _last_kept(
            row_ptr, stride_v, vocab, k.to(tl.float32), 0.0, 1.0, cut_logit, cut_id,
            False, BITS, BLOCK,
        )  # fmt: skip
    if top_p < 1.0:
        best = tl.full([BLOCK], float("-inf"), tl.float32)
        for start in range(0, vocab, BLOCK):
            x, _, _ = _load_block(row_ptr, stride_v, start, vocab, cut_logit, cut_id, BLOCK)
            best = tl.maximum(best, x)
        top = tl.max(best)
        scale = LOG2E / temperature
        if top == float("-inf"):
            cut_logit = top
            cut_id = cut_id * 0
        else:
            mass = tl.zeros([BLOCK], tl.float32)
            for start in range(0, vocab, BLOCK):
                x, _, kept = _load_block(row_ptr, stride_v, start, vocab, cut_logit, cut_id, BLOCK)
                mass += tl.where(kept, _weights(x, top, scale, True), 0.0)
            # A sum in another order may fall short of the goal by a rounding, and above 0 is nothing to reach.
            goal = tl.maximum(top_p * tl.sum(mass), 1e-30)
            cut_logit, cut_id = _last_kept(
                row_ptr, stride_v, vocab, goal, top, scale, cut_logit, cut_id,
                True, BITS, BLOCK,
            )  # fmt: skip
    tl.store(cut_logit_ptr + row, cut_logit)
    tl.store(cut_id_ptr + row, cut_id.to(tl.int64))


@triton.jit(do_not_specialize=["chunks", "per_program"])
def _sample_stats_kernel(
    logits_ptr, stride_r, stride_v,  # [R, V]
    temperature_ptr, cut_logit_ptr, cut_id_ptr,  # [R]
    partial_ptr,  # out float32 [R, chunks, 2]
    vocab, chunks, per_program,
    CHUNK: tl.constexpr,
    PDL: tl.constexpr,
):  # fmt: skip
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
    program = tl.program_id(0)
    programs = tl.cdiv(chunks, per_program)  # of one row
    first = (program % programs) * per_program
    row = (program // programs).to(tl.int64)
    cut_logit = float("-inf")
    cut_id = tl.full([], 0, tl.int32)
    if cut_logit_ptr is not None:
        cut_logit = read_logit(tl.load(cut_logit_ptr + row))
        cut_id = read_id(tl.load(cut_id_ptr + row))
    temperature = tl.load(temperature_ptr + row)
    row_ptr = logits_ptr + row * stride_r
    end = tl.minimum(first + per_program, chunks)
    ahead = load_raw(row_ptr, stride_v, first, end, vocab, CHUNK)
    for chunk in range(first, end):
        raw = ahead
        ahead = load_raw(row_ptr, stride_v, chunk + 1, end, vocab, CHUNK)
        x, token = widen(raw, chunk, cut_logit, cut_id, cut_logit_ptr is not None, CHUNK)
        top, second = chunk_stats(x, token, temperature)
        at = row * chunks + chunk
        tl.store(partial_ptr + at * 2, top)
        tl.store(partial_ptr + at * 2 + 1, second)


@triton.jit(do_not_specialize=["chunks"])
def _sample_kernel(
    logits_ptr, stride_r, stride_v,  # [R, V]
    temperature_ptr, cut_logit_ptr, cut_id_ptr,  # [R]
    partial_ptr, seed_ptr, position_ptr,  # float32 [R, chunks, 2], int64 [R] twice
    token_ptr,  # out int64 [R]
    vocab, chunks,
    STREAM: tl.constexpr, CHUNK: tl.constexpr, CHUNKS: tl.constexpr,
    PDL: tl.constexpr,
):  # fmt: skip
    if PDL:
        tl.extra.cuda.gdc_wait()
    row = tl.program_id(0).to(tl.int64)
    temperature = tl.load(temperature_ptr + row)
    part = tl.arange(0, CHUNKS)
    at = row * chunks + part
    tops = tl.load(partial_ptr + at * 2, mask=part < chunks, other=float("-inf"))
    seconds = tl.load(partial_ptr + at * 2 + 1, mask=part < chunks, other=0.0)
    top = tl.max(tops)
    if temperature == 0.0:
        ids = tl.where(tops == top, seconds.to(tl.int32, bitcast=True), 2147483647)
        tl.store(token_ptr + row, tl.min(ids).to(tl.int64))
    else:
        origin = tl.where(top == float("-inf"), 0.0, top)
        scale = LOG2E / temperature
        chunk_uniform, token_uniform = uniforms(tl.load(seed_ptr + row), tl.load(position_ptr + row), STREAM)
        chosen = pick(seconds * tl.exp2((tops - origin) * scale), chunk_uniform, CHUNKS)
        cut_logit = float("-inf")
        cut_id = tl.full([], 0, tl.int32)
        if cut_logit_ptr is not None:
            cut_logit = read_logit(tl.load(cut_logit_ptr + row))
            cut_id = read_id(tl.load(cut_id_ptr + row))
        x, _ = load_chunk(
            logits_ptr + row * stride_r, stride_v, chosen, vocab, cut_logit, cut_id,
            cut_logit_ptr is not None, CHUNK,
        )  # fmt: skip
        x = read_logit(x)
        token = chosen * CHUNK + pick(tl.exp2((x - origin) * scale), token_uniform, CHUNK)
        tl.store(token_ptr + row, token.to(tl.int64))


@triton.jit(do_not_specialize=["top_p_stride", "columns"])
def _candidates_kernel(
    ids_ptr, logprob_ptr, top_p_ptr, top_p_stride,  # int64 [T, C], float32 [T, C], float32 [T]
    kept_ptr, score_ptr, length_ptr,  # out int64 [T, C], float32 [T, C], int32 [T]
    columns,
    COLUMNS: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, COLUMNS)
    at = row * columns + column
    mask = column < columns
    ids = tl.load(ids_ptr + at, mask=mask, other=0)
    score = tl.exp(tl.load(logprob_ptr + at, mask=mask, other=float("-inf")))
    top_p = tl.load(top_p_ptr + row * top_p_stride)
    reached = (tl.cumsum(score, 0) >= top_p) & mask
    length = tl.min(tl.where(reached, column + 1, columns))
    tl.store(kept_ptr + at, tl.where(column < length, ids, 0), mask=mask)
    tl.store(score_ptr + at, tl.where(column < length, score, 0.0), mask=mask)
    tl.store(length_ptr + row, length)


@triton.jit
def _add_seed(seed, more):
    """(seed + more) % MAX_SEED without leaving 64 bits: both are below MAX_SEED."""
    return tl.where(seed >= MAX_SEED - more, seed - (MAX_SEED - more), seed + more)


@triton.jit(do_not_specialize=["batch", "rows", "increment"])
def _expand_kernel(
    cu_ptr, seed_ptr, temperature_ptr, top_k_ptr, top_p_ptr,  # [B+1], then [B]
    row_seed_ptr, row_temperature_ptr, row_top_k_ptr, row_top_p_ptr,  # out [rows]
    next_seed_ptr,  # out int64 [B]
    batch, rows, increment,
    BLOCK: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    first = tl.load(cu_ptr + b).to(tl.int64)
    # The program past the batch owns the rows past the batch.
    real = b < batch
    end = tl.load(cu_ptr + b + 1, mask=real, other=0).to(tl.int64)
    end = tl.minimum(tl.where(real, end, rows), rows)
    seed = tl.load(seed_ptr + b, mask=real, other=0)
    temperature = tl.load(temperature_ptr + b, mask=real, other=0.0)
    top_k = tl.load(top_k_ptr + b, mask=real, other=0)
    top_p = tl.load(top_p_ptr + b, mask=real, other=1.0)
    for start in range(first, end, BLOCK):
        row = start + tl.arange(0, BLOCK)
        mask = row < end
        step = tl.where(real, row - first, 0)
        tl.store(row_seed_ptr + row, _add_seed(seed, 4 * step), mask=mask)
        tl.store(row_temperature_ptr + row, temperature + tl.zeros([BLOCK], tl.float32), mask=mask)
        tl.store(row_top_k_ptr + row, top_k + tl.zeros([BLOCK], tl.int64), mask=mask)
        tl.store(row_top_p_ptr + row, top_p + tl.zeros([BLOCK], tl.float32), mask=mask)
    more = tl.full([], 0, tl.int64) + increment
    tl.store(next_seed_ptr + b, _add_seed(seed, more), mask=real)
