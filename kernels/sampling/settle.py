"""The last kept token of every row from its counts and candidates, and a token drawn from those
that are kept: one small program a row.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .._device import LOG2E, ORDER_BITS, is_kept, pick, uniforms, wait_for_another
from .._hardware import after_another
from .._launch import Launcher, cdiv
from .._tile_arithmetic import cut_tile, mass
from .._tile_loads import load_tile
from .among import UNIT, fixed_mass, load_candidates
from .bracket import Geometry
from .ending import AMONG, FAILED, HIGH, LOW, end_of_row, nth_tie
from .limits import cut_by_min_p, read_limits
from .search import best_logit, search_cut

WARPS = 8
LARGE_WARPS = 16
REGISTERS = 128  # so that two small programs share a multiprocessor
BLOCK = 8192  # tokens that a search through a row looks at together
STEP = 4096  # candidates that are weighed together


def settle_rows(
    logits: torch.Tensor,
    limits: tuple[torch.Tensor | None, ...],
    min_p: torch.Tensor | None,  # float32 [R]; a draw does not go with it
    partial: torch.Tensor | None,  # float32 [R, chunks, 2], with top_p
    bracket: torch.Tensor,  # float32 [R, 2]
    held: torch.Tensor,  # int32 [R]
    collected: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    cut: tuple[torch.Tensor, torch.Tensor],  # out float32 [R], int64 [R]
    draw: tuple[torch.Tensor, torch.Tensor, torch.Tensor, int] | None,
    geometry: Geometry,
    launch: Launcher,
    *,
    block: int = BLOCK,
) -> None:
    """Writes the cut of every row and, with ``draw`` (seeds, positions, out tokens, stream), the
    token drawn from what it keeps. Rows with many candidates, of which most calls have none, have a
    launch of their own: what they need would leave the others fewer registers.
    """
    rows, vocab = logits.shape
    chunks = cdiv(vocab, geometry.chunk)
    wide = triton.next_power_of_2(chunks)
    scratch = launch.empty(rows, wide, dtype=torch.int64, device=logits.device)
    seeds, positions, tokens, stream = draw or (None, None, None, 0)
    arguments = (
        logits, *logits.stride(), limits, min_p, partial, bracket, held, *collected, scratch, *cut,
        seeds, positions, tokens, vocab, chunks, geometry.few(vocab),
    )  # fmt: skip

    def constants(large: bool) -> dict[str, object]:
        size = geometry.room if large else geometry.small
        return {
            "STREAM": stream, "BITS": ORDER_BITS[logits.dtype], "CHUNK": geometry.chunk,
            "CHUNKS": wide, "ROOM": geometry.room, "SMALL": geometry.small, "LARGE": large,
            "SIZE": size, "BLOCK": block, "STEP": min(STEP, size),
            "num_warps": LARGE_WARPS if large else WARPS, "maxnreg": REGISTERS, **after_another(),
        }  # fmt: skip

    launch(_settle_kernel, rows, arguments, lambda: constants(False), 0)
    launch(_settle_kernel, rows, arguments, lambda: constants(True), 1)


@triton.jit(do_not_specialize=["chunks", "few"])
def _settle_kernel(
    logits_ptr, stride_r, stride_v,  # [R, V]
    limits, min_p_ptr,  # [R] each
    partial_ptr, bracket_ptr, held_ptr, counts_ptr, above_ptr, candidates_ptr,
    scratch_ptr,  # int64 [R, CHUNKS]
    cut_logit_ptr, cut_id_ptr,  # out float32 [R], int64 [R]
    seed_ptr, position_ptr, token_ptr,  # int64 [R]; out int64 [R]
    vocab, chunks, few,
    STREAM: tl.constexpr, BITS: tl.constexpr, CHUNK: tl.constexpr, CHUNKS: tl.constexpr,
    ROOM: tl.constexpr, SMALL: tl.constexpr, LARGE: tl.constexpr, SIZE: tl.constexpr,
    BLOCK: tl.constexpr, STEP: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    wait_for_another(PDL)
    row = tl.program_id(0).to(tl.int64)
    held = tl.load(held_ptr + row)
    if (held > SMALL) == LARGE:
        row_ptr = logits_ptr + row * stride_r
        DRAW: tl.constexpr = token_ptr is not None
        temperature, k, top_p = read_limits(row, limits, vocab)
        scale = LOG2E / temperature
        low = tl.load(bracket_ptr + row * 2)
        high = tl.load(bracket_ptr + row * 2 + 1)
        listed_ptr = candidates_ptr + row * ROOM * 2
        own_ptr = scratch_ptr + row * CHUNKS
        ties_high, ties_low, above = _read_counts(row, counts_ptr, above_ptr, chunks, CHUNKS)
        part, cut_logit, cut_id, wanted, top = end_of_row(
            row, k, top_p, few, vocab, temperature, low, high, tl.minimum(held, SIZE), listed_ptr,
            ties_high, ties_low, above, partial_ptr, chunks, BITS, CHUNKS, SIZE,
        )  # fmt: skip
        part = tl.where(held > SIZE, FAILED, part)  # not all of them were looked at
        origin = _origin_of(top)
        masses = tl.zeros([CHUNKS], tl.float32)
        if part == FAILED:
            if not LARGE:
                tl.store(held_ptr + row, ROOM + 1)  # for the launch after this one
            else:
                cut_logit, cut_id = search_cut(
                    row_ptr, stride_v, vocab, k, top_p, temperature, BITS, BLOCK
                )
                if DRAW or min_p_ptr is not None:
                    top = best_logit(row_ptr, stride_v, vocab, BLOCK)
                    origin = _origin_of(top)
                if DRAW:
                    masses = _masses_of_row(
                        row_ptr, stride_v, vocab, cut_logit, cut_id, origin, scale, own_ptr, chunks,
                        CHUNK, CHUNKS,
                    )  # fmt: skip
        else:
            if part != AMONG:
                cut_logit = tl.where(part == HIGH, high, low)
                ties = tl.where(part == HIGH, ties_high, ties_low)
                cut_id = nth_tie(row_ptr, stride_v, vocab, cut_logit, ties, wanted, CHUNK, CHUNKS)
            if (k == vocab) & (top_p >= 1.0):
                cut_logit = tl.full([], float("-inf"), tl.float32)
                cut_id = cut_id * 0 + vocab - 1
            if DRAW:
                masses = _masses_of_parts(
                    part, wanted, low, high, ties_high, ties_low, above, origin, scale
                )
                masses += _masses_of_candidates(
                    part, cut_logit, cut_id, origin, scale, listed_ptr, held, own_ptr, CHUNK,
                    CHUNKS, STEP,
                )  # fmt: skip
        if (part != FAILED) | LARGE:
            if min_p_ptr is not None:
                cut_logit, cut_id = cut_by_min_p(
                    row, min_p_ptr, limits, vocab, top, cut_logit, cut_id
                )
            tl.store(cut_logit_ptr + row, cut_logit)
            tl.store(cut_id_ptr + row, cut_id.to(tl.int64))
            if DRAW:
                seed, position = tl.load(seed_ptr + row), tl.load(position_ptr + row)
                chunk_uniform, token_uniform = uniforms(seed, position, STREAM)
                chosen = pick(masses, chunk_uniform, CHUNKS)
                x = load_tile(
                    row_ptr, stride_v, chosen, chosen + 1, vocab, CHUNK, None, False, False
                )
                x = cut_tile(x, chosen, cut_logit, cut_id, CHUNK)
                token = chosen * CHUNK + pick(mass(x, origin, scale), token_uniform, CHUNK)
                tl.store(token_ptr + row, token.to(tl.int64))


@triton.jit
def _origin_of(top):
    """What the logits of a row are relative to, by its largest: that, or 0 if none is finite."""
    return tl.where(top == float("-inf"), 0.0, top)


@triton.jit
def _read_counts(row, counts_ptr, above_ptr, chunks, CHUNKS: tl.constexpr):
    """Tokens of each chunk at the high and at the low logit [CHUNKS], and what lies above:
    (tokens, max, mass relative to it)."""
    chunk = tl.arange(0, CHUNKS)
    here = chunk < chunks
    at = row * chunks + chunk
    above_high = tl.load(counts_ptr + at * 4, mask=here, other=0)
    reach_high = tl.load(counts_ptr + at * 4 + 1, mask=here, other=0)
    above_low = tl.load(counts_ptr + at * 4 + 2, mask=here, other=0)
    reach_low = tl.load(counts_ptr + at * 4 + 3, mask=here, other=0)
    top = tl.full([CHUNKS], float("-inf"), tl.float32)
    total = tl.zeros([CHUNKS], tl.float32)
    if above_ptr is not None:
        top = tl.load(above_ptr + at * 2, mask=here, other=float("-inf"))
        total = tl.load(above_ptr + at * 2 + 1, mask=here, other=0.0)
    return reach_high - above_high, reach_low - above_low, (above_high, top, total)


@triton.jit
def _masses_of_parts(part, wanted, low, high, ties_high, ties_low, above, origin, scale):
    """float32 [CHUNKS]: the mass of the kept tokens that are no candidates."""
    _count, top, total = above
    first = tl.cumsum(ties_high, 0) - ties_high
    kept_high = tl.minimum(tl.maximum(wanted - first, 0), ties_high)
    kept_high = tl.where(part == HIGH, kept_high, ties_high)
    first = tl.cumsum(ties_low, 0) - ties_low
    kept_low = tl.minimum(tl.maximum(wanted - first, 0), ties_low)
    kept_low = tl.where(part == LOW, kept_low, 0)
    masses = tl.where(total > 0.0, total * tl.exp2((top - origin) * scale), 0.0)
    masses += tl.where(kept_high > 0, kept_high * _mass_of(high, origin, scale), 0.0)
    return masses + tl.where(kept_low > 0, kept_low * _mass_of(low, origin, scale), 0.0)


@triton.jit
def _mass_of(x, origin, scale):
    return tl.where(x == float("-inf"), 0.0, mass(x, origin, scale))


@triton.jit
def _masses_of_candidates(
    part, cut_logit, cut_id, origin, scale, listed_ptr, held, own_ptr,
    CHUNK: tl.constexpr, CHUNKS: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    """float32 [CHUNKS]: the mass of the kept candidates, added up as integers in any order."""
    chunk = tl.arange(0, CHUNKS)
    tl.store(own_ptr + chunk, tl.zeros([CHUNKS], tl.int64))
    tl.debug_barrier()
    for start in range(0, tl.where(part == HIGH, 0, held), STEP):
        id, x = load_candidates(listed_ptr + start * 2, held - start, STEP)
        kept = (x > float("-inf")) & is_kept(x, id, cut_logit, cut_id)
        weight = fixed_mass(x, origin, scale)
        tl.atomic_add(
            own_ptr + id // CHUNK, weight, mask=kept & (weight > 0), sem="relaxed", scope="cta"
        )
    tl.debug_barrier()
    return tl.load(own_ptr + chunk, volatile=True).to(tl.float32) / UNIT


@triton.jit
def _masses_of_row(
    row_ptr, stride, vocab, cut_logit, cut_id, origin, scale, own_ptr, chunks,
    CHUNK: tl.constexpr, CHUNKS: tl.constexpr,
):  # fmt: skip
    """float32 [CHUNKS]: the mass of the kept tokens, from a pass over the row."""
    for chunk in range(0, chunks):
        x = load_tile(row_ptr, stride, chunk, chunk + 1, vocab, CHUNK, None, False, False)
        x = cut_tile(x, chunk, cut_logit, cut_id, CHUNK)
        weight = (tl.sum(mass(x, origin, scale)) * UNIT).to(tl.int64)
        tl.store(own_ptr + chunk, weight)
    tl.debug_barrier()
    here = tl.arange(0, CHUNKS)
    masses = tl.load(own_ptr + here, mask=here < chunks, other=0, volatile=True)
    return masses.to(tl.float32) / UNIT
