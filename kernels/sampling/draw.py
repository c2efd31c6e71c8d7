"""``sample`` on a GPU: one streaming pass for max and sum per chunk, then one program per row picks
a chunk by its mass and reads that chunk alone.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .._chunk_stats import best_of_row, load_stats, pick_chunk, stream_stats
from .._device import LOG2E, pick, read_cut, read_temperature, uniforms, wait_for_another
from .._hardware import after_another
from .._launch import Launcher, cdiv
from .._tile_arithmetic import cut_tile, mass, without_nan
from .._tile_loads import chunks_per_program, load_tile, streaming

DRAW_WARPS = 4


def sample_triton(
    logits: torch.Tensor,
    seeds: torch.Tensor,
    positions: torch.Tensor,
    temperature: torch.Tensor,
    cut: tuple[torch.Tensor, torch.Tensor] | None,
    stream: int,
    *,
    chunk: int,
    launch: Launcher | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """See ``kernels.sampling.sample``."""
    rows, vocab = logits.shape
    launch = launch or Launcher()
    tokens = out
    if tokens is None:
        tokens = launch.empty(rows, dtype=torch.int64, device=logits.device)
    if rows == 0:
        return tokens
    partial = stats_of_rows(logits, temperature, cut, chunk, launch)
    arguments = _arguments(logits, temperature, cut)
    launch(
        _sample_kernel, rows,
        (
            *arguments, partial, seeds.contiguous(), positions.contiguous(), tokens, vocab,
            partial.shape[1],
        ),
        lambda: {
            "STREAM": stream, "CHUNK": chunk, "CHUNKS": triton.next_power_of_2(partial.shape[1]),
            "num_warps": DRAW_WARPS, **after_another(),
        },
    )  # fmt: skip
    return tokens


def stats_of_rows(
    logits: torch.Tensor,
    temperature: torch.Tensor,
    cut: tuple[torch.Tensor, torch.Tensor] | None,
    chunk: int,
    launch: Launcher,
    place: int = 0,
) -> torch.Tensor:
    """float32 [R, chunks, 2]: ``stream_stats`` of each row, of which there is at least one."""
    rows, vocab = logits.shape
    chunks = cdiv(vocab, chunk)
    partial = launch.empty(rows, chunks, 2, dtype=torch.float32, device=logits.device)
    per_program = chunks_per_program(rows, chunks, most=2)
    launch(
        _sample_stats_kernel, rows * cdiv(chunks, per_program),
        (*_arguments(logits, temperature, cut), partial, vocab, chunks, per_program),
        lambda: {
            "CHUNK": chunk, **streaming(logits, cut=cut is not None), **after_another(),
        },
        place,
    )  # fmt: skip
    return partial


def _arguments(
    logits: torch.Tensor,
    temperature: torch.Tensor,
    cut: tuple[torch.Tensor, torch.Tensor] | None,
) -> tuple[object, ...]:
    """What both kernels are given first."""
    return (
        logits, logits.stride(0), logits.stride(1), temperature.contiguous(),
        cut[0].contiguous() if cut else None, cut[1].contiguous() if cut else None,
    )  # fmt: skip


@triton.jit(do_not_specialize=["chunks", "per_program"])
def _sample_stats_kernel(
    logits_ptr, stride_r, stride_v,  # [R, V]
    temperature_ptr, cut_logit_ptr, cut_id_ptr,  # [R]
    partial_ptr,  # out float32 [R, chunks, 2]
    vocab, chunks, per_program,
    CHUNK: tl.constexpr, PACKED: tl.constexpr, ANYWHERE: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    wait_for_another(PDL)
    program = tl.program_id(0)
    programs = tl.cdiv(chunks, per_program)  # of one row
    first = (program % programs) * per_program
    row = (program // programs).to(tl.int64)
    cut_logit, cut_id = read_cut(cut_logit_ptr, cut_id_ptr, row, True)
    stream_stats(
        logits_ptr + row * stride_r, stride_v, vocab, cut_logit, cut_id,
        read_temperature(tl.load(temperature_ptr + row)),
        first, tl.minimum(first + per_program, chunks), partial_ptr + row * chunks * 2,
        cut_logit_ptr is not None, CHUNK, PACKED, ANYWHERE,
    )  # fmt: skip


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
    row = tl.program_id(0).to(tl.int64)
    temperature = read_temperature(tl.load(temperature_ptr + row))
    chunk_uniform, token_uniform = uniforms(
        tl.load(seed_ptr + row), tl.load(position_ptr + row), STREAM
    )
    wait_for_another(PDL)
    tops, seconds = load_stats(partial_ptr, row, chunks, CHUNKS)
    top = tl.max(tops)
    if temperature == 0.0:
        tl.store(token_ptr + row, best_of_row(tops, seconds, top))
    else:
        scale = LOG2E / temperature
        chosen, origin = pick_chunk(tops, seconds, top, scale, chunk_uniform, CHUNKS)
        row_ptr = logits_ptr + row * stride_r
        x = load_tile(row_ptr, stride_v, chosen, chosen + 1, vocab, CHUNK, None, False, False)
        if cut_logit_ptr is not None:
            cut_logit, cut_id = read_cut(cut_logit_ptr, cut_id_ptr, row, True)
            x = cut_tile(x, chosen, cut_logit, cut_id, CHUNK)
        token = chosen * CHUNK + pick(
            mass(without_nan(x, None), origin, scale), token_uniform, CHUNK
        )
        tl.store(token_ptr + row, token.to(tl.int64))
