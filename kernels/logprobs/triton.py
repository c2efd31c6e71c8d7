"""``logprobs`` on a GPU: one streaming pass over the rows, then one small program per row.

The first kernel reads a chunk of a row once (2 bytes a bf16 logit; nothing else of size V moves)
and leaves its max, sum of exponentials and rank count, and the max of each group of 64 tokens. At
least k tokens reach the k-th best of these maxima, so every one of the k best tokens reaches it,
and is in a group that does. So the second kernel finds a threshold among V/64 maxima, reads the few
groups that reach it again, and orders the tokens that do. Ties that make these more than there is
room for are searched for in the row itself.

Chunks and groups depend on V alone, so a row's sums have the same order whatever the batch around
it.
"""

from __future__ import annotations

import torch

from .._launch import Launcher
from .._random import CHUNK
from .merge import merge_chunks_of_rows
from .stream import stream_chunks

GROUP = 64


def logprobs_triton(
    logits: torch.Tensor,
    token_ids: torch.Tensor | None,
    k: int,
    rows: torch.Tensor | None,
    temperature: torch.Tensor | None,
    cut_logit: torch.Tensor | None,
    cut_id: torch.Tensor | None,
    *,
    chunk: int = CHUNK,
    group: int = GROUP,
    launch: Launcher | None = None,
    out: tuple[torch.Tensor, ...] = (),
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """See ``kernels.logprobs.logprobs``; ``chunk`` and ``group`` are smaller in tests only."""
    launch = launch or Launcher()
    entries = logits.shape[0] if rows is None else rows.shape[0]
    arguments = (
        logits, logits.stride(0), logits.stride(1), logits.shape[0],
        *with_stride(token_ids), *with_stride(rows), *with_stride(temperature),
        *with_stride(cut_logit), *with_stride(cut_id),
    )  # fmt: skip
    options = {"HAS_CUT": cut_logit is not None, "CHUNK": chunk, "GROUP": group}
    passed = stream_chunks(logits, arguments, k, entries, options, launch)
    return merge_chunks_of_rows(logits, arguments, passed, k, entries, options, launch, out)


def with_stride(vector: torch.Tensor | None) -> tuple[torch.Tensor | None, int]:
    """An absent argument stays None, which Triton compiles away."""
    return (None, 0) if vector is None else (vector, vector.stride(0))
