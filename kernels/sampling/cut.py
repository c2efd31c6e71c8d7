"""``top_k_top_p_cut`` on a GPU, and the draw from the kept set with it.

mass of the rows that top-p alone limits -> guess a bracket from a sample -> count the row against
it -> settle, and draw

However many tokens a set has, a row is read once where it ends by count and twice where it ends by
mass. Which of the two a row needs is decided on the device: programs of rows without work end at
once.
"""

from __future__ import annotations

import torch

from .._launch import Launcher
from .bracket import Geometry, guess_brackets
from .collect import collect_candidates, mass_of_chunks
from .settle import BLOCK, settle_rows

# Of vocabularies up to this a smaller sample says enough.
COMMON_VOCAB = 163_840


def geometry_of(vocab: int) -> Geometry:
    """A sample large enough that the candidates of the middle of a flat row find room."""
    sample = 4096 if vocab <= COMMON_VOCAB else 8192
    return Geometry(
        sample=sample, large_sample=2 * sample, segment=4, room=16384, chunk=2048, small=2048
    )


def select_triton(
    logits: torch.Tensor,
    temperature: torch.Tensor,
    top_k: torch.Tensor | None,
    top_p: torch.Tensor | None,
    draw: tuple[torch.Tensor, torch.Tensor, int] | None = None,  # seeds, positions, stream
    *,
    min_p: torch.Tensor | None = None,
    geometry: Geometry | None = None,
    block: int = BLOCK,
    launch: Launcher | None = None,
    out: tuple[torch.Tensor, ...] = (),  # cut_logit, cut_id, tokens
) -> tuple[torch.Tensor, ...]:
    """(cut_logit, cut_id) and, with ``draw``, tokens; see ``kernels.sampling``; no draw with
    ``min_p``, whose kept set is not known before the row's end is. ``geometry`` and ``block`` are
    smaller in tests only."""
    rows, vocab = logits.shape
    device = logits.device
    geometry = geometry or geometry_of(vocab)
    launch = launch or Launcher()
    cut = out[:2] or (
        launch.empty(rows, dtype=torch.float32, device=device),
        launch.empty(rows, dtype=torch.int64, device=device),
    )
    drawn = None
    if draw is not None:
        tokens = out[2] if out else launch.empty(rows, dtype=torch.int64, device=device)
        drawn = (draw[0].contiguous(), draw[1].contiguous(), tokens, draw[2])
    results = cut if drawn is None else (*cut, drawn[2])
    if rows == 0:
        return results
    if min_p is not None:
        min_p = min_p.contiguous()
    limits = tuple(
        None if part is None else part.contiguous() for part in (temperature, top_k, top_p)
    )
    partial = None if top_p is None else mass_of_chunks(logits, limits, geometry, launch)
    bracket, held = guess_brackets(logits, limits, partial, geometry, launch)
    weigh = drawn is not None or top_p is not None or min_p is not None
    collected = collect_candidates(logits, limits, bracket, held, geometry, launch, weigh=weigh)
    settle_rows(
        logits, limits, min_p, partial, bracket, held, collected, cut, drawn, geometry, launch,
        block=block,
    )  # fmt: skip
    return results
