"""`kernels.accept`: decoding, prefill and idle slots, counts that reach too far."""

from __future__ import annotations

import torch

from kernels.accept import accept
from kernels.cases._case import Case, Given, Inputs, Outputs, offsets


def _slots(device: torch.device) -> Given:
    inputs = Inputs(1, device)
    batch, width = inputs.size(9, 256), 4
    owned = inputs.ints(0, width + 1, batch, dtype=torch.int32)
    return {
        "accept_tokens": inputs.ints(0, 1000, batch, width),
        "accept_num": inputs.ints(-1, width + 3, batch, dtype=torch.int32),
        "cu_seqlens_q_output": offsets(owned),
        "seq_lens_encoder": inputs.one_of([0, 0, 7], batch, dtype=torch.int32),
        "logits": None,
    }


def _with_logits(device: torch.device) -> Given:
    given = _slots(device)
    inputs = Inputs(2, device)
    rows = int(given["cu_seqlens_q_output"][-1])
    return given | {"logits": inputs.logits(rows, inputs.size(129, 8192))}


def _call(given: Given) -> Outputs:
    done = accept(**given)
    rows = {} if done.logits is None else {"logits": done.logits}
    return {
        "token_ids": done.token_ids,
        "row_index": done.row_index,
        "cu_tokens": done.cu_tokens,
        **rows,
    }


def _reference(given: Given) -> Outputs:
    from kernels.accept.reference import accept_reference

    made = accept_reference(**given)
    return {
        name: t
        for name, t in zip(("token_ids", "row_index", "cu_tokens", "logits"), made, strict=False)
        if t is not None
    }


def _defined(outputs: Outputs) -> Outputs:
    if "logits" not in outputs:
        return outputs
    return outputs | {"logits": outputs["logits"][: int(outputs["cu_tokens"][-1])]}


CASES = (
    Case("index-map", _slots, _call, _reference),
    Case("copied-logits", _with_logits, _call, _reference, _defined),
)
