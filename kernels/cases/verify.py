"""`kernels.verify`: every strategy; requests with a close call in float64 are not compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch

from kernels.cases._case import CLOSE, SURE, VOCAB, Case, Given, Inputs, Outputs, offsets
from kernels.verify import CHUNK, Strategy, VerifyInputs, verify
from kernels.verify.reference import verify_reference

WIDTH = 4


def _requests(device: torch.device) -> tuple[Inputs, Given]:
    inputs = Inputs(61, device)
    batch, vocab = inputs.size(4, 64), inputs.size(100, VOCAB)
    lens = inputs.ints(0, WIDTH + 1, batch, dtype=torch.int32)
    step = inputs.ints(0, 50, batch)
    return inputs, {
        "step_input_ids": inputs.ints(0, vocab, batch, WIDTH),
        "seq_lens_this_time": lens,
        "cu_seqlens_q_output": offsets(lens),
        "step_idx": step,
        "max_dec_len": step + inputs.ints(1, 2 * WIDTH, batch),
        "end_tokens": inputs.of([3, 17], torch.int64),
        "stop_flags": inputs.ints(0, 8, batch) == 0,
    }


def _on_logits(device: torch.device, *, strategy: Strategy, dense: bool) -> Given:
    """Drafts that the target likes, so that some stand and some do not."""
    inputs, given = _requests(device)
    batch, rows = given["step_idx"].shape[0], max(1, int(given["cu_seqlens_q_output"][-1]))
    target = inputs.logits(rows, inputs.size(100, VOCAB))
    row = (given["cu_seqlens_q_output"][:-1, None] + torch.arange(WIDTH - 1, device=device)).clamp(
        max=rows - 1
    )
    near = target[row.long()].float()  # [B, WIDTH - 1, V]
    draft = (near + inputs.normal(*near.shape)).to(target.dtype)
    liked = torch.where(
        inputs.ints(0, 3, batch, WIDTH - 1) > 0, draft.float().argmax(dim=2), near.argmax(dim=2)
    )
    given["step_input_ids"][:, 1:] = liked
    given |= {"strategy": strategy, "target_logits": target}
    if strategy != Strategy.GREEDY:
        given["temperature"] = inputs.one_of([0.0, 0.7, 1.0], batch)
        given["seeds"] = inputs.ints(-(2**62), 2**62, batch)
    return given | ({"draft_logits": draft} if dense else {})


def _on_slots(device: torch.device) -> Given:
    """The draft's logits in an engine's buffer, in another order and among other requests'."""
    given = _on_logits(device, strategy=Strategy.REJECTION, dense=True)
    draft = given["draft_logits"]
    slots = torch.arange(len(draft), device=device).flip(0) + 2
    buffer = draft.new_full((len(draft) + 2, *draft.shape[1:]), float("nan"))
    buffer[slots] = draft
    return given | {"draft_logits": buffer, "draft_slots": slots.int()}


def _on_candidates(device: torch.device) -> Given:
    inputs, given = _requests(device)
    batch, rows, columns = (
        given["step_idx"].shape[0],
        max(1, int(given["cu_seqlens_q_output"][-1])),
        5,
    )
    ids = inputs.ints(0, 100, rows, columns)
    row = (given["cu_seqlens_q_output"][:-1, None] + torch.arange(WIDTH - 1, device=device)).clamp(
        max=rows - 1
    )
    given["step_input_ids"][:, 1:] = ids[row.long(), inputs.ints(0, 2, batch, WIDTH - 1)]
    scores = inputs.normal(rows, columns).softmax(dim=1).sort(dim=1, descending=True).values
    return given | {
        "strategy": Strategy.TOPP,
        "candidate_ids": ids,
        "candidate_scores": scores,
        "candidate_lens": inputs.ints(1, columns + 1, rows, dtype=torch.int32),
        "top_p": inputs.one_of([0.5, 0.9], batch),
        "seeds": inputs.ints(-(2**62), 2**62, batch),
    }


def _call(given: Given) -> Outputs:
    done = verify(VerifyInputs(**given))
    return {"accept_tokens": done.accept_tokens, "accept_num": done.accept_num}


def _reference(given: Given) -> Outputs:
    inputs = VerifyInputs(**given)
    if inputs.temperature is None:
        warm = torch.zeros(inputs.step_idx.shape[0], device=inputs.step_idx.device)
        inputs = replace(inputs, temperature=warm)
    if inputs.seeds is None:
        inputs = replace(inputs, seeds=torch.zeros_like(inputs.step_idx))
    tokens, count, margin = verify_reference(inputs, chunk=CHUNK)
    return {"accept_tokens": tokens, "accept_num": count, SURE: margin > CLOSE}


def _logits_case(name: str, strategy: Strategy, *, dense: bool = False) -> Case:
    build: Callable[[torch.device], Given] = partial(_on_logits, strategy=strategy, dense=dense)
    return Case(name, build, _call, _reference)


CASES = (
    _logits_case("greedy", Strategy.GREEDY),
    _logits_case("target-match", Strategy.TARGET_MATCH),
    _logits_case("rejection-lookup", Strategy.REJECTION),
    _logits_case("rejection-dense", Strategy.REJECTION, dense=True),
    Case("rejection-slots", _on_slots, _call, _reference),
    _logits_case("block-dense", Strategy.BLOCK, dense=True),
    Case("top-p", _on_candidates, _call, _reference),
)
