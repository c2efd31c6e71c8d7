"""``logprobs`` over shards: each rank scores its chunks and finds its best tokens; the row's sum,
rank and best tokens follow from those of all.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .._device import wait_for_another
from .._hardware import after_another
from .._launch import Launcher
from ..logprobs import Logprobs
from ..logprobs.entry import entry_of, sampled_logit
from ..logprobs.merge import (
    TOGETHER,
    load_chunks,
    merge_chunks_of_rows,
    order_tokens,
    score,
    store_nothing,
)
from ..logprobs.stream import stream_chunks
from ..logprobs.triton import GROUP, with_stride
from .draw import Cut, chunks_in_order, cut_within
from .exchange import Gathered, Steps
from .layout import Part, Shard, chunks_of, most_parts, parts_of

MERGE_WARPS = 4
LAST = 2147483647  # an id after all others


def score_shard(
    logits: torch.Tensor,
    token_ids: torch.Tensor | None,
    k: int,
    rows: torch.Tensor | None,
    temperature: torch.Tensor | None,
    cut: Cut | None,
    shard: Shard,
    *,
    chunk: int,
    group: int = GROUP,
    launch: Launcher | None = None,
    out: Logprobs | None = None,
) -> Steps[Logprobs]:
    """See ``kernels.sharded.logprobs``; ``chunk`` and ``group`` are smaller in tests only."""
    launch = launch or Launcher()
    entries = logits.shape[0] if rows is None else rows.shape[0]
    device = logits.device
    done = out or Logprobs(
        logprob=torch.empty(entries, dtype=torch.float32, device=device),
        rank=torch.empty(entries, dtype=torch.int64, device=device),
        topk_ids=torch.empty(entries, k, dtype=torch.int64, device=device),
        topk_logprobs=torch.empty(entries, k, dtype=torch.float32, device=device),
        logz=torch.empty(entries, dtype=torch.float32, device=device),
    )
    if entries == 0:
        return done
    parts = yield from parts_of(logits, shard, chunk)
    sampled = None
    if token_ids is not None:
        everyone = yield _own_logits(logits, token_ids, rows, temperature, cut, shard, launch)
        sampled = torch.stack(list(everyone)).amax(dim=0)
    options = {"HAS_CUT": cut is not None, "CHUNK": chunk, "GROUP": group}
    counts = chunks_of(shard.bounds, chunk)
    found = torch.empty(
        entries, _words(max(counts), most_parts(shard.bounds, chunk) * k), dtype=torch.int32,
        device=device,
    )  # fmt: skip
    spare = found[:, 3 * max(counts) :].view(entries, -1, 2)
    spare[..., 0] = LAST
    spare[..., 1:].view(torch.float32).fill_(float("-inf"))
    _score_parts(
        parts, k, rows, temperature, cut, sampled, options, launch, found, max(counts)
    )  # fmt: skip
    everyone = yield found
    partial, at_least, tokens = _in_order(everyone, counts, k)
    chunks = partial.shape[1]
    launch(
        _merge_kernel, entries,
        (
            logits.shape[0], *with_stride(token_ids), *with_stride(rows),
            *with_stride(temperature), sampled, partial, at_least, tokens, done.logprob, done.logz,
            done.rank, done.topk_ids, done.topk_logprobs, shard.vocab, chunks, k, tokens.shape[1],
        ),
        lambda: {
            "CHUNKS": max(TOGETHER, triton.next_power_of_2(chunks)), "TOGETHER": TOGETHER,
            "num_warps": MERGE_WARPS, "enable_fp_fusion": False, **after_another(),
        },
    )  # fmt: skip
    return done


def _words(chunks: int, tokens: int) -> int:
    """int32 words that a rank tells of a row: max, sum and count of its chunks, id and logit of its
    best tokens."""
    return 3 * chunks + 2 * tokens


def _score_parts(
    parts: list[Part],
    k: int,
    rows: torch.Tensor | None,
    temperature: torch.Tensor | None,
    cut: Cut | None,
    sampled: torch.Tensor | None,
    options: dict[str, object],
    launch: Launcher,
    found: torch.Tensor,  # out int32 [R, _words]
    most: int,
) -> None:
    """Writes what the parts have of their chunks and of their best tokens."""
    entries = found.shape[0]
    stats = found[:, : 2 * most].view(torch.float32)
    tokens = found[:, 3 * most :].view(entries, -1, 2)
    at = 0
    for i, part in enumerate(parts):
        first = part.first * options["CHUNK"]
        here = cut_within(cut, first) or (None, None)
        own = part.logits
        arguments = (
            own, own.stride(0), own.stride(1), own.shape[0], *with_stride(sampled),
            *with_stride(rows), *with_stride(temperature), *with_stride(here[0]),
            *with_stride(here[1]),
        )  # fmt: skip
        best = min(k, own.shape[1])
        passed = stream_chunks(own, arguments, best, entries, options, launch, i)
        end = at + part.chunks
        stats[:, 2 * at : 2 * end] = passed[0].flatten(1)
        found[:, 2 * most + at : 2 * most + end] = passed[1]
        at = end
        if best:
            unranked = (*arguments[:4], None, 0, *arguments[6:])
            _lp, _rank, ids, logits, _logz = merge_chunks_of_rows(
                own, unranked, passed, best, entries, options, launch, raw=True, place=i
            )
            tokens[:, i * k : i * k + best, 0] = ids + first
            tokens[:, i * k : i * k + best, 1] = logits.view(torch.int32)


def _in_order(
    everyone: Gathered, counts: list[int], k: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(max and sum float32 [R, chunks, 2], counts int32 [R, chunks], tokens int32 [R, N, 2])."""
    most = max(counts)
    stats = [own[:, : 2 * most].view(-1, most, 2) for own in everyone]
    partial = chunks_in_order(stats, counts).view(torch.float32)
    at_least = chunks_in_order([own[:, 2 * most : 3 * most] for own in everyone], counts)
    tokens = torch.cat([own[:, 3 * most :] for own in everyone], dim=1)
    return partial, at_least, tokens.view(tokens.shape[0], -1, 2)


