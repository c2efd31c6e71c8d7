"""Rows of 16-bit logits that begin anywhere: the words of every chunk are those of the row, whatever
lies around it in memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import triton
import triton.language as tl

from tests.kernels.logits import rows_from
from tests.kernels.properties import DEVICE, same

CHUNK = 64
WORDS = {torch.bfloat16: tl.bfloat16, torch.float16: tl.float16}


def load_tiles(logits: torch.Tensor) -> torch.Tensor:
    """``load_tile`` of every chunk of every row, and of one past the last: [R, (chunks + 1) *
    CHUNK]."""
    from kernels._tile_loads import load_tile

    @triton.jit
    def kernel(
        logits_ptr, stride, vocab, chunks, out_ptr,
        LOAD: tl.constexpr, CHUNK: tl.constexpr, PACKED: tl.constexpr,
    ):  # fmt: skip
        row = tl.program_id(0)
        for chunk in range(chunks + 1):
            tile = LOAD(
                logits_ptr + row * stride, 1, chunk, chunks, vocab, CHUNK, PACKED, True, False
            )
            at = (row * (chunks + 1) + chunk) * (CHUNK // 2) + tl.arange(0, CHUNK // 2)
            tl.store(out_ptr + at, tile)

    rows, vocab = logits.shape
    chunks = -(-vocab // CHUNK)
    words = torch.zeros(rows, (chunks + 1) * CHUNK // 2, dtype=torch.int32, device=DEVICE)
    kernel[(rows,)](
        logits, logits.stride(0), vocab, chunks, words,
        LOAD=load_tile, CHUNK=CHUNK, PACKED=WORDS[logits.dtype], num_warps=1,
    )  # fmt: skip
    return words.view(logits.dtype)


def check_every_place(vocab: int, dtype: torch.dtype) -> None:
    """A row's own logits and minus infinity past the vocabulary, for every place it may begin at."""
    values = torch.randn(3, vocab, generator=torch.Generator().manual_seed(vocab)).to(dtype)
    chunks = -(-vocab // CHUNK)
    want = torch.full((3, (chunks + 1) * CHUNK), float("-inf"), dtype=dtype)
    want[:, :vocab] = values
    for before in range(8):
        got = load_tiles(rows_from(values, before))
        same(f"{before} before", got.view(torch.int16), want.view(torch.int16))


@pytest.mark.parametrize("vocab", [1, 7, 8, 63, 64, 65, 128, 131])
@pytest.mark.parametrize("dtype", list(WORDS), ids=str)
def test_words_of_rows_that_begin_anywhere(vocab: int, dtype: torch.dtype) -> None:
    check_every_place(vocab, dtype)


def every_place(dtype: torch.dtype) -> Callable[[], None]:
    """``check_every_place`` of a vocabulary with an odd last chunk, for the mutants."""
    return lambda: check_every_place(131, dtype)
