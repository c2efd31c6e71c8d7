"""The n-gram kernels against plain Python, where the device ops are built."""

import numpy as np
import pytest

from lantern.ops import gpu


def reference_ngram_match(inputs, max_ngram_size):
    """What ngram_match.cu does: the history is the generated part of token_ids_all."""
    for bid in range(len(inputs["seq_lens_this_time"])):
        prompt_len = int(inputs["prompt_lens"][bid, 0])
        cur_step_idx = int(inputs["step_idx"][bid, 0])
        row = inputs["token_ids_all"][bid].tolist()
        prompt, history = row[:prompt_len], row[prompt_len:]
        room = int(inputs["max_dec_len"][bid, 0]) - cur_step_idx - 1
        wanted = min(int(inputs["draft_token_num"][bid, 0]), room)
        inputs["seq_lens_this_time"][bid] = 1
        for n in range(max_ngram_size, 0, -1):
            if cur_step_idx < n:
                continue
            tail = history[cur_step_idx - n : cur_step_idx]
            drafts = _after(prompt, tail, wanted) or _after(history[:cur_step_idx], tail, wanted)
            if drafts:
                inputs["draft_tokens"][bid, 1 : 1 + len(drafts)] = drafts
                inputs["seq_lens_this_time"][bid] = 1 + len(drafts)
                break


def reference_hybrid_ngram_match(inputs, max_ngram_size, min_ngram_size, max_draft_tokens):
    """What ngram_match_mixed.cu does: the history is the draft model's pre_ids."""
    for bid in range(len(inputs["seq_lens_this_time"])):
        drafted = int(inputs["seq_lens_this_time"][bid])
        cur_step_idx = int(inputs["step_idx"][bid, 0])
        prompt = inputs["input_ids"][bid, : int(inputs["input_ids_len"][bid, 0])].tolist()
        history = inputs["pre_ids"][bid].tolist()
        room = int(inputs["max_dec_len"][bid, 0]) - cur_step_idx - 1
        wanted = min(max_draft_tokens - drafted + 1, room)
        for n in range(max_ngram_size, min_ngram_size - 1, -1):
            if cur_step_idx < n:
                continue
            tail = history[cur_step_idx + 1 - n : cur_step_idx + 1]
            drafts = _after(prompt, tail, wanted) or _after(history[:cur_step_idx], tail, wanted)
            if drafts:
                inputs["draft_tokens"][bid, drafted : drafted + len(drafts)] = drafts
                inputs["seq_lens_this_time"][bid] = drafted + len(drafts)
                break


def _after(text, tail, wanted):
    for at in range(len(text) - len(tail)):
        if text[at : at + len(tail)] == tail:
            return text[at + len(tail) : at + len(tail) + max(wanted, 0)]
    return []


def make_ngram_inputs():
    """Slot 0 generated a copy of its prompt's middle; slot 1 repeats itself."""
    token_ids_all = np.zeros([2, 32], "int64")
    token_ids_all[:, :8] = np.arange(10, 18)
    generated = [[11, 12, 13], [40, 41, 42, 40, 41]]
    step_idx = np.zeros([2, 1], "int64")
    for bid, tokens in enumerate(generated):
        token_ids_all[bid, 8 : 8 + len(tokens)] = tokens
        step_idx[bid] = len(tokens)  # how many tokens were generated
    return {
        "token_ids_all": token_ids_all,
        "prompt_lens": np.full([2, 1], 8, "int64"),
        "step_idx": step_idx,
        "draft_token_num": np.full([2, 1], 3, "int32"),
        "draft_tokens": np.zeros([2, 6], "int64"),
        "seq_lens_this_time": np.ones([2], "int32"),
        "seq_lens_encoder": np.zeros([2], "int32"),
        "seq_lens_decoder": np.ones([2], "int32"),
        "max_dec_len": np.full([2, 1], 20, "int64"),
    }


def make_hybrid_inputs():
    """The draft model's history: entry 0 is unused, step_idx is the newest entry's index."""
    pre_ids = np.zeros([1, 32], "int64")
    history = [21, 22, 23, 24]
    pre_ids[0, 1 : 1 + len(history)] = history
    input_ids = np.zeros([1, 16], "int64")
    input_ids[0, :6] = [22, 23, 24, 25, 26, 27]
    return {
        "input_ids": input_ids,
        "input_ids_len": np.full([1, 1], 6, "int64"),
        "pre_ids": pre_ids,
        "step_idx": np.full([1, 1], len(history), "int64"),
        "draft_tokens": np.zeros([1, 6], "int64"),
        "seq_lens_this_time": np.full([1], 2, "int32"),
        "max_dec_len": np.full([1, 1], 20, "int64"),
    }


def test_reference_ngram_match():
    inputs = make_ngram_inputs()
    reference_ngram_match(inputs, 3)
    assert inputs["seq_lens_this_time"].tolist() == [4, 4]
    assert inputs["draft_tokens"][0, 1:4].tolist() == [14, 15, 16]
    assert inputs["draft_tokens"][1, 1:4].tolist() == [42, 40, 41]


def test_reference_ngram_match_before_the_first_token():
    inputs = make_ngram_inputs()
    inputs["step_idx"][:] = 0
    reference_ngram_match(inputs, 3)
    assert inputs["seq_lens_this_time"].tolist() == [1, 1]


def test_reference_hybrid_ngram_match():
    inputs = make_hybrid_inputs()
    reference_hybrid_ngram_match(inputs, 3, 1, 5)
    assert inputs["seq_lens_this_time"].tolist() == [5]
    assert inputs["draft_tokens"][0, 2:5].tolist() == [25, 26, 27]


@pytest.mark.skipif(not gpu.AVAILABLE, reason="needs the compiled GPU ops")
def test_ngram_match_op():
    inputs, expected = make_ngram_inputs(), make_ngram_inputs()
    reference_ngram_match(expected, 3)
    gpu.ngram_match(*inputs.values(), 3)
    assert inputs["draft_tokens"].tolist() == expected["draft_tokens"].tolist()


@pytest.mark.skipif(not gpu.AVAILABLE, reason="needs the compiled GPU ops")
def test_hybrid_ngram_match_op():
    inputs, expected = make_hybrid_inputs(), make_hybrid_inputs()
    reference_hybrid_ngram_match(expected, 3, 1, 5)
    gpu.hybrid_ngram_match(*inputs.values(), 3, 1, 5)
    assert inputs["draft_tokens"].tolist() == expected["draft_tokens"].tolist()
