"""`kernels.logprobs`: raw and processed, an index map, ties, NaN and infinities."""

from __future__ import annotations

import torch

from kernels.cases._case import VOCAB, Case, Given, Inputs, Outputs
from kernels.logprobs import logprobs
from kernels.sharded import Shard, logprobs_steps, together

NAMES = ("logprob", "rank", "topk_ids", "topk_logprobs", "logz")
# float32 sums against the reference's float64; logits of this temper stay within 40.
TOLERANCE = {"logprob": 1e-5, "topk_logprobs": 1e-5, "logz": 2e-5}


def _raw(device: torch.device) -> Given:
    inputs = Inputs(21, device)
    rows, vocab = inputs.size(3, 64), inputs.size(600, VOCAB)
    return {"logits": inputs.logits(rows, vocab), "token_ids": inputs.ints(0, vocab, rows), "k": 20}


def _sampled(device: torch.device) -> Given:
    return _raw(device) | {"k": 0}


def _processed(device: torch.device) -> Given:
    """Each entry reads a row of its own choice, or none; the best 50 tokens are kept."""
    inputs = Inputs(22, device)
    total, rows, vocab = inputs.size(5, 96), inputs.size(4, 64), inputs.size(300, VOCAB)
    logits = inputs.logits(total, vocab, dtype=torch.float32)
    where = inputs.ints(-1, total, rows)
    where[0] = -1
    last = logits[where.clamp(min=0)].sort(dim=1, descending=True, stable=True)
    return {
        "logits": logits,
        "token_ids": inputs.ints(0, vocab, rows, dtype=torch.int32),
        "k": 5,
        "rows": where,
        "temperature": inputs.one_of([0.0, 0.6, 1.0, 1.7], rows),
        "cut_logit": last.values[:, 49].contiguous(),
        "cut_id": last.indices[:, 49].contiguous(),
    }


def _specials(device: torch.device) -> Given:
    inputs = Inputs(23, device)
    rows, vocab = inputs.size(4, 32), inputs.size(257, 32_001)
    values = [float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0]
    logits = inputs.logits(rows, vocab).float()
    odd = inputs.one_of([0.0, 0.0, 0.0, 0.0, 1.0], rows, vocab) == 1
    odd[: rows // 2] = False
    logits = torch.where(odd, inputs.one_of(values, rows, vocab), logits)
    logits[0] = float("-inf")
    logits[1] = 1.0
    return {"logits": logits.half(), "token_ids": inputs.ints(-1, vocab, rows), "k": 31}


def _far(device: torch.device) -> Given:
    """Rows whose first logit stands past 2**31, where a 32-bit offset wraps around."""
    inputs = Inputs(24, device)
    total, rows = (1 << 31) // VOCAB + 10, 4
    logits = torch.zeros(total, VOCAB, dtype=torch.bfloat16, device=device)
    logits[-rows:] = inputs.logits(rows, VOCAB)
    where = torch.arange(total - rows, total, device=device)
    return {"logits": logits, "token_ids": inputs.ints(0, VOCAB, rows), "k": 5, "rows": where}


def _call(given: Given) -> Outputs:
    done = logprobs(**given)
    return {name: getattr(done, name) for name in NAMES}


def _call_sharded(given: Given) -> Outputs:
    """As two GPUs do it, one of which has two thirds of the vocabulary."""
    vocab = given["logits"].shape[1]
    bounds = (0, 2 * vocab // 3, vocab)
    ranks = [
        logprobs_steps(
            **given | {"logits": given["logits"][:, bounds[rank] : bounds[rank + 1]]},
            shard=Shard(bounds, rank),
        )
        for rank in range(2)
    ]
    done = together(ranks)[0]
    return {name: getattr(done, name) for name in NAMES}


def _reference(given: Given) -> Outputs:
    from kernels.logprobs.reference import logprobs_reference

    order = ("rows", "temperature", "cut_logit", "cut_id")
    made = logprobs_reference(
        given["logits"], given["token_ids"], given["k"], *(given.get(name) for name in order)
    )
    return dict(zip(NAMES, made, strict=True))


CASES = (
    Case("top-20", _raw, _call, _reference, tolerance=TOLERANCE),
    Case("sampled-only", _sampled, _call, _reference, tolerance=TOLERANCE),
    Case("processed", _processed, _call, _reference, tolerance=TOLERANCE),
    Case("specials", _specials, _call, _reference, tolerance=TOLERANCE),
    Case("sharded", _processed, _call_sharded, _reference, tolerance=TOLERANCE),
    Case("far-rows", _far, _call, _reference, tolerance=TOLERANCE, gpu_only=True),
)
