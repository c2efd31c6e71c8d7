"""A bracket in the middle of a row, narrowed: the whole row is counted against steps between its
two logits, and the step that the set ends in is the bracket from then on.

What is left is some hundreds of candidates, however many tokens the set has.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .._device import LOG2E, read_logit, wait_for_another
from .._hardware import after_another, multiprocessors
from .._launch import Launcher, cdiv
from .._tile_arithmetic import count_above, count_at_least, mass, mass_above
from .._tile_loads import WARPS, arrived_tile, load_ahead, packing
from .bracket import COUNTERS, STEPS, Geometry, whole_of
from .collect import REGISTERS
from .limits import ends_by_mass, read_limits

# Programs of one warp for each multiprocessor: more of them cost time where no row needs any.
AT_ONCE = 14
# Sums of the same masses in different orders differ by less, relative to the whole.
ROUNDING = tl.constexpr(1e-4)


def narrow_brackets(
    logits: torch.Tensor,
    limits: tuple[torch.Tensor | None, ...],
    partial: torch.Tensor | None,  # float32 [R, chunks, 2] of ``stream_stats``, with top_p
    bracket: torch.Tensor,  # float32 [R, 2], narrowed
    counters: torch.Tensor,  # int32 [R, COUNTERS], zeros
    geometry: Geometry,
    launch: Launcher,
) -> None:
    """Narrows the brackets that lie in the middle of their rows; those that begin at the best
    token, as those of a small top-k do, hold few tokens already.
    """
    rows, vocab = logits.shape
    chunks = cdiv(vocab, geometry.chunk)
    above = launch.empty(rows, chunks, 2, dtype=torch.float32, device=logits.device)
    per_program = cdiv(rows * chunks, AT_ONCE * multiprocessors(logits.device))
    launch(
        _survey_kernel, rows * cdiv(chunks, per_program),
        (
            logits, *logits.stride(), limits, partial, bracket, counters, above, vocab, chunks,
            per_program,
        ),
        lambda: {
            "CHUNK": geometry.chunk, "CHUNKS": triton.next_power_of_2(chunks), **packing(logits),
            "num_warps": WARPS, "maxnreg": REGISTERS, **after_another(),
        },
    )  # fmt: skip


@triton.jit(do_not_specialize=["chunks", "per_program"])
def _survey_kernel(
    logits_ptr, stride_r, stride_v,  # [R, V]
    limits, partial_ptr,  # [R] each, float32 [R, chunks, 2] or None
    bracket_ptr, counters_ptr,  # in and out: float32 [R, 2], int32 [R, COUNTERS]
    above_ptr,  # scratch: float32 [R, chunks, 2]
    vocab, chunks, per_program,
    CHUNK: tl.constexpr, CHUNKS: tl.constexpr, PACKED: tl.constexpr, ANYWHERE: tl.constexpr,
    PDL: tl.constexpr,
):  # fmt: skip
    wait_for_another(PDL)
    program = tl.program_id(0)
    programs = tl.cdiv(chunks, per_program)  # of one row
    first = (program % programs) * per_program
    row = (program // programs).to(tl.int64)
    low = tl.load(bracket_ptr + row * 2)
    high = tl.load(bracket_ptr + row * 2 + 1)
    if (low > float("-inf")) & (high > low):
        temperature, k, top_p = read_limits(row, limits, vocab)
        by_mass = ends_by_mass(k, top_p, vocab)
        row_ptr = logits_ptr + row * stride_r
        own_ptr = counters_ptr + row * COUNTERS
        end = tl.minimum(first + per_program, chunks)
        number = tl.arange(0, COUNTERS)
        counts = tl.zeros([COUNTERS], tl.int32)
        ahead = load_ahead(row_ptr, stride_v, first, end, vocab, CHUNK, PACKED, ANYWHERE, False)
        for chunk in range(first, end):
            tile = arrived_tile(
                ahead, row_ptr, stride_v, chunk, end, vocab, CHUNK, PACKED, ANYWHERE, False
            )
            ahead = load_ahead(
                row_ptr, stride_v, chunk + 1, end, vocab, CHUNK, PACKED, ANYWHERE, False
            )
            if PACKED is None:
                tile = read_logit(tile)
            for step in tl.static_range(STEPS):
                reach = count_at_least(tile, _step(low, high, step, logits_ptr), PACKED)
                counts += tl.where(number == step, reach, 0)
            if by_mass:
                above_high = count_above(tile, high, PACKED)
                counts += tl.where(number == STEPS, above_high, 0)
                top, total = mass_above(tile, high, above_high, LOG2E / temperature, CHUNK, PACKED)
                at = row * chunks + chunk
                tl.store(above_ptr + at * 2, top)
                tl.store(above_ptr + at * 2 + 1, total)
        tl.atomic_add(own_ptr + number, counts, mask=number <= STEPS, sem="relaxed")
        tl.debug_barrier()
        # The last program of a row sees what the others have counted.
        if tl.atomic_add(own_ptr + STEPS + 1, 1) == programs - 1:
            tl.debug_barrier()
            logit = _step(low, high, tl.arange(0, STEPS), logits_ptr)
            count = tl.load(own_ptr + tl.arange(0, STEPS), cache_modifier=".cg")
            reached = count >= k
            missed = count < k
            if partial_ptr is not None:
                if by_mass:
                    better = tl.load(own_ptr + 1 + tl.arange(0, STEPS), cache_modifier=".cg")
                    reached, missed = _by_mass(
                        row, temperature, top_p, logit, count - better, partial_ptr, above_ptr,
                        chunks, CHUNKS,
                    )  # fmt: skip
            narrow_low = tl.max(tl.where(reached & (logit < high), logit, low))
            narrow_high = tl.min(tl.where(missed, logit, high))
            tl.store(bracket_ptr + row * 2, narrow_low)
            tl.store(bracket_ptr + row * 2 + 1, narrow_high)


@triton.jit
def _step(low, high, number, logits_ptr):
    """The logit of a step, the last of which is ``high``, as the logits' type has it."""
    logit = low + (high - low) * ((number + 1) * (1.0 / STEPS))
    return logit.to(logits_ptr.dtype.element_ty).to(tl.float32)


