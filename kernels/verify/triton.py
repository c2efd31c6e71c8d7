"""``verify`` on a GPU.

Logits go in; no [rows, V] probabilities are ever written, and the temperature is applied as logits
are loaded.

GREEDY, TARGET_MATCH   stats -> draw of every row -> match            (every target row read once)
REJECTION, BLOCK       stats -> residual mass -> finish       (every row once, the residual's again)
  with one-hot drafts  stats -> finish
TOPP                   one launch over the candidates

``stats`` leaves max and sum per chunk of each row. A draw picks a chunk by its mass and reads that
chunk alone.
"""

from __future__ import annotations

import torch

from .._launch import Launcher
from .finish import finish
from .inputs import VerifyInputs
from .match import match_drafts
from .residual import residual_mass
from .stats import row_stats
from .strategy import Strategy
from .topp import accept_candidates


def verify_triton(
    given: VerifyInputs,
    *,
    chunk: int,
    launch: Launcher | None = None,
    out: tuple[torch.Tensor, ...] = (),
) -> tuple[torch.Tensor, torch.Tensor]:
    """(accept_tokens, accept_num), in ``out`` if that is given; see ``kernels.verify.verify``."""
    batch, width = given.step_input_ids.shape
    device = given.step_input_ids.device
    launch = launch or Launcher()
    tokens, count = out or (
        launch.empty(batch, width, dtype=torch.int64, device=device),
        launch.empty(batch, dtype=torch.int32, device=device),
    )
    if batch == 0:
        return tokens, count
    if given.strategy == Strategy.TOPP:
        accept_candidates(given, tokens, count, launch)
        return tokens, count
    partial = row_stats(given, chunk, launch)
    if given.strategy in (Strategy.GREEDY, Strategy.TARGET_MATCH):
        match_drafts(given, partial, chunk, tokens, count, launch)
    else:
        residual = residual_mass(given, partial, chunk, launch)
        finish(given, partial, residual, chunk, tokens, count, launch)
    return tokens, count
