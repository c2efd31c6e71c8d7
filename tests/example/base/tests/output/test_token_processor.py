import types
from unittest import mock

import numpy as np

from lantern import host
from lantern.config import EngineConfig, SpecMethod, SpeculativeConfig
from lantern.output import token_processor
from lantern.output.token_processor import (
    MAX_BSZ,
    MAX_DRAFT_TOKENS,
    NOTHING_RECEIVED,
    SPECULATE_MAX_BSZ,
    K,
    TokenProcessor,
)
from lantern.request import RequestOutput


def _make_processor(speculative_method=None, enable_logprob=False, request_ids=("req-a",)):
    method = SpecMethod(speculative_method) if speculative_method else None
    cfg = EngineConfig(enable_logprob=enable_logprob, speculative=SpeculativeConfig(method=method))
    tasks = [
        types.SimpleNamespace(request_id=name, output_token_ids=[], eos_token_ids=[2])
        for name in request_ids
    ]
    sink = mock.Mock()
    return TokenProcessor(cfg, tasks, sink), tasks, sink


def test_logprob_message_keeps_topk():
    processor, tasks, sink = _make_processor(enable_logprob=True)
    # low 16 bits: batch size, high 16 bits: columns
    processor.output_tokens[1, 0] = 1 | ((K + 1) << 16)
    block = np.arange(K + 1, dtype=np.int64) + 3
    processor.output_tokens[2 : 2 + K + 1] = host.to_tensor(block.reshape([-1, 1]))
    processor.output_scores[: K + 1] = host.ones([K + 1, 1], "float32")
    processor.output_ranks[0] = 1

    processor._handle_step_output()

    (output,) = sink.call_args.args[0]
    assert output.token_ids == [3] == tasks[0].output_token_ids
    assert output.top_logprobs.logprob_token_ids == [block.tolist()]


def test_eos_finishes_a_request():
    processor, _, sink = _make_processor(speculative_method="mtp")
    processor.output_tokens[1] = 1
    processor.output_tokens[2] = 3
    first = 2 + SPECULATE_MAX_BSZ
    processor.output_tokens[first : first + 3] = np.array([9, 2, 8])

    processor._handle_step_output()

    (output,) = sink.call_args.args[0]
    assert output.finished
    assert output.token_ids == [9, 2]


def test_speculative_logprob_target_batch():
    processor, tasks, _ = _make_processor(speculative_method="mtp", enable_logprob=True)
    processor.output_tokens[1, 0] = 3
    processor.output_tokens[2, 0] = 1
    processor.output_tokens[3, 0] = 2
    rows = np.arange(MAX_DRAFT_TOKENS * (K + 1), dtype=np.int64).reshape([-1, 1]) + 5
    processor.output_tokens[3 + MAX_BSZ : 3 + MAX_BSZ + len(rows)] = host.to_tensor(rows)
    processor.output_scores[: len(rows)] = host.ones([len(rows), 1], "float32")

    processor._handle_step_output()

    (output,) = processor.held_target_outputs
    assert output.token_ids == [5, 5 + K + 1] == tasks[0].output_token_ids
    assert output.logprob == 1.0


def test_speculative_logprob_draft_batch():
    processor, _, sink = _make_processor(
        speculative_method="mtp", enable_logprob=True, request_ids=("req-draft",)
    )
    processor.held_target_outputs = [RequestOutput("req-draft")]
    processor.output_tokens[1, 0] = 4
    processor.output_tokens[2, 0] = 1
    processor.output_tokens[3, 0] = 1
    rows = np.arange(MAX_DRAFT_TOKENS * (K + 1), dtype=np.int64).reshape([-1, 1]) + 5
    processor.output_tokens[3 + MAX_BSZ : 3 + MAX_BSZ + len(rows)] = host.to_tensor(rows)
    processor.output_scores[: len(rows)] = host.ones([len(rows), 1], "float32")

    processor._handle_step_output()

    (output,) = sink.call_args.args[0]
    assert output.draft_top_logprobs.logprob_token_ids[0][0] == 5


def test_speculative_recovery_stop():
    processor, _, sink = _make_processor(speculative_method="ngram")
    processor.output_tokens[1] = 1
    processor.output_tokens[2] = -3

    processor._handle_step_output()

    (output,) = sink.call_args.args[0]
    assert output.finished
    assert output.token_ids == []


def test_empty_slot_is_skipped():
    processor, tasks, sink = _make_processor(request_ids=("gone", "req-b"))
    tasks[0] = None
    processor.output_tokens[1, 0] = 2
    processor.output_tokens[2, 0] = 21
    processor.output_tokens[3, 0] = 22

    processor._handle_step_output()

    (output,) = sink.call_args.args[0]
    assert output.token_ids == [22]


def test_run_once_without_a_message():
    processor, _, sink = _make_processor()

    def receive(output_tokens, wait):
        output_tokens[0, 0] = NOTHING_RECEIVED
        output_tokens[1, 0] = 0

    with mock.patch.object(token_processor.gpu, "recv_plain", receive):
        assert not processor.run_once()
    sink.assert_not_called()
