import numpy as np
import pytest

from lantern.config import EngineConfig, SpecMethod, SpeculativeConfig
from lantern.request import Request, SamplingParams
from lantern.worker.gpu_model_runner import GPUModelRunner
from lantern.worker.xpu_model_runner import XPUModelRunner


def make_requests(*logprobs):
    return [
        Request(f"req-{n}", [1, 2, 3], SamplingParams(logprobs=width))
        for n, width in enumerate(logprobs)
    ]


def make_config(method=None, max_num_seqs=2):
    return EngineConfig(
        vocab_size=16,
        max_num_seqs=max_num_seqs,
        enable_logprob=True,
        speculative=SpeculativeConfig(method=method),
    )


def test_widest_request_decides():
    runner = GPUModelRunner(make_config())
    runner.set_logprobs_width(make_requests(2, 5))
    assert runner.max_logprobs == 5
    runner.set_logprobs_width(make_requests(-1))
    assert runner.max_logprobs == 16


def test_no_request_wants_logprobs():
    runner = GPUModelRunner(make_config(SpecMethod.MTP))
    runner.set_logprobs_width(make_requests(None))
    assert runner.max_logprobs == 0


def test_accepts_drafts_up_to_the_first_miss():
    runner = GPUModelRunner(make_config(SpecMethod.NGRAM))
    logits = np.zeros([5, 16], "float32")
    for row, token in enumerate([4, 5, 6, 9, 1]):
        logits[row, token] = 1.0
    out = runner.execute(logits, make_requests(None, None), [[4, 7], [9]])
    assert out.accept_num.tolist() == [2, 2]
    assert out.accept_tokens[0, :2].tolist() == [4, 5]
    assert out.accept_tokens[1, :2].tolist() == [9, 1]


def test_xpu_refuses_speculative_logprobs():
    runner = XPUModelRunner(make_config(SpecMethod.NGRAM))
    with pytest.raises(NotImplementedError):
        runner.set_logprobs_width(make_requests(1))
