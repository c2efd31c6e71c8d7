"""``verify`` on a GPU. Logits go in; no [rows, V] probabilities are ever written, and the temperature is applied as
logits are loaded.

GREEDY, TARGET_MATCH   stats -> draw of every row -> match            (every target row read once)
REJECTION, BLOCK       stats -> residual mass -> finish               (every row once; then the residual's rows again)
  with one-hot drafts  stats -> finish
TOPP                   one launch over the candidates

``stats`` leaves max and sum per chunk of each row. A draw picks a chunk by its mass and reads that chunk alone. What
was decided from the stats is computed again by each program that needs it: that costs less than one more launch.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .._device import (
    LOG2E,
    after_another,
    chunk_stats,
    chunks_per_program,
    dependent_launch,
    is_kept,
    load_raw,
    merge_chunks,
    pick,
    read_id,
    read_logit,
    uniforms,
    widen,
)
from .._random import ACCEPT as _ACCEPT
from .._random import RECOVER as _RECOVER
from .reference import Inputs
from .strategy import Strategy

ACCEPT = tl.constexpr(_ACCEPT)
RECOVER = tl.constexpr(_RECOVER)

STATS_WARPS = 4
RESIDUAL_WARPS = 4
FINISH_WARPS = 8


def verify_triton(given: Inputs, *, chunk: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(accept_tokens, accept_num); see ``kernels.verify.verify``."""
    batch, width = given.step_input_ids.shape
    device = given.step_input_ids.device
    tokens = torch.empty(batch, width, dtype=torch.int64, device=device)
    count = torch.empty(batch, dtype=torch.int32, device=device)
    if batch == 0:
        return tokens, count
    launch = {
        Strategy.TOPP: _launch_topp,
        Strategy.GREEDY: _launch_match,
        Strategy.TARGET_MATCH: _launch_match,
        Strategy.REJECTION: _launch_rejection,
        Strategy.BLOCK: _launch_rejection,
    }[given.strategy]
    launch(given, chunk, tokens, count)
    return tokens, count


def _request_arguments(given: Inputs) -> tuple[object, ...]:
    """What every kernel needs of a request; absent ones stay None, which Triton compiles away."""
    greedy = given.strategy == Strategy.GREEDY
    return (
        given.step_input_ids, given.step_input_ids.stride(0), given.step_input_ids.stride(1),
        given.seq_lens_this_time.contiguous(), given.cu_seqlens_q_output.contiguous(),
        _packed(given.seq_lens_encoder), _packed(given.stop_flags), _packed(given.is_block_step),
        _packed(given.reasoning_status), None if greedy else _packed(given.temperature),
    )  # fmt: skip


def _packed(tensor: torch.Tensor | None) -> torch.Tensor | None:
    return None if tensor is None else tensor.contiguous()


def _row_arguments(given: Inputs) -> tuple[object, ...]:
    target, draft = given.target_logits, given.draft_logits
    return (
        target, target.stride(0), target.stride(1), target.shape[1],
        _packed(given.target_cut_logit), _packed(given.target_cut_id),
        draft, *(draft.stride() if draft is not None else (0, 0, 0)),
        draft.shape[2] if draft is not None else 0,
        _packed(given.draft_cut_logit), _packed(given.draft_cut_id),
    )  # fmt: skip


def _emit_arguments(given: Inputs, tokens: torch.Tensor, count: torch.Tensor) -> tuple[object, ...]:
    return (
        given.step_idx.contiguous(), given.max_dec_len.contiguous(), given.end_tokens.contiguous(),
        given.end_tokens.shape[0], tokens, count,
    )  # fmt: skip


def _flags(given: Inputs) -> dict[str, object]:
    return {
        "REJECT_ALL": given.reject_all,
        "ACCEPT_ALL": given.accept_all,
        "WIDTH": given.step_input_ids.shape[1],
        "COLUMNS": triton.next_power_of_2(given.step_input_ids.shape[1]),
    }


def _launch_stats(given: Inputs, chunk: int) -> torch.Tensor:
    batch, width = given.step_input_ids.shape
    slots = width if given.draft_logits is None else 2 * width - 1
    vocab = given.target_logits.shape[1]
    if given.draft_logits is not None:
        vocab = max(vocab, given.draft_logits.shape[2])
    chunks = triton.cdiv(vocab, chunk)
    partial = torch.empty(batch, slots, chunks, 2, dtype=torch.float32, device=given.target_logits.device)
    per_program = chunks_per_program(batch * slots, chunks)
    _stats_kernel[(batch * slots * triton.cdiv(chunks, per_program),)](
        *_request_arguments(given), *_row_arguments(given), partial, chunks, per_program, slots,
        REJECT_ALL=given.reject_all, WIDTH=width, CHUNK=chunk, num_warps=STATS_WARPS, PDL=dependent_launch(),
    )  # fmt: skip
    return partial


def _launch_match(given: Inputs, chunk: int, tokens: torch.Tensor, count: torch.Tensor) -> None:
    batch, width = given.step_input_ids.shape
    partial = _launch_stats(given, chunk)
    chunks = partial.shape[2]
    drawn = torch.empty(batch, width, dtype=torch.int64, device=tokens.device)
    _draw_kernel[(batch * width,)](
        *_request_arguments(given), *_row_arguments(given), partial, chunks,
        # A greedy draw reads no seed, but its branch is compiled all the same.
        (given.step_idx if given.seeds is None else given.seeds).contiguous(),
        given.step_idx.contiguous(), drawn,
        REJECT_ALL=given.reject_all, WIDTH=width,
        CHUNK=chunk, CHUNKS=triton.next_power_of_2(chunks), num_warps=8, **after_another(),
    )  # fmt: skip
    _match_kernel[(batch,)](
        *_request_arguments(given), drawn, given.target_logits.shape[1],
        *_emit_arguments(given, tokens, count), **_flags(given), num_warps=1, **after_another(),
    )  # fmt: skip


