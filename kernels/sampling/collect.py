"""The passes over whole rows: the mass of chunks, and tokens counted against a row's bracket."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .._chunk_stats import stream_stats
from .._device import LOG2E, read_logit, wait_for_another
from .._hardware import after_another, multiprocessors
from .._launch import Launcher, cdiv
from .._tile_arithmetic import between, count_above, count_at_least, mass_above
from .._tile_loads import WARPS, arrived_tile, load_ahead, packing, streaming
from .bracket import Geometry
from .limits import ends_by_mass, read_limits

AT_ONCE = 20  # programs of one warp that a multiprocessor holds
REGISTERS = 160
ROWS = tl.constexpr(8)  # tokens of a lane that one word has bits for, or pairs of tokens


def _chunks_per_program(rows: int, chunks: int, processors: int) -> int:
    """As many as it takes to have every program run at once; if those are too many for that, a
    few."""
    at_once = cdiv(rows * chunks, AT_ONCE * processors)
    return at_once if at_once <= 8 else 4


def mass_of_chunks(
    logits: torch.Tensor,
    limits: tuple[torch.Tensor | None, ...],
    geometry: Geometry,
    launch: Launcher,
) -> torch.Tensor:
    """float32 [R, chunks, 2]: ``stream_stats`` of the rows whose set ends by mass."""
    rows, vocab = logits.shape
    chunks = cdiv(vocab, geometry.chunk)
    partial = launch.empty(rows, chunks, 2, dtype=torch.float32, device=logits.device)
    per_program = _chunks_per_program(rows, chunks, multiprocessors(logits.device))
    launch(
        _mass_kernel, rows * cdiv(chunks, per_program),
        (logits, *logits.stride(), limits, partial, vocab, chunks, per_program),
        lambda: {
            "CHUNK": geometry.chunk, **streaming(logits), **after_another(),
        },
    )  # fmt: skip
    return partial


@triton.jit(do_not_specialize=["chunks", "per_program"])
def _mass_kernel(
    logits_ptr, stride_r, stride_v,  # [R, V]
    limits,  # [R] each
    partial_ptr,  # out float32 [R, chunks, 2]
    vocab, chunks, per_program,
    CHUNK: tl.constexpr, PACKED: tl.constexpr, ANYWHERE: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    wait_for_another(PDL)
    program = tl.program_id(0)
    programs = tl.cdiv(chunks, per_program)  # of one row
    first = (program % programs) * per_program
    row = (program // programs).to(tl.int64)
    temperature, k, top_p = read_limits(row, limits, vocab)
    if ends_by_mass(k, top_p, vocab):
        stream_stats(
            logits_ptr + row * stride_r, stride_v, vocab, 0.0, 0, temperature, first,
            tl.minimum(first + per_program, chunks), partial_ptr + row * chunks * 2,
            False, CHUNK, PACKED, ANYWHERE,
        )  # fmt: skip


def collect_candidates(
    logits: torch.Tensor,
    limits: tuple[torch.Tensor | None, ...],
    bracket: torch.Tensor,  # float32 [R, 2]
    held: torch.Tensor,  # int32 [R], counted up
    geometry: Geometry,
    launch: Launcher,
    *,
    weigh: bool,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(tokens of each chunk that are above high, at least high, above low, at least low int32
    [R, chunks, 4], max and mass of those above high float32 [R, chunks, 2], candidates in any order
    int32 [R, room, 2]: id and bits of the logit).
    """
    rows, vocab = logits.shape
    device = logits.device
    chunks = cdiv(vocab, geometry.chunk)
    counts = launch.empty(rows, chunks, 4, dtype=torch.int32, device=device)
    above = launch.empty(rows, chunks, 2, dtype=torch.float32, device=device)
    candidates = launch.empty(rows, geometry.room, 2, dtype=torch.int32, device=device)
    per_program = _chunks_per_program(rows, chunks, multiprocessors(logits.device))
    launch(
        _collect_kernel, rows * cdiv(chunks, per_program),
        (
            logits, *logits.stride(), limits, bracket, held, counts, above, candidates, vocab,
            chunks, per_program,
        ),
        lambda: {
            "WEIGH": weigh, "CHUNK": geometry.chunk, "ROOM": geometry.room,
            **packing(logits), "num_warps": WARPS, "maxnreg": REGISTERS, **after_another(),
        },
    )  # fmt: skip
    return counts, above, candidates


