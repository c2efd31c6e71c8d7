"""`kernels.sampling`: exact sets, draws, candidates, parameters by token.

Rows whose draw or cut is a close call in float64 are not compared.
"""

from __future__ import annotations

import torch

from kernels._random import CHUNK
from kernels.cases._case import CLOSE, SURE, VOCAB, Case, Given, Inputs, Outputs, offsets
from kernels.sampling import (
    MAX_SEED,
    RECOVER,
    Adjustments,
    adjust_logits,
    expand_sampling_params,
    sample,
    top_k_top_p_cut,
    top_p_candidates,
)
from kernels.sharded import Shard, sample_steps, together


def _rows(device: torch.device) -> Given:
    inputs = Inputs(41, device)
    rows, vocab = inputs.size(3, 64), inputs.size(300, VOCAB)
    return {
        "logits": inputs.logits(rows, vocab),
        "temperature": inputs.one_of([0.0, 0.5, 1.0, 1.3], rows),
        "top_k": inputs.one_of([0, 1, 50, 200], rows, dtype=torch.int64),
        "top_p": inputs.one_of([0.5, 0.9, 0.99, 1.0], rows),
    }


def _draws(device: torch.device) -> Given:
    inputs = Inputs(42, device)
    given = _rows(device)
    rows = given["logits"].shape[0]
    return {
        "logits": given["logits"],
        "seeds": inputs.ints(-(2**62), 2**62, rows),
        "positions": inputs.ints(0, 2**40, rows),
        "temperature": given["temperature"],
    }


def _candidates(device: torch.device) -> Given:
    given = _rows(device)
    return {name: given[name] for name in ("logits", "temperature", "top_p")} | {"candidates": 16}


def _params(device: torch.device) -> Given:
    inputs = Inputs(44, device)
    batch = inputs.size(7, 256)
    counts = inputs.ints(0, 5, batch, dtype=torch.int32)
    return {
        "cu_seqlens_q_output": offsets(counts),
        "rows": 4 * batch,
        "infer_seed": torch.where(
            inputs.ints(0, 3, batch) == 0, MAX_SEED - 5, inputs.ints(0, 2**60, batch)
        ),
        "temperature": inputs.normal(batch).abs(),
        "top_k": inputs.ints(0, 100, batch),
        "top_p": inputs.normal(batch).sigmoid(),
        "increment": 2**61,
    }


def _cut(given: Given) -> Outputs:
    return dict(zip(("cut_logit", "cut_id"), top_k_top_p_cut(**given), strict=True))


def _cut_reference(given: Given) -> Outputs:
    from kernels.sampling.reference import top_k_top_p_cut_reference

    logit, token, margin = top_k_top_p_cut_reference(**given)
    return {"cut_logit": logit, "cut_id": token, SURE: margin > CLOSE}


def _draw(given: Given) -> Outputs:
    return {"tokens": sample(**given)}


def _draw_reference(given: Given) -> Outputs:
    from kernels.sampling.reference import sample_reference

    tokens, margin = sample_reference(**given, cut=None, stream=RECOVER, chunk=CHUNK)
    return {"tokens": tokens, SURE: margin > CLOSE}


def _best(given: Given) -> Outputs:
    return dict(zip(("ids", "scores", "lens"), top_p_candidates(**given), strict=True))


def _best_reference(given: Given) -> Outputs:
    from kernels.logprobs.reference import logprobs_reference
    from kernels.sampling.reference import cut_candidates_reference

    made = logprobs_reference(
        given["logits"], None, given["candidates"], None, given["temperature"], None, None
    )
    ids, scores = made[2], made[3]
    distance = scores.double().exp().cumsum(dim=1).sub(given["top_p"][:, None]).abs().amin(dim=1)
    best = cut_candidates_reference(ids, scores, given["top_p"])
    return dict(zip(("ids", "scores", "lens"), best, strict=True)) | {SURE: distance > CLOSE}


def _min_p(device: torch.device) -> Given:
    inputs = Inputs(45, device)
    given = _rows(device)
    return given | {"min_p": inputs.one_of([0.0, 0.02, 0.1, 0.5], given["logits"].shape[0])}


def _kept_by(given: Given, cut_logit: torch.Tensor, cut_id: torch.Tensor) -> torch.Tensor:
    """bool [R, V]. With min-p a cut may lie anywhere between two tokens."""
    x = given["logits"].float()
    token = torch.arange(x.shape[1], device=x.device)
    tied = (x == cut_logit[:, None]) & (token <= cut_id[:, None])
    return (x > cut_logit[:, None]) | tied