@triton.jit
def _by_mass(
    row, temperature, top_p, logit, tokens, partial_ptr, above_ptr, chunks, CHUNKS: tl.constexpr
):  # fmt: skip
    """(whether the tokens down to each step certainly have the mass, certainly have not): each is
    worth no less than its step's logit, and no more than the next one's. ``tokens`` counts those of
    each step.
    """
    top, whole = whole_of(row, temperature, partial_ptr, chunks, CHUNKS)
    scale = LOG2E / temperature
    best = _mass_of_best(row, above_ptr, chunks, top, scale, CHUNKS)
    weight = mass(logit, top, scale)
    step = tl.arange(0, STEPS)
    next_weight = tl.max(tl.where(step[:, None] + 1 == step[None, :], weight[None, :], 0.0), axis=1)
    next_weight = tl.maximum(next_weight, weight)  # the last step's tokens have its logit
    least = best + tl.cumsum(tokens * weight, 0, reverse=True)
    most = best + tl.cumsum(tokens * next_weight, 0, reverse=True)
    goal = top_p * whole
    return least >= goal + ROUNDING * whole, most < goal - ROUNDING * whole


@triton.jit
def _mass_of_best(row, above_ptr, chunks, origin, scale, CHUNKS: tl.constexpr):
    """The mass of what lies above a row's bracket, as other programs have just stored it."""
    chunk = tl.arange(0, CHUNKS)
    at = row * chunks + chunk
    here = chunk < chunks
    tops = tl.load(above_ptr + at * 2, mask=here, other=0.0, cache_modifier=".cg")
    totals = tl.load(above_ptr + at * 2 + 1, mask=here, other=0.0, cache_modifier=".cg")
    return tl.sum(tl.where(totals > 0.0, totals * tl.exp2((tops - origin) * scale), 0.0))