@triton.jit(do_not_specialize=["chunks", "per_program"])
def _collect_kernel(
    logits_ptr, stride_r, stride_v,  # [R, V]
    limits,  # [R] each
    bracket_ptr, held_ptr,  # float32 [R, 2], int32 [R]
    counts_ptr, above_ptr, candidates_ptr,  # out: [R, chunks, 4], [R, chunks, 2], [R, ROOM, 2]
    vocab, chunks, per_program,
    WEIGH: tl.constexpr, CHUNK: tl.constexpr, ROOM: tl.constexpr,
    PACKED: tl.constexpr, ANYWHERE: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    wait_for_another(PDL)
    # Backwards: what the pass before read last may still be in the L2.
    program = tl.num_programs(0) - 1 - tl.program_id(0)
    programs = tl.cdiv(chunks, per_program)  # of one row
    first = (program % programs) * per_program
    row = (program // programs).to(tl.int64)
    temperature, _k, _top_p = read_limits(row, limits, vocab)
    row_ptr = logits_ptr + row * stride_r
    low = tl.load(bracket_ptr + row * 2)
    high = tl.load(bracket_ptr + row * 2 + 1)
    end = tl.minimum(first + per_program, chunks)
    lane = tl.arange(0, 32)
    ahead = load_ahead(row_ptr, stride_v, first, end, vocab, CHUNK, PACKED, ANYWHERE, False)
    for chunk in range(first, end):
        tile = arrived_tile(
            ahead, row_ptr, stride_v, chunk, end, vocab, CHUNK, PACKED, ANYWHERE, False
        )
        ahead = load_ahead(row_ptr, stride_v, chunk + 1, end, vocab, CHUNK, PACKED, ANYWHERE, False)
        if PACKED is None:
            tile = read_logit(tile)
        above_low = count_above(tile, low, PACKED)
        reach_high = count_at_least(tile, high, PACKED)
        reach_low = count_at_least(tile, low, PACKED)
        if low == float("-inf"):
            reach_low = tl.minimum(vocab - chunk * CHUNK, CHUNK)  # NaN reads as -inf
        if high == float("-inf"):
            reach_high = reach_low
        found = above_low - reach_high
        # Asked for here and looked at below: the answer takes as long as all that lies between.
        asked = tl.where(lane == 0, found, 0)
        start = tl.atomic_add(held_ptr + row + lane, asked, mask=asked > 0, sem="relaxed")
        above_high = count_above(tile, high, PACKED)
        at = row * chunks + chunk
        tl.store(counts_ptr + at * 4, above_high)
        tl.store(counts_ptr + at * 4 + 1, reach_high)
        tl.store(counts_ptr + at * 4 + 2, above_low)
        tl.store(counts_ptr + at * 4 + 3, reach_low)
        if WEIGH:
            top, total = mass_above(tile, high, above_high, LOG2E / temperature, CHUNK, PACKED)
            tl.store(above_ptr + at * 2, top)
            tl.store(above_ptr + at * 2 + 1, total)
        if found > 0:
            _store_candidates(
                tile, chunk, low, high, tl.sum(tl.where(asked > 0, start, 0)), row_ptr, stride_v,
                candidates_ptr + row * ROOM * 2, CHUNK, ROOM, PACKED,
            )  # fmt: skip


@triton.jit
def _store_candidates(
    tile, chunk, low, high, start, row_ptr, stride, candidates_ptr,
    CHUNK: tl.constexpr, ROOM: tl.constexpr, PACKED: tl.constexpr,
):  # fmt: skip
    """Stores the tokens strictly between low and high from place ``start`` on, as many as fit.

    Few of a chunk's tokens are: so each lane notes where in its own registers they are, as bits of
    a word, and the logits of those that are found are loaded again.
    """
    if PACKED is not None:
        COLUMNS: tl.constexpr = CHUNK // (2 * ROWS)
        inside = tl.reshape(between(tile, low, high, PACKED), [ROWS, COLUMNS])
        bit = tl.full([ROWS], 0x00010001, tl.int32) << tl.arange(0, ROWS)
    else:
        COLUMNS: tl.constexpr = CHUNK // ROWS
        inside = tl.reshape(-((tile > low) & ~(tile >= high)).to(tl.int32), [ROWS, COLUMNS])
        bit = tl.full([ROWS], 1, tl.int32) << tl.arange(0, ROWS)
    found = tl.sum(inside & bit[:, None], axis=0)
    count = _bits_of(found)
    place = start + tl.cumsum(count, 0) - count
    column = tl.arange(0, COLUMNS)
    for _step in range(tl.max(count)):
        lowest = found & -found
        number = (lowest.to(tl.float32).to(tl.int32, bitcast=True) >> 23) - 127
        if PACKED is not None:
            token = chunk * CHUNK + ((number & 7) * COLUMNS + column) * 2 + (number >> 4)
        else:
            token = chunk * CHUNK + number * COLUMNS + column
        fits = (found != 0) & (place < ROOM)
        x = tl.load(row_ptr + token.to(tl.int64) * stride, mask=fits, other=0.0)
        tl.store(candidates_ptr + place * 2, token, mask=fits)
        bits = read_logit(x).to(tl.int32, bitcast=True)
        tl.store(candidates_ptr + place * 2 + 1, bits, mask=fits)
        found = found ^ lowest
        place += 1


@triton.jit
def _bits_of(words):
    """How many of the bits 0 to 7 and 16 to 23 of each word are set."""
    pairs = words - ((words >> 1) & 0x00550055)
    fours = (pairs & 0x00330033) + ((pairs >> 2) & 0x00330033)
    eights = (fours + (fours >> 4)) & 0x000F000F
    return (eights + (eights >> 16)) & 31