def _min_p_cut(given: Given) -> Outputs:
    return {"kept": _kept_by(given, *top_k_top_p_cut(**given))}


def _min_p_reference(given: Given) -> Outputs:
    from kernels.sampling.reference import min_p_cut_reference, top_k_top_p_cut_reference

    limits = {name: value for name, value in given.items() if name != "min_p"}
    *cut, margin = top_k_top_p_cut_reference(**limits)
    logit, token, near = min_p_cut_reference(
        given["logits"], given["temperature"], (cut[0], cut[1]), given["min_p"]
    )
    return {"kept": _kept_by(given, logit, token), SURE: torch.minimum(margin, near) > CLOSE}


def _adjustments(device: torch.device) -> Given:
    inputs = Inputs(46, device)
    rows, requests, vocab = inputs.size(3, 64), inputs.size(4, 80), inputs.size(300, VOCAB)
    words = -(-vocab // 32)
    every = inputs.ints(0, 2, requests, 1) == 0
    # Different ids of one request.
    ids = inputs.ints(0, vocab, requests, 1) + 7 * torch.arange(20, device=device)
    return {
        "logits": inputs.logits(rows, vocab),
        "requests": inputs.ints(-1, requests, rows),
        "bitmask": inputs.ints(-(2**31), 2**31, rows, words, dtype=torch.int32),
        "allowed_ids": torch.where(every, -1, (ids + 70) % vocab),
        "bias_ids": ids % vocab,
        "bias": inputs.normal(requests, 20, scale=3.0),
        "repetition_penalty": inputs.one_of([1.0, 1.2, 0.8], requests),
        "frequency_penalty": inputs.one_of([0.0, 0.3], requests),
        "presence_penalty": inputs.one_of([0.0, 0.7], requests),
        "output_counts": (inputs.ints(0, 9, requests, vocab, dtype=torch.int32) - 6).clamp(min=0),
        "prompt_mask": inputs.ints(-(2**31), 2**31, requests, words, dtype=torch.int32),
        "bad_words": inputs.ints(0, 3, requests, 5, 2),
        "latest": inputs.ints(0, 3, rows, 1),
    }


def _adjusting(given: Given) -> Adjustments:
    return Adjustments(**{name: value for name, value in given.items() if name != "logits"})


def _adjust(given: Given) -> Outputs:
    return {"adjusted": adjust_logits(given["logits"], _adjusting(given))}


def _adjust_reference(given: Given) -> Outputs:
    from kernels.sampling.reference import adjust_reference

    return {"adjusted": adjust_reference(given["logits"], _adjusting(given))}


def _draw_sharded(given: Given) -> Outputs:
    """As two GPUs do it, one of which has two thirds of the vocabulary."""
    vocab = given["logits"].shape[1]
    bounds = (0, 2 * vocab // 3, vocab)
    where = [given[name] for name in ("seeds", "positions", "temperature")]
    ranks = [
        sample_steps(
            given["logits"][:, bounds[rank] : bounds[rank + 1]], *where, Shard(bounds, rank)
        )
        for rank in range(2)
    ]
    return {"tokens": together(ranks)[0]}


EXPANDED = ("seeds", "temperature", "top_k", "top_p", "next_seed")


def _expand(given: Given) -> Outputs:
    return dict(zip(EXPANDED, expand_sampling_params(**given), strict=True))


def _expand_reference(given: Given) -> Outputs:
    from kernels.sampling.reference import expand_reference

    order = (
        "cu_seqlens_q_output",
        "rows",
        "infer_seed",
        "temperature",
        "top_k",
        "top_p",
        "increment",
    )
    return dict(zip(EXPANDED, expand_reference(*(given[name] for name in order)), strict=True))


CASES = (
    Case("top-k-top-p", _rows, _cut, _cut_reference),
    Case("min-p", _min_p, _min_p_cut, _min_p_reference),
    Case("adjust", _adjustments, _adjust, _adjust_reference),
    Case("draw", _draws, _draw, _draw_reference),
    Case("draw-sharded", _draws, _draw_sharded, _draw_reference),
    Case("candidates", _candidates, _best, _best_reference, tolerance={"scores": 1e-6}),
    Case("expand", _params, _expand, _expand_reference),
)
