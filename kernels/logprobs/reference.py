"""The law of ``logprobs``, in float64."""

from __future__ import annotations

import torch

from .._logits import processed_logits, read_temperature


def logprobs_reference(
    logits: torch.Tensor,  # [T, V]
    token_ids: torch.Tensor | None,  # int [R]
    k: int,
    rows: torch.Tensor | None,  # int64 [R]
    temperature: torch.Tensor | None,  # float32 [R]
    cut_logit: torch.Tensor | None,  # float32 [R]
    cut_id: torch.Tensor | None,  # int64 [R]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """See ``kernels.logprobs.logprobs``."""
    vocab = logits.shape[1]
    if rows is None:
        rows = torch.arange(logits.shape[0], device=logits.device)
    present = (rows >= 0) & (rows < len(logits))  # [R]
    x = processed_logits(logits[torch.where(present, rows, 0)], cut_logit, cut_id)  # [R, V]
    scale = torch.ones(len(rows), dtype=torch.float64, device=x.device)
    if temperature is not None:
        temperature = read_temperature(temperature)
        scale = torch.where(temperature == 0, 1.0, temperature.double())

    # The max goes first: next to the largest float32 a logarithm would be rounded away, in float64
    # too.
    top = x.double().amax(dim=1)  # [R]
    origin = torch.where(top == float("-inf"), 0.0, top)
    z = (x.double() - origin[:, None]) / scale[:, None]  # [R, V], at most 0
    log_total = z.logsumexp(dim=1)  # [R], -inf where the whole row is
    lp = torch.where(z == float("-inf"), z, z - log_total[:, None])
    logz = origin / scale + log_total

    token = torch.full_like(rows, -1) if token_ids is None else token_ids.long()
    known = present & (token >= 0) & (token < vocab)
    chosen = token.clamp(0, vocab - 1)[:, None]
    logprob = torch.where(known, lp.gather(1, chosen)[:, 0], float("nan"))
    # Ranks compare logits, not logprobs: distinct logits can become equal by the subtraction.
    rank = torch.where(known, (x >= x.gather(1, chosen)).sum(dim=1), 0)

    best = x.sort(dim=1, descending=True, stable=True).indices[:, :k]  # ties: lower id first
    topk_ids = torch.where(present[:, None], best, -1)
    topk_logprobs = torch.where(present[:, None], lp.gather(1, best), float("nan"))
    logz = torch.where(present, logz, float("nan"))
    return logprob.float(), rank, topk_ids, topk_logprobs.float(), logz.float()