def _launch_rejection(given: Inputs, chunk: int, tokens: torch.Tensor, count: torch.Tensor) -> None:
    batch, width = given.step_input_ids.shape
    block = given.strategy == Strategy.BLOCK
    partial = _launch_stats(given, chunk)
    chunks, slots = partial.shape[2], partial.shape[1]
    options = {
        **_flags(given), "BLOCK": block, "CHUNK": chunk, "CHUNKS": triton.next_power_of_2(chunks),
    }  # fmt: skip
    residual, rows = None, 0
    if given.draft_logits is not None and width > 1:
        rows = width - 1 if block else 1
        residual = torch.empty(batch, rows, chunks, dtype=torch.float32, device=tokens.device)
        per_program = chunks_per_program(batch * rows, chunks)
        _residual_kernel[(batch * rows * triton.cdiv(chunks, per_program),)](
            *_request_arguments(given), *_row_arguments(given), partial, chunks, per_program, slots,
            given.seeds.contiguous(), given.step_idx.contiguous(), residual,
            RESIDUALS=rows, **options, num_warps=RESIDUAL_WARPS, **after_another(),
        )  # fmt: skip
    _finish_kernel[(batch,)](
        *_request_arguments(given), *_row_arguments(given), partial, chunks, slots,
        given.seeds.contiguous(), *_emit_arguments(given, tokens, count), residual,
        RESIDUALS=rows, **options, num_warps=FINISH_WARPS, **after_another(),
    )  # fmt: skip


def _launch_topp(given: Inputs, chunk: int, tokens: torch.Tensor, count: torch.Tensor) -> None:
    ids, scores = given.candidate_ids, given.candidate_scores
    _topp_kernel[(given.step_input_ids.shape[0],)](
        *_request_arguments(given), ids, *ids.stride(), scores, *scores.stride(),
        given.candidate_lens.contiguous(), ids.shape[1], given.top_p.contiguous(),
        given.seeds.contiguous(), given.verify_window, *_emit_arguments(given, tokens, count),
        **_flags(given), CANDIDATES=triton.next_power_of_2(ids.shape[1]), num_warps=1,
    )  # fmt: skip


@triton.jit
def _request(
    b, lens_ptr, cu_ptr, encoder_ptr, stop_ptr, block_ptr, reasoning_ptr, temperature_ptr,
    WIDTH: tl.constexpr, REJECT_ALL: tl.constexpr,
):  # fmt: skip
    """(tokens of this step, drafts that may be looked at, first target row, temperature) of a request."""
    n = tl.minimum(tl.maximum(tl.load(lens_ptr + b), 0), WIDTH)
    if stop_ptr is not None:
        n = tl.where(tl.load(stop_ptr + b) != 0, 0, n)
    if block_ptr is not None:
        n = tl.where(tl.load(block_ptr + b) != 0, 0, n)
    limit = tl.maximum(n - 1, 0)
    if REJECT_ALL:
        limit = limit * 0
    if encoder_ptr is not None:
        limit = tl.where(tl.load(encoder_ptr + b) > 0, 0, limit)
    if reasoning_ptr is not None:
        limit = tl.where(tl.load(reasoning_ptr + b) == 1, 0, limit)
    first_row = tl.load(cu_ptr + b).to(tl.int64)
    temperature = 0.0
    if temperature_ptr is not None:
        temperature = tl.load(temperature_ptr + b)
    return n, limit, first_row, temperature


@triton.jit
def _leading(good, limit, COLUMNS: tl.constexpr):
    """How many of the first ``limit`` columns hold before the first that does not."""
    column = tl.arange(0, COLUMNS)
    return tl.min(tl.where(good & (column < limit), COLUMNS, column))