def _own_logits(
    logits: torch.Tensor,
    token_ids: torch.Tensor,
    rows: torch.Tensor | None,
    temperature: torch.Tensor | None,
    cut: Cut | None,
    shard: Shard,
    launch: Launcher,
) -> torch.Tensor:
    """float32 [R]: the sampled tokens' logits, -inf for another rank's token."""
    here = cut_within(cut, shard.first) or (None, None)
    entries = token_ids.shape[0]
    found = torch.empty(entries, dtype=torch.float32, device=logits.device)
    launch(
        _own_logit_kernel, entries,
        (
            logits, logits.stride(0), logits.stride(1), logits.shape[0], *with_stride(token_ids),
            *with_stride(rows), *with_stride(temperature), *with_stride(here[0]),
            *with_stride(here[1]), found, logits.shape[1], shard.first,
        ),
        lambda: {"HAS_CUT": cut is not None, "num_warps": 1, **after_another()},
    )  # fmt: skip
    return found


@triton.jit(
    do_not_specialize=[
        "total", "token_stride", "rows_stride", "temperature_stride", "cut_logit_stride",
        "cut_id_stride", "first",
    ]
)  # fmt: skip
def _own_logit_kernel(
    logits_ptr, logits_stride_t, logits_stride_v, total,  # [T, width], T
    token_ptr, token_stride, rows_ptr, rows_stride, temperature_ptr, temperature_stride,  # [R]
    cut_logit_ptr, cut_logit_stride, cut_id_ptr, cut_id_stride,  # [R]
    found_ptr, width, first,  # out float32 [R]
    HAS_CUT: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    wait_for_another(PDL)
    entry = tl.program_id(0).to(tl.int64)
    row, _temperature, cut_logit, cut_id = entry_of(
        entry, total, rows_ptr, rows_stride, temperature_ptr, temperature_stride,
        cut_logit_ptr, cut_logit_stride, cut_id_ptr, cut_id_stride,
    )  # fmt: skip
    token = tl.load(token_ptr + entry * token_stride).to(tl.int64) - first
    token = tl.where(row >= 0, token, -1)
    row_ptr = logits_ptr + row * logits_stride_t
    x, _known = sampled_logit(row_ptr, logits_stride_v, token, width, cut_logit, cut_id, HAS_CUT)
    tl.store(found_ptr + entry, x)


@triton.jit(
    do_not_specialize=[
        "total", "token_stride", "rows_stride", "temperature_stride", "chunks", "k", "found",
    ]
)  # fmt: skip
def _merge_kernel(
    total, token_ptr, token_stride, rows_ptr, rows_stride,  # T, int [R], int64 [R]
    temperature_ptr, temperature_stride, sampled_ptr,  # float32 [R]
    # of all ranks: float32 [R, chunks, 2], int32 [R, chunks], int32 [R, found, 2]
    partial_ptr, at_least_ptr, tokens_ptr,
    # out: [R], [R], [R], [R, k], [R, k]
    logprob_ptr, logz_ptr, rank_ptr, topk_ids_ptr, topk_logprobs_ptr,
    vocab, chunks, k, found,
    CHUNKS: tl.constexpr, TOGETHER: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    wait_for_another(PDL)
    entry = tl.program_id(0).to(tl.int64)
    row, temperature, _cut_logit, _cut_id = entry_of(
        entry, total, rows_ptr, rows_stride, temperature_ptr, temperature_stride, None, 0, None, 0
    )
    if row < 0:
        store_nothing(
            entry, k, logprob_ptr, logz_ptr, rank_ptr, topk_ids_ptr, topk_logprobs_ptr, TOGETHER
        )
    else:
        tops, totals, at_least = load_chunks(
            entry, chunks, partial_ptr, at_least_ptr, token_ptr is not None, CHUNKS
        )
        known = row < row
        sampled = tl.full([], 0.0, tl.float32)
        if token_ptr is not None:
            token = tl.load(token_ptr + entry * token_stride).to(tl.int64)
            known = (token >= 0) & (token < vocab)
            sampled = tl.load(sampled_ptr + entry)
        origin, log_total = score(
            entry, tops, totals, at_least, sampled, known, temperature, vocab, logprob_ptr,
            logz_ptr, rank_ptr,
        )  # fmt: skip
        order_tokens(
            entry, k, tokens_ptr + entry * found * 2, found, origin, temperature, log_total,
            topk_ids_ptr, topk_logprobs_ptr, TOGETHER,
        )  # fmt: skip
