"""`kernels.message`: what a step sends.

The words are taken apart here, so that a wrong field is named.
"""

from __future__ import annotations

import torch

from kernels.cases._case import VOCAB, Case, Given, Inputs, Outputs, offsets
from kernels.message import pack_message

HEADER = 3


def _step(device: torch.device) -> Given:
    inputs = Inputs(11, device)
    batch, width, k = inputs.size(5, 256), 4, inputs.size(6, 20)
    counts = inputs.ints(0, width + 1, batch, dtype=torch.int32)
    rows = batch * width
    return {
        "sampled_token_ids": inputs.ints(0, VOCAB, rows),
        "logprob_token_ids": inputs.ints(0, VOCAB, rows, k + 1),
        "logprob_scores": inputs.normal(rows, k + 1, scale=5.0),
        "logprob_ranks": inputs.ints(1, 1000, rows),
        "accept_num": counts,
        "cu_batch_token_offset": offsets(counts),
    }


def _guarded(device: torch.device) -> Given:
    """Chunks of prompts, preempted slots, values without a place, fewer columns than there are."""
    given = _step(device)
    inputs = Inputs(12, device)
    batch = given["accept_num"].shape[0]
    given["logprob_ranks"][::7] = 1 << 40
    given["sampled_token_ids"][1::5] = -1
    return given | {
        "message_flag": 4,
        "message_id": 9,
        "running": inputs.of([False], torch.bool),
        "num_logprobs": 3,
        "seq_lens_decoder": inputs.ints(0, 8, batch, dtype=torch.int32),
        "prompt_lens": inputs.ints(0, 5, batch),
        "preempted": inputs.ints(0, 4, batch) == 0,
    }


def _call(given: Given) -> Outputs:
    return {"words": pack_message(**given)}


def _reference(given: Given) -> Outputs:
    from kernels.message.layout import CURRENT, pack_bits
    from kernels.message.reference import pack_reference

    given = dict(given)
    columns = given.pop("num_logprobs", given["logprob_token_ids"].shape[1])
    flag = given.pop("message_flag", 3)
    meta = next(f for f in CURRENT.header if f.name == "meta")
    batch, rows = given["accept_num"].shape[0], given["sampled_token_ids"].shape[0]
    words = torch.zeros(HEADER + batch + rows * (2 * columns + 1), dtype=torch.int32)
    options = {
        "message_id": 1,
        "running": True,
        "seq_lens_decoder": None,
        "prompt_lens": None,
        "preempted": None,
    }
    moved = {
        name: value.cpu() if isinstance(value, torch.Tensor) else value
        for name, value in given.items()
    }
    bits = pack_bits(meta, {"message_flag": flag, "num_logprobs": columns})
    pack_reference(**options | moved, meta=bits, columns=columns, out=words)
    return {"words": words}


def _defined(outputs: Outputs) -> Outputs:
    """The fields of a message; only the words of used rows are defined."""
    words = outputs["words"].cpu()
    columns, batch = (int(words[1]) >> 8) & 0xFFFF, int(words[2])
    batch = min(max(batch, 0), len(words) - HEADER)
    counts = words[HEADER : HEADER + batch]
    row = 2 * columns + 1
    body = words[HEADER + batch :]
    used = min(int(counts.clamp(min=0).sum()), len(body) // row)
    body = body[: used * row].view(used, row)
    return {
        "header": words[:HEADER],
        "counts": counts,
        "tokens": body[:, :columns],
        "scores": body[:, columns : 2 * columns].contiguous().view(torch.float32),
        "ranks": body[:, 2 * columns],
    }


CASES = (
    Case("top-k", _step, _call, _reference, _defined),
    Case("guarded", _guarded, _call, _reference, _defined),
)
