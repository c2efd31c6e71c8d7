"""The streaming pass of ``logprobs``: every chunk of every row read once, two bytes a bfloat16
logit and nothing else of size V.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .._device import LARGEST, LOG2E, wait_for_another
from .._hardware import after_another, multiprocessors
from .._launch import Launcher, cdiv
from .._tile_arithmetic import count_at_least, cut_tile, group_max, sum_exponentials
from .._tile_loads import arrived_tile, load_ahead, streaming
from .entry import counted_logit, entry_of

# Programs of one warp that a multiprocessor holds: of 96 registers, and of ``REGISTERS_ANYWHERE``.
AT_ONCE = 20
AT_ONCE_ANYWHERE = 16


def stream_chunks(
    logits: torch.Tensor,
    arguments: tuple[object, ...],
    k: int,
    entries: int,
    options: dict[str, object],
    launch: Launcher,
    place: int = 0,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(max and sum of exponentials float32 [R, chunks, 2], tokens at least as good as the sampled
    one int32 [R, chunks], max of each group [R, chunks * CHUNK // GROUP]).
    """
    vocab, device = logits.shape[1], logits.device
    chunk = options["CHUNK"]
    chunks = cdiv(vocab, chunk)
    partial = launch.empty(entries, chunks, 2, dtype=torch.float32, device=device)
    at_least = launch.empty(entries, chunks, dtype=torch.int32, device=device)
    groups = chunks * (chunk // options["GROUP"]) if k else 0
    # Of 8 bits not every type has infinities.
    dtype = logits.dtype if logits.dtype.itemsize > 1 else torch.bfloat16
    best = launch.empty(entries, groups, dtype=dtype, device=device)
    if entries:
        reading = streaming(logits, cut=options["HAS_CUT"])
        processors, anywhere = multiprocessors(device), bool(reading["ANYWHERE"])
        per_program = _chunks_per_program(entries, chunks, processors, anywhere)
        launch(
            _chunk_kernel, entries * cdiv(chunks, per_program),
            (*arguments, partial, at_least, best, vocab, chunks, per_program, k),
            lambda: {
                **options, **reading, **after_another(),
            },
            place,
        )  # fmt: skip
    return partial, at_least, best


def _chunks_per_program(rows: int, chunks: int, processors: int, anywhere: bool = False) -> int:
    """As many as it takes to have every program run at once; if those are too many for that,
    a few."""
    programs = AT_ONCE_ANYWHERE if anywhere else AT_ONCE
    at_once = cdiv(rows * chunks, programs * processors)
    return at_once if at_once <= 8 else 2


@triton.jit(
    do_not_specialize=[
        "total", "token_stride", "rows_stride", "temperature_stride", "cut_logit_stride",
        "cut_id_stride",
        "chunks", "per_program", "k",
    ]
)  # fmt: skip
def _chunk_kernel(
    logits_ptr, logits_stride_t, logits_stride_v, total,  # [T, V], T
    token_ptr, token_stride,  # int [R]; or float32 [R], see ``counted_logit``
    rows_ptr, rows_stride,  # int64 [R]
    temperature_ptr, temperature_stride,  # float32 [R]
    cut_logit_ptr, cut_logit_stride, cut_id_ptr, cut_id_stride,  # float32 [R], int64 [R]
    partial_ptr, at_least_ptr, group_max_ptr,  # out: [R, chunks, 2], [R, chunks], [R, groups]
    vocab, chunks, per_program, k,
    HAS_CUT: tl.constexpr, CHUNK: tl.constexpr, GROUP: tl.constexpr, PACKED: tl.constexpr,
    ANYWHERE: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    wait_for_another(PDL)
    program = tl.program_id(0)
    programs = tl.cdiv(chunks, per_program)  # of one row
    entry = (program // programs).to(tl.int64)
    first = (program % programs) * per_program
    row, temperature, cut_logit, cut_id = entry_of(
        entry, total, rows_ptr, rows_stride, temperature_ptr, temperature_stride,
        cut_logit_ptr, cut_logit_stride, cut_id_ptr, cut_id_stride,
    )  # fmt: skip
    if row >= 0:
        row_ptr = logits_ptr + row * logits_stride_t
        end = tl.minimum(first + per_program, chunks)
        ahead = load_ahead(
            row_ptr, logits_stride_v, first, end, vocab, CHUNK, PACKED, ANYWHERE, True
        )
        if token_ptr is not None:
            sampled = counted_logit(
                entry, token_ptr, token_stride, row_ptr, logits_stride_v, vocab, cut_logit, cut_id,
                HAS_CUT,
            )  # fmt: skip
        scale = LOG2E / temperature
        for chunk in range(first, end):
            tile = arrived_tile(
                ahead, row_ptr, logits_stride_v, chunk, end, vocab, CHUNK, PACKED, ANYWHERE, True
            )
            ahead = load_ahead(
                row_ptr, logits_stride_v, chunk + 1, end, vocab, CHUNK, PACKED, ANYWHERE, True
            )
            if HAS_CUT:
                tile = cut_tile(tile, chunk, cut_logit, cut_id, CHUNK)
            best = group_max(tile, CHUNK, GROUP, PACKED)
            largest = tl.max(best)
            at = entry * chunks + chunk
            if k > 0:
                # A max is one of its inputs, so the logits' own type holds it exactly.
                if HAS_CUT:
                    # Read as the largest float32, which a half cannot hold.
                    best = tl.where(best == LARGEST, float("inf"), best)
                group = at * (CHUNK // GROUP) + tl.arange(0, CHUNK // GROUP)
                tl.store(group_max_ptr + group, best.to(group_max_ptr.dtype.element_ty))
            top, mass = sum_exponentials(tile, largest, scale, PACKED)
            tl.store(partial_ptr + at * 2, top)
            tl.store(partial_ptr + at * 2 + 1, mass)
            if token_ptr is not None:
                tl.store(at_least_ptr + at, count_at_least(tile, sampled, PACKED))
