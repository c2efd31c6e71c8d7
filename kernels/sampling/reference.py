"""The law of the sampling ops, in float64."""

from __future__ import annotations

from itertools import pairwise

import torch

from .._logits import probabilities, processed_logits, read_temperature
from .._random import draw, uniforms

MAX_SEED = 9223372036854775806


def top_k_top_p_cut_reference(
    logits: torch.Tensor,  # [R, V]
    temperature: torch.Tensor,  # float32 [R]
    top_k: torch.Tensor | None,  # int [R]
    top_p: torch.Tensor | None,  # float32 [R]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(cut_logit, cut_id, margin float64 [R]): margin is how far the mass was from ending the set
    elsewhere."""
    vocab = logits.shape[1]
    temperature = read_temperature(temperature)
    x = processed_logits(logits)
    ordered, ids = x.sort(dim=1, descending=True, stable=True)
    place = torch.arange(vocab, device=x.device)

    kept = torch.full((len(x),), vocab, dtype=torch.int64, device=x.device)
    if top_k is not None:
        kept = torch.where((top_k > 0) & (top_k < vocab), top_k.long(), kept)
    kept = torch.where(temperature == 0, 1, kept)

    everything = kept == vocab
    margin = torch.full(kept.shape, torch.inf, dtype=torch.float64, device=x.device)
    if top_p is not None:
        p = probabilities(logits, temperature).gather(1, ids)  # [R, V], best first
        until = torch.where(place < kept[:, None], p, 0.0).cumsum(dim=1)
        total = until[:, -1:]
        goal = top_p[:, None].double() * total
        limited = (top_p < 1) & (temperature != 0)
        enough = (until >= goal).int().argmax(dim=1) + 1
        kept = torch.where(limited, torch.minimum(kept, enough), kept)
        everything &= ~limited
        # Only prefixes that end at a token with mass are ends.
        distance = torch.where(p > 0, (until - goal).abs(), torch.inf).amin(dim=1)
        margin = torch.where(limited & (total[:, 0] > 0), distance, margin)
    last = (kept - 1)[:, None]
    logit = torch.where(everything, float("-inf"), ordered.gather(1, last)[:, 0])
    return logit, torch.where(everything, vocab - 1, ids.gather(1, last)[:, 0]), margin


def sample_reference(
    logits: torch.Tensor,  # [R, V]
    seeds: torch.Tensor,  # int64 [R]
    positions: torch.Tensor,  # int64 [R]
    temperature: torch.Tensor,  # float32 [R]
    cut: tuple[torch.Tensor, torch.Tensor] | None,
    stream: int,
    *,
    chunk: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """(tokens int64 [R], margin float64 [R])."""
    p = probabilities(logits, temperature, *(cut or (None, None)))
    token, margin = draw(p, uniforms(seeds, positions, stream), chunk)
    return token, torch.where((p > 0).sum(dim=1) <= 1, torch.inf, margin)


def cut_candidates_reference(
    ids: torch.Tensor,  # int64 [T, C], best first
    logprobs: torch.Tensor,  # float32 [T, C]
    top_p: torch.Tensor,  # float32 [T]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """See ``kernels.sampling.top_p_candidates``."""
    columns = ids.shape[1]
    scores = logprobs.double().exp().float()
    until = scores.double().cumsum(dim=1)
    reached = until >= top_p[:, None]
    lens = torch.where(reached.any(dim=1), reached.int().argmax(dim=1) + 1, columns)
    valid = torch.arange(columns, device=ids.device) < lens[:, None]
    return torch.where(valid, ids, 0), torch.where(valid, scores, 0.0), lens.int()


def expand_reference(
    cu_seqlens_q_output: torch.Tensor,  # int [B+1]
    rows: int,
    infer_seed: torch.Tensor,  # int64 [B]
    temperature: torch.Tensor,  # float32 [B]
    top_k: torch.Tensor,  # int64 [B]
    top_p: torch.Tensor,  # float32 [B]
    increment: int,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """See ``kernels.sampling.expand_sampling_params``."""
    device = infer_seed.device
    seeds = torch.zeros(rows, dtype=torch.int64, device=device)
    scale = torch.zeros(rows, dtype=torch.float32, device=device)
    k = torch.zeros(rows, dtype=torch.int64, device=device)
    p = torch.ones(rows, dtype=torch.float32, device=device)
    bounds = cu_seqlens_q_output.tolist()
    for b, (start, end) in enumerate(pairwise(bounds)):
        seeds[start:end] = _add(infer_seed[b], 4 * torch.arange(end - start, device=device))
        scale[start:end], k[start:end], p[start:end] = temperature[b], top_k[b], top_p[b]
    return seeds, scale, k, p, _add(infer_seed, torch.tensor(increment, device=device))


def _add(seed: torch.Tensor, more: torch.Tensor) -> torch.Tensor:
    """(seed + more) % MAX_SEED without leaving 64 bits: both are below MAX_SEED."""
    return torch.where(seed >= MAX_SEED - more, seed - (MAX_SEED - more), seed + more)
