"""Verification of the draft tokens and the logprobs of what was accepted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lantern.model_executor.layers.sample.logprobs import LogprobsTensors, build_output_logprobs


class SamplerOutput(NamedTuple):
    accept_tokens: np.ndarray  # int64 [B, num_speculative_tokens + 1]
    accept_num: np.ndarray  # int32 [B]
    logprobs: LogprobsTensors | None
    cu_batch_token_offset: np.ndarray  # int32 [B + 1]


class SpeculativeSampler:
    """Greedy verification: accept drafts while they are the target's argmax, then one bonus token."""

    def __init__(self, cfg):
        self.cfg = cfg

    def __call__(self, logits, share_inputs, max_logprobs):
        self._verify(logits.argmax(axis=-1), share_inputs)
        logprobs, offsets = build_output_logprobs(logits, share_inputs, max_logprobs)
        return SamplerOutput(
            share_inputs["accept_tokens"], share_inputs["accept_num"], logprobs, offsets
        )

    def _verify(self, target_tokens, share_inputs):
        accept_tokens = share_inputs["accept_tokens"]
        accept_num = share_inputs["accept_num"]
        for slot, length in enumerate(share_inputs["seq_lens_this_time"]):
            start = share_inputs["cu_seqlens_q_output"][slot]
            count = 0
            while count < length:
                accept_tokens[slot, count] = target_tokens[start + count]
                count += 1
                if count == length:
                    break
                if share_inputs["draft_tokens"][slot, count] != target_tokens[start + count - 1]:
                    break
            accept_num[slot] = count
