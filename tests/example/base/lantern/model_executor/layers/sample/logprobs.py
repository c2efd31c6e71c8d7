"""Logprobs of the accepted tokens: log-softmax, top-k and rank."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class LogprobsTensors(NamedTuple):
    token_ids: np.ndarray  # int64 [T, num_logprobs + 1]; column 0 is the token itself
    scores: np.ndarray  # float32 [T, num_logprobs + 1]
    ranks: np.ndarray  # int64 [T]


def log_softmax(logits):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def gather_logprobs(logprobs, num_logprobs, token_ids):
    """`logprobs` float [T, V], `token_ids` int [T]. Equal scores go by the lower token id."""
    token_ids = token_ids.reshape([-1, 1])
    token_scores = np.take_along_axis(logprobs, token_ids, axis=-1)
    ranks = (logprobs >= token_scores).sum(axis=-1)
    if num_logprobs < 1:
        return LogprobsTensors(token_ids, token_scores, ranks)
    order = np.argsort(-logprobs, axis=-1, kind="stable")[:, :num_logprobs]
    top_scores = np.take_along_axis(logprobs, order, axis=-1)
    return LogprobsTensors(
        np.concatenate([token_ids, order], axis=1),
        np.concatenate([token_scores, top_scores], axis=1),
        ranks,
    )


def build_output_logprobs(logits, share_inputs, max_logprobs):
    """Logprobs of what was accepted this step, packed in slot order, and each slot's offset."""
    accept_num = share_inputs["accept_num"]
    offsets = np.concatenate([[0], np.cumsum(accept_num)]).astype("int32")
    if max_logprobs is None:
        return None, offsets
    rows = []
    token_ids = []
    for slot, count in enumerate(accept_num):
        start = share_inputs["cu_seqlens_q_output"][slot]
        rows.append(logits[start : start + count])
        token_ids.append(share_inputs["accept_tokens"][slot, :count])
    target_logits = np.concatenate(rows)
    logprobs = log_softmax(target_logits)
    return gather_logprobs(logprobs, max_logprobs, np.concatenate(token_ids)), offsets