@triton.jit
def _emit(
    b, n, step_idx, draft, accepted, last,
    max_dec_ptr, end_ptr, ends, tokens_ptr, count_ptr,
    WIDTH: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Stores ``accepted`` drafts and ``last``, cut after the first end token and at ``max_dec_len``."""
    column = tl.arange(0, COLUMNS)
    token = tl.where(column == accepted, last, draft)
    stops = column < 0
    for e in range(ends):
        stops = stops | (token == tl.load(end_ptr + e))
    until_end = tl.min(tl.where(stops & (column <= accepted), column + 1, COLUMNS))
    count = tl.minimum(accepted + 1, until_end).to(tl.int64)
    room = tl.maximum(tl.load(max_dec_ptr + b) - step_idx, 0)
    count = tl.where(n > 0, tl.minimum(count, room), 0)
    token = tl.where(column < count, token, -1)
    tl.store(tokens_ptr + b * WIDTH + column, token, mask=column < WIDTH)
    tl.store(count_ptr + b, count.to(tl.int32))


@triton.jit
def _load_drafts(ids_ptr, ids_stride_b, ids_stride_s, b, WIDTH: tl.constexpr, COLUMNS: tl.constexpr):
    """int64 [COLUMNS]: the draft judged at each position, -1 past the last one."""
    column = tl.arange(0, COLUMNS)
    return tl.load(ids_ptr + b * ids_stride_b + (column + 1) * ids_stride_s, mask=column + 1 < WIDTH, other=-1)


@triton.jit(do_not_specialize=["ids_stride_b", "ids_stride_s", "chunks", "per_program"])
def _stats_kernel(
    ids_ptr, ids_stride_b, ids_stride_s,  # int64 [B, S]
    lens_ptr, cu_ptr, encoder_ptr, stop_ptr, block_ptr, reasoning_ptr, temperature_ptr,  # [B]
    target_ptr, target_stride_t, target_stride_v, vocab,  # [T, V]
    target_cut_logit_ptr, target_cut_id_ptr,  # [T]
    draft_ptr, draft_stride_b, draft_stride_k, draft_stride_v, draft_vocab,  # [B, S-1, W]
    draft_cut_logit_ptr, draft_cut_id_ptr,  # [B, S-1]
    partial_ptr, chunks, per_program, slots,  # out float32 [B, slots, chunks, 2]; slots: S target rows, S-1 draft rows
    REJECT_ALL: tl.constexpr, WIDTH: tl.constexpr, CHUNK: tl.constexpr,
    PDL: tl.constexpr,
):  # fmt: skip
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
    program = tl.program_id(0)
    programs = tl.cdiv(chunks, per_program)  # of one row
    first = (program % programs) * per_program
    end = tl.minimum(first + per_program, chunks)
    slot = (program // programs) % slots
    b = (program // programs // slots).to(tl.int64)
    row_at = (b * slots + slot) * chunks
    n, limit, first_row, temperature = _request(
        b, lens_ptr, cu_ptr, encoder_ptr, stop_ptr, block_ptr, reasoning_ptr, temperature_ptr,
        WIDTH, REJECT_ALL,
    )  # fmt: skip
    if slot < WIDTH:
        if (slot <= limit) & (n > 0):
            row = first_row + slot
            cut_logit = float("-inf")
            cut_id = tl.full([], 0, tl.int32)
            if target_cut_logit_ptr is not None:
                cut_logit = read_logit(tl.load(target_cut_logit_ptr + row))
                cut_id = read_id(tl.load(target_cut_id_ptr + row))
            row_ptr = target_ptr + row * target_stride_t
            ahead = load_raw(row_ptr, target_stride_v, first, end, vocab, CHUNK)
            for chunk in range(first, end):
                raw = ahead
                ahead = load_raw(row_ptr, target_stride_v, chunk + 1, end, vocab, CHUNK)
                x, token = widen(raw, chunk, cut_logit, cut_id, target_cut_logit_ptr is not None, CHUNK)
                top, second = chunk_stats(x, token, temperature)
                tl.store(partial_ptr + (row_at + chunk) * 2, top)
                tl.store(partial_ptr + (row_at + chunk) * 2 + 1, second)
    elif draft_ptr is not None:
        column = (slot - WIDTH).to(tl.int64)
        if column < limit:
            cut_logit = float("-inf")
            cut_id = tl.full([], 0, tl.int32)
            if draft_cut_logit_ptr is not None:
                cut_logit = read_logit(tl.load(draft_cut_logit_ptr + b * (WIDTH - 1) + column))
                cut_id = read_id(tl.load(draft_cut_id_ptr + b * (WIDTH - 1) + column))
            # A greedy request's drafts are judged by the target alone; their mass only has to be finite.
            scale = tl.where(temperature == 0.0, 1.0, temperature)
            draft_row = draft_ptr + b * draft_stride_b + column * draft_stride_k
            draft_ahead = load_raw(draft_row, draft_stride_v, first, end, draft_vocab, CHUNK)
            for chunk in range(first, end):
                draft_raw = draft_ahead
                draft_ahead = load_raw(draft_row, draft_stride_v, chunk + 1, end, draft_vocab, CHUNK)
                x, token = widen(draft_raw, chunk, cut_logit, cut_id, draft_cut_logit_ptr is not None, CHUNK)
                top, second = chunk_stats(x, token, scale)
                tl.store(partial_ptr + (row_at + chunk) * 2, top)
                tl.store(partial_ptr + (row_at + chunk) * 2 + 1, second)


@triton.jit
def _load_partial(partial_ptr, b, slot, used, slots, chunks, CHUNKS: tl.constexpr):
    """(tops, seconds) [S, CHUNKS] of the rows ``slot`` [S] of request ``b``."""
    chunk = tl.arange(0, CHUNKS)
    at = (b * slots + slot[:, None]) * chunks + chunk[None, :]
    mask = used[:, None] & (chunk < chunks)[None, :]
    tops = tl.load(partial_ptr + at * 2, mask=mask, other=float("-inf"))
    seconds = tl.load(partial_ptr + at * 2 + 1, mask=mask, other=0.0)
    return tops, seconds


@triton.jit
def _log_mass(x, origin, total, temperature):
    """log of the probability of logits ``x``; -inf without mass."""
    lp = (x - origin) / tl.where(temperature == 0.0, 1.0, temperature) - tl.log(total)
    return tl.where(x == float("-inf"), float("-inf"), lp)


@triton.jit
def _judge(
    b, limit, first_row, temperature, draft, seed, step_idx,
    target_ptr, target_stride_t, target_stride_v, vocab, target_cut_logit_ptr, target_cut_id_ptr,
    draft_ptr, draft_stride_b, draft_stride_k, draft_stride_v, draft_vocab,
    draft_cut_logit_ptr, draft_cut_id_ptr, partial_ptr, chunks, slots,
    ACCEPT_ALL: tl.constexpr, WIDTH: tl.constexpr, COLUMNS: tl.constexpr, CHUNKS: tl.constexpr,
):  # fmt: skip
    """Everything the stats decide about a request, position by position [COLUMNS]: (limit, drafts accepted one by one,
    log of the block weight, log-uniform, origin and total of the target rows, of the draft rows, best tokens).
    """
    column = tl.arange(0, COLUMNS)
    tops, seconds = _load_partial(partial_ptr, b, column, column <= limit, slots, chunks, CHUNKS)
    origin, total, best = merge_chunks(tops, seconds, temperature)

    row = first_row + column
    known = (column < limit) & (draft >= 0) & (draft < vocab)
    x = tl.load(
        target_ptr + row * target_stride_t + draft * target_stride_v,
        mask=known, other=float("-inf"),
    )  # fmt: skip
    x = read_logit(x)
    if target_cut_logit_ptr is not None:
        cut_logit = read_logit(tl.load(target_cut_logit_ptr + row, mask=known, other=0.0))
        cut_id = read_id(tl.load(target_cut_id_ptr + row, mask=known, other=0))
        x = tl.where(is_kept(x, draft, cut_logit, cut_id), x, float("-inf"))
    log_p = _log_mass(x, origin, total, temperature)

    log_q = tl.zeros([COLUMNS], tl.float32)
    draft_origin = tl.zeros([COLUMNS], tl.float32)
    draft_total = tl.zeros([COLUMNS], tl.float32)
    declared = known
    if draft_ptr is not None:
        tops, seconds = _load_partial(partial_ptr, b, WIDTH + column, column < limit, slots, chunks, CHUNKS)
        scale = tl.where(temperature == 0.0, 1.0, temperature)
        draft_origin, draft_total, _best = merge_chunks(tops, seconds, scale)
        drafted = (column < limit) & (draft >= 0) & (draft < draft_vocab)
        y = tl.load(
            draft_ptr + b * draft_stride_b + column * draft_stride_k + draft * draft_stride_v,
            mask=drafted, other=float("-inf"),
        )  # fmt: skip
        y = read_logit(y)
        if draft_cut_logit_ptr is not None:
            at = b * (WIDTH - 1) + column
            cut_logit = read_logit(tl.load(draft_cut_logit_ptr + at, mask=drafted, other=0.0))
            cut_id = read_id(tl.load(draft_cut_id_ptr + at, mask=drafted, other=0))
            y = tl.where(is_kept(y, draft, cut_logit, cut_id), y, float("-inf"))
        log_q = _log_mass(y, draft_origin, draft_total, scale)
        if not ACCEPT_ALL:
            # exp, not log_q itself: a mass that float32 rounds to nothing is none.
            declared = drafted & (tl.exp(log_q) > 0)
    limit = _leading(declared, limit, COLUMNS)

    uniform, _second = uniforms(seed, step_idx + column, ACCEPT)
    log_uniform = tl.log(uniform)
    log_ratio = tl.where(column < limit, log_p - log_q, 0.0)
    stays = log_uniform < log_ratio
    stays = tl.where(temperature == 0.0, draft == best, stays)
    if ACCEPT_ALL:
        stays = column >= 0
    accepted = _leading(stays, limit, COLUMNS)

    # The block weight min(w * ratio, 1), unrolled: the log of position i is c[i] - max(c[:i+1]), c the prefix sums.
    earlier = column[None, :] < column[:, None]
    until = tl.sum(tl.where(earlier, log_ratio[None, :], 0.0), axis=1)
    upto = column[None, :] <= column[:, None]
    highest = tl.max(tl.where(upto, until[None, :], float("-inf")), axis=1)
    return (
        limit, accepted, until - highest, log_uniform,
        origin, total, draft_origin, draft_total, best,
    )  # fmt: skip


@triton.jit
def _at(values, column, COLUMNS: tl.constexpr):
    """values[column] for a scalar column."""
    return tl.sum(tl.where(tl.arange(0, COLUMNS) == column, values, 0))


@triton.jit
def _residual_weights(
    b, column, row, chunk, temperature, weight, origin, total, draft_origin, draft_total,
    target_ptr, target_stride_t, target_stride_v, vocab, target_cut_logit_ptr, target_cut_id_ptr,
    draft_ptr, draft_stride_b, draft_stride_k, draft_stride_v, draft_vocab,
    draft_cut_logit_ptr, draft_cut_id_ptr, with_draft,
    WIDTH: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    """float32 [CHUNK]: max(weight * p - q, 0), or p where ``with_draft`` is false. Used for the mass and for the
    draw, so both see the same numbers.
    """
    cut_logit = float("-inf")
    cut_id = tl.full([], 0, tl.int32)
    if target_cut_logit_ptr is not None:
        cut_logit = read_logit(tl.load(target_cut_logit_ptr + row))
        cut_id = read_id(tl.load(target_cut_id_ptr + row))
    raw = load_raw(target_ptr + row * target_stride_t, target_stride_v, chunk, chunk + 1, vocab, CHUNK)
    scale = LOG2E / temperature
    if draft_ptr is not None:
        # Both loads go out before either is used. Without a draft nothing is read: -inf, no mass.
        draft_end = tl.where(with_draft, chunk + 1, chunk)
        draft_row = draft_ptr + b * draft_stride_b + column * draft_stride_k
        draft_raw = load_raw(draft_row, draft_stride_v, chunk, draft_end, draft_vocab, CHUNK)
        draft_cut_logit = float("-inf")
        draft_cut_id = tl.full([], 0, tl.int32)
        if draft_cut_logit_ptr is not None:
            at = b * (WIDTH - 1) + column
            draft_cut_logit = read_logit(tl.load(draft_cut_logit_ptr + at))
            draft_cut_id = read_id(tl.load(draft_cut_id_ptr + at))
    x, token = widen(raw, chunk, cut_logit, cut_id, target_cut_logit_ptr is not None, CHUNK)
    p = tl.exp2((read_logit(x) - origin) * scale) * (1.0 / tl.maximum(total, 1e-30))
    if draft_ptr is not None:
        y, _ids = widen(draft_raw, chunk, draft_cut_logit, draft_cut_id, draft_cut_logit_ptr is not None, CHUNK)
        q = tl.exp2((read_logit(y) - draft_origin) * scale) * (1.0 / tl.maximum(draft_total, 1e-30))
        p = tl.maximum(tl.where(with_draft, weight, 1.0) * p - q, 0.0)
    return p, token


@triton.jit(do_not_specialize=["ids_stride_b", "ids_stride_s", "chunks", "per_program", "slots"])
def _residual_kernel(
    ids_ptr, ids_stride_b, ids_stride_s,
    lens_ptr, cu_ptr, encoder_ptr, stop_ptr, block_ptr, reasoning_ptr, temperature_ptr,
    target_ptr, target_stride_t, target_stride_v, vocab, target_cut_logit_ptr, target_cut_id_ptr,
    draft_ptr, draft_stride_b, draft_stride_k, draft_stride_v, draft_vocab,
    draft_cut_logit_ptr, draft_cut_id_ptr,
    partial_ptr, chunks, per_program, slots, seed_ptr, step_idx_ptr,
    residual_ptr,  # out float32 [B, RESIDUALS, chunks]: mass of max(weight * p - q, 0)
    REJECT_ALL: tl.constexpr, ACCEPT_ALL: tl.constexpr, WIDTH: tl.constexpr, COLUMNS: tl.constexpr,
    BLOCK: tl.constexpr, RESIDUALS: tl.constexpr, CHUNK: tl.constexpr, CHUNKS: tl.constexpr,
    PDL: tl.constexpr,
):  # fmt: skip
    if PDL:
        tl.extra.cuda.gdc_wait()
        tl.extra.cuda.gdc_launch_dependents()
    program = tl.program_id(0)
    programs = tl.cdiv(chunks, per_program)  # of one row
    first = (program % programs) * per_program
    column = ((program // programs) % RESIDUALS).to(tl.int64)
    b = (program // programs // RESIDUALS).to(tl.int64)
    row_at = (b * RESIDUALS + column) * chunks
    n, limit, first_row, temperature = _request(
        b, lens_ptr, cu_ptr, encoder_ptr, stop_ptr, block_ptr, reasoning_ptr, temperature_ptr,
        WIDTH, REJECT_ALL,
    )  # fmt: skip
    if (n > 0) & (temperature > 0.0):
        draft = _load_drafts(ids_ptr, ids_stride_b, ids_stride_s, b, WIDTH, COLUMNS)
        (
            limit, accepted, log_weight, _uniform, origin, total, draft_origin, draft_total, _best,
        ) = _judge(
            b, limit, first_row, temperature, draft,
            tl.load(seed_ptr + b), tl.load(step_idx_ptr + b),
            target_ptr, target_stride_t, target_stride_v, vocab,
            target_cut_logit_ptr, target_cut_id_ptr,
            draft_ptr, draft_stride_b, draft_stride_k, draft_stride_v, draft_vocab,
            draft_cut_logit_ptr, draft_cut_id_ptr, partial_ptr, chunks, slots,
            ACCEPT_ALL, WIDTH, COLUMNS, CHUNKS,
        )  # fmt: skip
        weight = 1.0
        if BLOCK:
            weight = tl.exp(_at(tl.where(log_weight > -88.0, log_weight, -88.0), column, COLUMNS))
        else:
            column = accepted.to(tl.int64)
        if column < limit:
            row_origin = _at(origin, column, COLUMNS)
            row_total = _at(total, column, COLUMNS)
            row_draft_origin = _at(draft_origin, column, COLUMNS)
            row_draft_total = _at(draft_total, column, COLUMNS)
            for chunk in range(first, tl.minimum(first + per_program, chunks)):
                mass, _ids = _residual_weights(
                    b, column, first_row + column, chunk, temperature, weight,
                    row_origin, row_total, row_draft_origin, row_draft_total,
                    target_ptr, target_stride_t, target_stride_v, vocab,
                    target_cut_logit_ptr, target_cut_id_ptr,
                    draft_ptr, draft_stride_b, draft_stride_k, draft_stride_v, draft_vocab,
                    draft_cut_logit_ptr, draft_cut_id_ptr, True, WIDTH, CHUNK,
                )  # fmt: skip
                tl.store(residual_ptr + row_at + chunk, tl.sum(mass))


@triton.jit(
    do_not_specialize=[
        "ids_stride_b", "ids_stride_s", "chunks", "slots", "ends",
    ]
)  # fmt: skip
def _finish_kernel(
    ids_ptr, ids_stride_b, ids_stride_s,
    lens_ptr, cu_ptr, encoder_ptr, stop_ptr, block_ptr, reasoning_ptr, temperature_ptr,
    target_ptr, target_stride_t, target_stride_v, vocab, target_cut_logit_ptr, target_cut_id_ptr,
    draft_ptr, draft_stride_b, draft_stride_k, draft_stride_v, draft_vocab,
    draft_cut_logit_ptr, draft_cut_id_ptr,
    partial_ptr, chunks, slots, seed_ptr,
    step_idx_ptr, max_dec_ptr, end_ptr, ends, tokens_ptr, count_ptr,  # out int64 [B, S], int32 [B]
    residual_ptr,
    REJECT_ALL: tl.constexpr, ACCEPT_ALL: tl.constexpr, WIDTH: tl.constexpr, COLUMNS: tl.constexpr,
    BLOCK: tl.constexpr, RESIDUALS: tl.constexpr, CHUNK: tl.constexpr, CHUNKS: tl.constexpr,
    PDL: tl.constexpr,
):  # fmt: skip
    if PDL:
        tl.extra.cuda.gdc_wait()
    b = tl.program_id(0).to(tl.int64)
    n, limit, first_row, temperature = _request(
        b, lens_ptr, cu_ptr, encoder_ptr, stop_ptr, block_ptr, reasoning_ptr, temperature_ptr,
        WIDTH, REJECT_ALL,
    )  # fmt: skip
    draft = _load_drafts(ids_ptr, ids_stride_b, ids_stride_s, b, WIDTH, COLUMNS)
    step_idx = tl.load(step_idx_ptr + b)
    accepted = limit * 0
    last = tl.full([], -1, tl.int64)
    if n > 0:
        seed = tl.load(seed_ptr + b)
        (
            limit, accepted, log_weight, log_uniform,
            origins, totals, draft_origins, draft_totals, best,
        ) = _judge(
            b, limit, first_row, temperature, draft, seed, step_idx,
            target_ptr, target_stride_t, target_stride_v, vocab,
            target_cut_logit_ptr, target_cut_id_ptr,
            draft_ptr, draft_stride_b, draft_stride_k, draft_stride_v, draft_vocab,
            draft_cut_logit_ptr, draft_cut_id_ptr, partial_ptr, chunks, slots,
            ACCEPT_ALL, WIDTH, COLUMNS, CHUNKS,
        )  # fmt: skip
        if temperature == 0.0:
            last = _at(best, accepted, COLUMNS).to(tl.int64)
        else:
            part = tl.arange(0, CHUNKS)
            here = part < chunks
            if BLOCK:
                if not ACCEPT_ALL:
                    accepted = _longest_block(
                        b, limit, first_row, temperature, draft, log_weight, log_uniform, origins, totals,
                        target_ptr, target_stride_t, target_stride_v,
                        target_cut_logit_ptr, target_cut_id_ptr, vocab,
                        residual_ptr, chunks, RESIDUALS, COLUMNS, CHUNKS,
                    )  # fmt: skip
            column = accepted.to(tl.int64)
            row = first_row + column
            weight = 1.0
            if BLOCK:
                weight = tl.exp(_at(tl.where(log_weight > -88.0, log_weight, -88.0), column, COLUMNS))
            origin = _at(origins, column, COLUMNS)
            total = _at(totals, column, COLUMNS)
            at = (b * slots + column) * chunks + part
            tops = tl.load(partial_ptr + at * 2, mask=here, other=float("-inf"))
            mass = tl.load(partial_ptr + at * 2 + 1, mask=here, other=0.0)
            mass = mass * tl.exp2((tops - origin) * (LOG2E / temperature))
            rejected = column < limit
            x = _at(tl.where(draft >= 0, draft, 0), column, COLUMNS)
            with_draft = rejected
            if residual_ptr is not None:
                if rejected:
                    where = (b * RESIDUALS + (column if BLOCK else column * 0)) * chunks + part
                    left = tl.load(residual_ptr + where, mask=here, other=0.0)
                    # Nothing left means p == q, where rejection is rounding: the target draws.
                    with_draft = tl.sum(left) > 0.0
                    mass = tl.where(with_draft, left, mass)
            else:
                if rejected:
                    # The drafted token's chunk without it, summed anew: subtracting would leave rounding behind.
                    own = (x // CHUNK).to(tl.int32)
                    p, token = _residual_weights(
                        b, column, row, own, temperature, 1.0, origin, total, 0.0, 1.0,
                        target_ptr, target_stride_t, target_stride_v, vocab,
                        target_cut_logit_ptr, target_cut_id_ptr,
                        None, 0, 0, 0, 0, None, None, False, WIDTH, CHUNK,
                    )  # fmt: skip
                    rest = tl.sum(tl.where(token == x, 0.0, p)) * total
                    left = tl.where(part == own, rest, mass)
                    with_draft = tl.sum(left) > 0.0
                    mass = tl.where(with_draft, left, mass)

            chunk_uniform, token_uniform = uniforms(seed, step_idx + column, RECOVER)
            chosen = pick(mass, chunk_uniform, CHUNKS)
            p, token = _residual_weights(
                b, column, row, chosen, temperature, weight, origin, total,
                _at(draft_origins, column, COLUMNS), _at(draft_totals, column, COLUMNS),
                target_ptr, target_stride_t, target_stride_v, vocab,
                target_cut_logit_ptr, target_cut_id_ptr,
                draft_ptr, draft_stride_b, draft_stride_k, draft_stride_v, draft_vocab,
                draft_cut_logit_ptr, draft_cut_id_ptr, with_draft, WIDTH, CHUNK,
            )  # fmt: skip
            if draft_ptr is None:
                p = tl.where(token == tl.where(with_draft, x, -1), 0.0, p)
            last = (chosen * CHUNK + pick(p, token_uniform, CHUNK)).to(tl.int64)
    _emit(
        b, n, step_idx, draft, accepted, last, max_dec_ptr, end_ptr, ends, tokens_ptr, count_ptr,
        WIDTH, COLUMNS,
    )  # fmt: skip


@triton.jit
def _longest_block(
    b, limit, first_row, temperature, draft, log_weight, log_uniform, origins, totals,
    target_ptr, target_stride_t, target_stride_v, target_cut_logit_ptr, target_cut_id_ptr, vocab,
    residual_ptr, chunks,
    RESIDUALS: tl.constexpr, COLUMNS: tl.constexpr, CHUNKS: tl.constexpr,
):  # fmt: skip
    """The largest i at which the block of i drafts stands; 0 if none."""
    column = tl.arange(0, COLUMNS)
    weight = tl.exp(log_weight)
    if residual_ptr is not None:
        part = tl.arange(0, CHUNKS)
        at = (b * RESIDUALS + column[:, None]) * chunks + part[None, :]
        mask = (column < limit)[:, None] & (part < chunks)[None, :]
        mass = tl.sum(tl.load(residual_ptr + at, mask=mask, other=0.0), axis=1)
    else:
        # A one-hot draft: what is left of weight * p is all of it but the drafted token.
        known = (column < limit) & (draft >= 0) & (draft < vocab)
        row = first_row + column
        x = tl.load(
            target_ptr + row * target_stride_t + draft * target_stride_v,
            mask=known, other=float("-inf"),
        )  # fmt: skip
        x = read_logit(x)
        if target_cut_logit_ptr is not None:
            cut_logit = read_logit(tl.load(target_cut_logit_ptr + row, mask=known, other=0.0))
            cut_id = read_id(tl.load(target_cut_id_ptr + row, mask=known, other=0))
            x = tl.where(is_kept(x, draft, cut_logit, cut_id), x, float("-inf"))
        p = tl.exp(_log_mass(x, origins, totals, temperature))
        # A target row without a finite logit has no mass to leave.
        mass = tl.where(totals > 0.0, weight * (1.0 - p), 0.0)
    stop = tl.where(column == limit, weight, mass / tl.maximum(mass + 1.0 - weight, 1e-30))
    # The uniform of position i - 1 judges the block of i drafts.
    shifted = tl.where(column[None, :] == column[:, None] - 1, tl.exp(log_uniform)[None, :], 0.0)
    uniform = tl.sum(shifted, axis=1)
    stands = (column >= 1) & (column <= limit) & (uniform < stop)
    return tl.max(tl.where(stands, column, 0))


@triton.jit(do_not_specialize=["ids_stride_b", "ids_stride_s", "chunks"])
def _draw_kernel(
    ids_ptr, ids_stride_b, ids_stride_s,
    lens_ptr, cu_ptr, encoder_ptr, stop_ptr, block_ptr, reasoning_ptr, temperature_ptr,
    target_ptr, target_stride_t, target_stride_v, vocab, target_cut_logit_ptr, target_cut_id_ptr,
    draft_ptr, draft_stride_b, draft_stride_k, draft_stride_v, draft_vocab,
    draft_cut_logit_ptr, draft_cut_id_ptr,
    partial_ptr, chunks, seed_ptr, step_idx_ptr,
    drawn_ptr,  # out int64 [B, S]: what the target emits at each position
    REJECT_ALL: tl.constexpr, WIDTH: tl.constexpr, CHUNK: tl.constexpr, CHUNKS: tl.constexpr,
    PDL: tl.constexpr,
):  # fmt: skip
    if PDL:
        tl.extra.cuda.gdc_wait()
        tl.extra.cuda.gdc_launch_dependents()
    program = tl.program_id(0).to(tl.int64)
    column = program % WIDTH
    b = program // WIDTH
    n, limit, first_row, temperature = _request(
        b, lens_ptr, cu_ptr, encoder_ptr, stop_ptr, block_ptr, reasoning_ptr, temperature_ptr,
        WIDTH, REJECT_ALL,
    )  # fmt: skip
    if (n > 0) & (column <= limit):
        part = tl.arange(0, CHUNKS)
        at = program * chunks + part
        tops = tl.load(partial_ptr + at * 2, mask=part < chunks, other=float("-inf"))
        seconds = tl.load(partial_ptr + at * 2 + 1, mask=part < chunks, other=0.0)
        top = tl.max(tops)
        if temperature == 0.0:
            ids = tl.where(tops == top, seconds.to(tl.int32, bitcast=True), 2147483647)
            tl.store(drawn_ptr + program, tl.min(ids).to(tl.int64))
        else:
            origin = tl.where(top == float("-inf"), 0.0, top)
            mass = seconds * tl.exp2((tops - origin) * (LOG2E / temperature))
            chunk_uniform, token_uniform = uniforms(tl.load(seed_ptr + b), tl.load(step_idx_ptr + b) + column, RECOVER)
            chosen = pick(mass, chunk_uniform, CHUNKS)
            p, _ids = _residual_weights(
                b, column, first_row + column, chosen, temperature, 1.0, origin, 1.0, 0.0, 1.0,
                target_ptr, target_stride_t, target_stride_v, vocab,
                target_cut_logit_ptr, target_cut_id_ptr,
                None, 0, 0, 0, 0, None, None, False, WIDTH, CHUNK,
            )  # fmt: skip
            token = chosen * CHUNK + pick(p, token_uniform, CHUNK)
            tl.store(drawn_ptr + program, token.to(tl.int64))


@triton.jit(do_not_specialize=["ids_stride_b", "ids_stride_s", "ends"])
def _match_kernel(
    ids_ptr, ids_stride_b, ids_stride_s,
    lens_ptr, cu_ptr, encoder_ptr, stop_ptr, block_ptr, reasoning_ptr, temperature_ptr,
    drawn_ptr, vocab,  # int64 [B, S]
    step_idx_ptr, max_dec_ptr, end_ptr, ends, tokens_ptr, count_ptr,  # out int64 [B, S], int32 [B]
    REJECT_ALL: tl.constexpr, ACCEPT_ALL: tl.constexpr, WIDTH: tl.constexpr, COLUMNS: tl.constexpr,
    PDL: tl.constexpr,
):  # fmt: skip
    if PDL:
        tl.extra.cuda.gdc_wait()
    b = tl.program_id(0).to(tl.int64)
    n, limit, _, _ = _request(
        b, lens_ptr, cu_ptr, encoder_ptr, stop_ptr, block_ptr, reasoning_ptr, temperature_ptr,
        WIDTH, REJECT_ALL,
    )  # fmt: skip
    column = tl.arange(0, COLUMNS)
    draft = _load_drafts(ids_ptr, ids_stride_b, ids_stride_s, b, WIDTH, COLUMNS)
    drawn = tl.load(drawn_ptr + b * WIDTH + column, mask=column <= tl.where(n > 0, limit, -1), other=-1)
    agree = (draft >= 0) & (draft < vocab)
    if not ACCEPT_ALL:
        agree = agree & (draft == drawn)
    accepted = _leading(agree, limit, COLUMNS)
    last = _at(drawn, accepted, COLUMNS)
    _emit(
        b, n, tl.load(step_idx_ptr + b), draft, accepted, last,
        max_dec_ptr, end_ptr, ends, tokens_ptr, count_ptr, WIDTH, COLUMNS,
    )  # fmt: skip


@triton.jit(
    do_not_specialize=[
        "ids_stride_b", "ids_stride_s", "candidate_stride_t", "candidate_stride_c",
        "score_stride_t", "score_stride_c", "candidates", "window", "ends",
    ]
)  # fmt: skip
def _topp_kernel(
    ids_ptr, ids_stride_b, ids_stride_s,
    lens_ptr, cu_ptr, encoder_ptr, stop_ptr, block_ptr, reasoning_ptr, temperature_ptr,
    candidate_ptr, candidate_stride_t, candidate_stride_c,  # int64 [T, C]
    score_ptr, score_stride_t, score_stride_c,  # float32 [T, C]
    length_ptr, candidates, top_p_ptr, seed_ptr, window,
    step_idx_ptr, max_dec_ptr, end_ptr, ends, tokens_ptr, count_ptr,  # out int64 [B, S], int32 [B]
    REJECT_ALL: tl.constexpr, ACCEPT_ALL: tl.constexpr, WIDTH: tl.constexpr, COLUMNS: tl.constexpr,
    CANDIDATES: tl.constexpr,
):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    n, limit, first_row, _ = _request(
        b, lens_ptr, cu_ptr, encoder_ptr, stop_ptr, block_ptr, reasoning_ptr, temperature_ptr,
        WIDTH, REJECT_ALL,
    )  # fmt: skip
    column = tl.arange(0, COLUMNS)
    draft = _load_drafts(ids_ptr, ids_stride_b, ids_stride_s, b, WIDTH, COLUMNS)
    limit = _leading(draft >= 0, limit, COLUMNS)
    place = tl.arange(0, CANDIDATES)
    at = (first_row + column)[:, None] * candidate_stride_t + place[None, :] * candidate_stride_c
    there = (column < limit)[:, None] & (place < candidates)[None, :]
    ids = tl.load(candidate_ptr + at, mask=there, other=-1)  # [COLUMNS, CANDIDATES]
    length = tl.load(length_ptr + first_row + column, mask=column < limit, other=0)
    same = (ids == draft[:, None]) & there
    listed = tl.max((same & (place[None, :] < length[:, None])).to(tl.int32), axis=1) > 0
    best = tl.max((same & (place == 0)[None, :]).to(tl.int32), axis=1) > 0
    second = tl.max((same & (place == 1)[None, :]).to(tl.int32), axis=1) > 0
    if ACCEPT_ALL:
        listed = column >= 0
    # A second best stands if the drafts after it are the best, ``window`` times in a row: it takes them all along.
    accepted = limit * 0
    walking = n > 0
    for _step in range(WIDTH - 1):
        if walking & (accepted < limit):
            following = _leading(best | (column <= accepted), limit, COLUMNS) - accepted - 1
            by_window = (_at(second.to(tl.int32), accepted, COLUMNS) > 0) & (following >= window)
            alone = _at(listed.to(tl.int32), accepted, COLUMNS) > 0
            step = tl.where(alone, 1, tl.where(by_window, 1 + window, 0))
            accepted = accepted + step
            walking = step > 0
    last = tl.full([], -1, tl.int64)
    if n > 0:
        row = first_row + accepted
        chance, _unused = uniforms(tl.load(seed_ptr + b), tl.load(step_idx_ptr + b) + accepted.to(tl.int64), RECOVER)
        have = tl.minimum(tl.load(length_ptr + row), candidates)
        score = tl.load(score_ptr + row * score_stride_t + place * score_stride_c, mask=place < have, other=0.0)
        reached = (tl.cumsum(score, 0) >= chance * tl.load(top_p_ptr + b)) & (place < have)
        index = tl.min(tl.where(reached, place, CANDIDATES))
        index = tl.where(index < CANDIDATES, index, 0)
        last = tl.load(candidate_ptr + row * candidate_stride_t + index * candidate_stride_c)
    _emit(
        b, n, tl.load(step_idx_ptr + b), draft, accepted, last,
        max_dec_ptr, end_ptr, ends, tokens_ptr, count_ptr, WIDTH, COLUMNS,
    )  # fmt: skip
