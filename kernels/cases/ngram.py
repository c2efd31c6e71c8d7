"""`kernels.ngram`: histories that repeat, a budget, and another proposer's drafts made longer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import partial

import torch

from kernels.cases._case import Case, Given, Inputs, Outputs
from kernels.ngram import ngram_append, ngram_propose
from kernels.ngram.inputs import NgramOptions, NgramTensors

TENSORS = tuple(field.name for field in fields(NgramTensors))
OPTIONS = {
    "max_ngram": 3,
    "min_ngram": 1,
    "match": "leftmost",
    "haystack": "prompt_first",
    "budget": None,
}


def _requests(device: torch.device, *, alphabet: int, drafts: int = 0) -> Given:
    """Half prompt, half generated, over few different tokens so that there is something to
    match."""
    inputs = Inputs(31, device)
    batch, width, length = inputs.size(6, 64), 5, inputs.size(48, 4096)
    prompt = length // 2
    step = inputs.ints(width, prompt - width - 1, batch)
    return {
        "token_ids_all": inputs.ints(0, alphabet, batch, length, dtype=torch.int32),
        "prompt_lens": inputs.full(prompt, batch, dtype=torch.int64),
        "step_idx": step,
        "draft_token_num": inputs.ints(1, width, batch, dtype=torch.int32),
        "max_dec_len": step + inputs.ints(1, 100, batch),
        "draft_tokens": inputs.ints(0, alphabet, batch, width),
        "seq_lens_this_time": inputs.full(1 + drafts, batch),
        "seq_lens_encoder": inputs.one_of([0, 0, 0, 6], batch, dtype=torch.int32),
        "seq_lens_decoder": inputs.one_of([30, 30, 0], batch, dtype=torch.int32),
        "options": {},
    }


def _one_history(device: torch.device) -> Given:
    options = {"match": "rightmost", "haystack": "one_history", "min_ngram": 2, "pad_to_max": True}
    return _requests(device, alphabet=4) | {"options": options}


def _budget(device: torch.device) -> Given:
    given = _requests(device, alphabet=3)
    return given | {"options": {"budget": 2 * given["step_idx"].shape[0]}}


def _run(op: Callable[..., None], given: Given) -> Outputs:
    op(*(given[name] for name in TENSORS), **{"max_ngram": 3} | given["options"])
    return {name: given[name] for name in ("draft_tokens", "seq_lens_this_time")}


def _reference(given: Given, *, append: bool = False) -> Outputs:
    from kernels.ngram.reference import propose_reference

    options = OPTIONS | {"pad_to_max": False} | given["options"]
    rightmost = options.pop("match") == "rightmost"
    one_history = options.pop("haystack") == "one_history"
    tensors = NgramTensors(*(given[name].cpu() for name in TENSORS))
    propose_reference(
        tensors,
        NgramOptions(rightmost=rightmost, one_history=one_history, append=append, **options),
    )
    return {name: getattr(tensors, name) for name in ("draft_tokens", "seq_lens_this_time")}


_propose, _append = partial(_run, ngram_propose), partial(_run, ngram_append)

CASES = (
    Case("leftmost", partial(_requests, alphabet=4), _propose, _reference),
    Case("one-history", _one_history, _propose, _reference),
    Case("budget", _budget, _propose, _reference),
    Case(
        "append",
        partial(_requests, alphabet=4, drafts=2),
        _append,
        partial(_reference, append=True),
    ),
)
