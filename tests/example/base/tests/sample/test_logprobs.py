import numpy as np

from lantern.model_executor.layers.sample.logprobs import (
    build_output_logprobs,
    gather_logprobs,
    log_softmax,
)


def test_rank_counts_ties():
    logprobs = np.array([[-1.0, -1.0, -3.0]])
    out = gather_logprobs(logprobs, 2, np.array([1]))
    assert out.ranks.tolist() == [2]
    assert out.token_ids.tolist() == [[1, 0, 1]]


def test_no_top_logprobs_gives_one_column():
    out = gather_logprobs(np.array([[-1.0, -2.0]]), 0, np.array([1]))
    assert out.token_ids.shape == (1, 1)
    assert out.scores.tolist() == [[-2.0]]


def test_accepted_rows_are_packed_in_slot_order():
    logits = np.eye(5)
    share_inputs = {
        "accept_num": np.array([2, 1], "int32"),
        "accept_tokens": np.array([[0, 1, 0], [3, 0, 0]], "int64"),
        "cu_seqlens_q_output": np.array([0, 3, 5], "int32"),
    }
    out, offsets = build_output_logprobs(logits, share_inputs, 1)
    assert offsets.tolist() == [0, 2, 3]
    assert out.token_ids[:, 0].tolist() == [0, 1, 3]
    assert out.ranks.tolist() == [1, 1, 1]
    assert np.allclose(out.scores[0], log_softmax(logits)[0, 0])
