"""The law of the sampling ops, in float64."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import torch

from .._logits import probabilities, processed_logits, read_temperature
from .._random import draw, uniforms
from .adjustments import BITS, Adjustments

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


def min_p_cut_reference(
    logits: torch.Tensor,  # [R, V]
    temperature: torch.Tensor,  # float32 [R]
    cut: tuple[torch.Tensor, torch.Tensor],  # float32 [R], int64 [R]
    min_p: torch.Tensor,  # float32 [R]
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(cut_logit, cut_id, margin float64 [R]): the cut, or the logit of ``min_p`` times the best
    token's probability if that is larger; margin is how far a token is from that, relative to it.
    """
    x = processed_logits(logits)
    temperature = read_temperature(temperature)
    top = x.amax(dim=1)
    limited = (min_p > 0) & (temperature > 0) & (top > float("-inf"))
    part = torch.where(limited, min_p, 1.0).double().clamp(max=1.0)
    floor = top.double() + temperature.double() * part.log()
    stricter = limited & (floor > cut[0])
    logit = torch.where(stricter, floor.float(), cut[0])
    scale = torch.where(temperature > 0, temperature, 1.0).double()
    distance = ((x.double() - floor[:, None]) / scale[:, None]).abs()
    best = x == top[:, None]  # never dropped
    margin = distance.where(~best, torch.inf).amin(dim=1)
    return logit, torch.where(stricter, x.shape[1] - 1, cut[1]), margin.where(limited, torch.inf)


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


def adjust_reference(logits: torch.Tensor, given: Adjustments) -> torch.Tensor:
    """See ``kernels.sampling.adjust_logits``."""
    x = processed_logits(logits)
    for row in range(len(x)):
        if given.bitmask is not None:
            allowed = _bits(given.bitmask[row], x.shape[1])
            x[row] = x[row].where(allowed, float("-inf"))
        request = row if given.requests is None else int(given.requests[row])
        latest = [] if given.latest is None else given.latest[row].tolist()
        x[row] = _adjust_row(x[row], given, request, latest)
    return x


def _adjust_row(
    x: torch.Tensor,  # float32 [V]
    given: Adjustments,
    request: int,
    latest: list[int],
) -> torch.Tensor:
    def of(name: str) -> torch.Tensor | None:
        """The settings of this request; None for a request that has none."""
        values = getattr(given, name)
        return None if values is None or not 0 <= request < len(values) else values[request]

    vocab = len(x)
    allowed = _known(of("allowed_ids"), vocab)
    if allowed:
        only = torch.full_like(x, float("-inf"))
        only[allowed] = x[allowed]
        x = only
    ids, bias = of("bias_ids"), of("bias")
    if ids is not None and bias is not None:
        for token, more in zip(ids.tolist(), bias, strict=True):
            if 0 <= token < vocab:
                x[token] = x[token] + more
    x = _penalise(x, of)
    words = of("bad_words")
    for word in [] if words is None else words.tolist():
        *before, last = word
        before = [token for token in before if token >= 0]
        if 0 <= last < vocab and latest[len(latest) - len(before) :] == before:
            x[last] = float("-inf")
    return x


def _penalise(x: torch.Tensor, of: Callable[[str], torch.Tensor | None]) -> torch.Tensor:
    count, prompt = of("output_counts"), of("prompt_mask")
    count = torch.zeros_like(x) if count is None else count.float()
    seen = count > 0
    if prompt is not None:
        seen = seen | _bits(prompt, len(x))
    repetition = of("repetition_penalty")
    if repetition is not None and repetition > 0:
        x = torch.where(seen, x * torch.where(x > 0, 1 / repetition, repetition), x)
    frequency, presence = of("frequency_penalty"), of("presence_penalty")
    if frequency is not None:
        x = x - frequency * count
    if presence is not None:
        x = x - presence * (count > 0)
    return x


def _known(ids: torch.Tensor | None, vocab: int) -> list[int]:
    """Those that are tokens."""
    return [] if ids is None else [token for token in ids.tolist() if 0 <= token < vocab]


def _bits(words: torch.Tensor, vocab: int) -> torch.Tensor:
    """bool [V]: bit v % 32 of word v // 32."""
    token = torch.arange(vocab, device=words.device)
    return (words[token // BITS] >> (token % BITS)) & 1 == 1
