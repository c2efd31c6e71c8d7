"""``sample`` over shards: each rank weighs its chunks, all pick the same chunk by the weights of
all, and the rank that has it draws the token.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
import triton.language as tl

from .._chunk_stats import load_stats, pick_chunk
from .._device import LOG2E, pick, read_cut, read_temperature, uniforms, wait_for_another
from .._hardware import after_another
from .._launch import Launcher
from .._tile_arithmetic import cut_tile, mass, without_nan
from .._tile_loads import load_tile
from ..sampling.draw import DRAW_WARPS, stats_of_rows
from .exchange import Steps
from .layout import Part, Shard, chunks_of, parts_of

Cut = tuple[torch.Tensor, torch.Tensor]


def sample_shard(
    logits: torch.Tensor,
    seeds: torch.Tensor,
    positions: torch.Tensor,
    temperature: torch.Tensor,
    cut: Cut | None,
    stream: int,
    shard: Shard,
    *,
    chunk: int,
    launch: Launcher | None = None,
    out: torch.Tensor | None = None,
) -> Steps[torch.Tensor]:
    """See ``kernels.sharded.sample``."""
    rows = logits.shape[0]
    tokens = torch.empty(rows, dtype=torch.int64, device=logits.device)
    if rows == 0:
        return tokens if out is None else out
    launch = launch or Launcher()
    parts = yield from parts_of(logits, shard, chunk)
    counts = chunks_of(shard.bounds, chunk)
    own = []
    for place, part in enumerate(parts):
        here = cut_within(cut, part.first * chunk)
        own.append(stats_of_rows(part.logits, temperature, here, chunk, launch, place))
    everyone = yield wide_chunks(own, max(counts), logits)
    partial = chunks_in_order(everyone, counts)
    chunks = partial.shape[1]
    launch(
        _draw_kernel, rows,
        (
            *_rows_of(parts), temperature.contiguous(),
            cut[0].contiguous() if cut else None, cut[1].contiguous() if cut else None, partial,
            seeds.contiguous(), positions.contiguous(), tokens, chunks,
        ),
        lambda: {
            "STREAM": stream, "CHUNK": chunk, "CHUNKS": triton.next_power_of_2(chunks),
            "num_warps": DRAW_WARPS, **after_another(),
        },
    )  # fmt: skip
    everyone = yield tokens
    return torch.amax(torch.stack(list(everyone)), dim=0, out=out)


def cut_within(cut: Cut | None, first: int) -> Cut | None:
    """The last kept token, counted from token ``first`` on."""
    return None if cut is None else (cut[0], cut[1] - first)


def wide_chunks(own: Sequence[torch.Tensor], most: int, logits: torch.Tensor) -> torch.Tensor:
    """What the parts have of their chunks, float32 [R, most, ...]; past it nothing is read."""
    if len(own) == 1 and own[0].shape[1] == most:
        return own[0]
    wide = torch.empty(logits.shape[0], most, 2, dtype=torch.float32, device=logits.device)
    at = 0
    for stats in own:
        wide[:, at : at + stats.shape[1]] = stats
        at += stats.shape[1]
    return wide


def chunks_in_order(everyone: Sequence[torch.Tensor], counts: Sequence[int]) -> torch.Tensor:
    """[R, chunks, ...] of all ranks."""
    return torch.cat([own[:, :count] for own, count in zip(everyone, counts, strict=True)], dim=1)


def _rows_of(parts: Sequence[Part]) -> tuple[tuple[object, ...], tuple[object, ...]]:
    """(logits [R, width], strides, width, first chunk, chunks) of two parts; no logits where there
    is none."""
    given = [
        (
            part.logits, part.logits.stride(0), part.logits.stride(1), part.logits.shape[1],
            part.first, part.chunks,
        )
        for part in parts
    ]  # fmt: skip
    first, second = [*given, (None, 0, 0, 0, 0, 0), (None, 0, 0, 0, 0, 0)][:2]
    return first, second


@triton.jit
def _token_of_part(
    part, row, chosen, cut_logit_ptr, cut_id_ptr, origin, scale, uniform, CHUNK: tl.constexpr
):
    """The token that is drawn from chunk ``chosen``, int64; -1 if it is no chunk of this part."""
    logits_ptr, stride_r, stride_v, width, first, chunks = part
    token = tl.full([], -1, tl.int64)
    local = chosen - first
    if (local >= 0) & (local < chunks):
        x = load_tile(
            logits_ptr + row * stride_r, stride_v, local, local + 1, width, CHUNK, None, False,
            False,
        )  # fmt: skip
        if cut_logit_ptr is not None:
            cut_logit, cut_id = read_cut(cut_logit_ptr, cut_id_ptr, row, True)
            x = cut_tile(x, chosen, cut_logit, cut_id, CHUNK)
        place = pick(mass(without_nan(x, None), origin, scale), uniform, CHUNK)
        token = (chosen * CHUNK + place).to(tl.int64)
    return token


@triton.jit(do_not_specialize=["chunks"])
def _draw_kernel(
    one, other,  # the parts of this rank
    temperature_ptr, cut_logit_ptr, cut_id_ptr,  # [R]
    partial_ptr, seed_ptr, position_ptr,  # float32 [R, chunks, 2], int64 [R] twice
    token_ptr,  # out int64 [R]; -1 where another rank draws
    chunks,
    STREAM: tl.constexpr, CHUNK: tl.constexpr, CHUNKS: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    wait_for_another(PDL)
    row = tl.program_id(0).to(tl.int64)
    temperature = read_temperature(tl.load(temperature_ptr + row))
    tops, seconds = load_stats(partial_ptr, row, chunks, CHUNKS)
    top = tl.max(tops)
    if temperature == 0.0:
        # Ids were counted from the first chunk of their part on.
        within = seconds.to(tl.int32, bitcast=True) & (CHUNK - 1)
        ids = tl.arange(0, CHUNKS) * CHUNK + within
        token = tl.min(tl.where(tops == top, ids, 2147483647)).to(tl.int64)
    else:
        chunk_uniform, token_uniform = uniforms(
            tl.load(seed_ptr + row), tl.load(position_ptr + row), STREAM
        )
        scale = LOG2E / temperature
        chosen, origin = pick_chunk(tops, seconds, top, scale, chunk_uniform, CHUNKS)
        token = tl.full([], -1, tl.int64)
        if one[0] is not None:
            token = _token_of_part(
                one, row, chosen, cut_logit_ptr, cut_id_ptr, origin, scale, token_uniform, CHUNK
            )
        if other[0] is not None:
            found = _token_of_part(
                other, row, chosen, cut_logit_ptr, cut_id_ptr, origin, scale, token_uniform, CHUNK
            )
            token = tl.maximum(token, found)
    tl.store(token_ptr + row, token)
