"""The engine's end of each message, buffer by buffer."""

import logging
import unittest
from types import SimpleNamespace

from lantern import host
from lantern.config import EngineConfig, SpecMethod, SpeculativeConfig
from lantern.output.token_processor import (
    MAX_BSZ,
    MAX_DRAFT_TOKENS,
    SPECULATE_MAX_BSZ,
    K,
    TokenProcessor,
)


def make_task(request_id):
    return SimpleNamespace(request_id=request_id, output_token_ids=[], eos_token_ids=[2])


class TestProcessBatchOutput(unittest.TestCase):
    def setup_token_processor(self, speculative_decoding=False, use_logprobs=False):
        method = SpecMethod.MTP if speculative_decoding else None
        cfg = EngineConfig(
            enable_logprob=use_logprobs, speculative=SpeculativeConfig(method=method)
        )
        self.sent = []
        tasks = [make_task("first"), make_task("second")]
        return TokenProcessor(cfg, tasks, self.sent.extend)

    def test_speculative_decoding_use_logprobs(self):
        """Two slots with three accepted tokens each, then the draft model's message."""
        processor = self.setup_token_processor(speculative_decoding=True, use_logprobs=True)
        # stop word
        processor.output_tokens[0, 0].set_tensor(host.to_tensor(1))
        # message flag: target
        processor.output_tokens[1, 0].set_tensor(host.to_tensor(3))
        # batch size
        processor.output_tokens[2, 0].set_tensor(host.to_tensor(2))
        # accepted tokens of each slot
        processor.output_tokens[3, 0].set_tensor(host.to_tensor(3))
        processor.output_tokens[4, 0].set_tensor(host.to_tensor(3))
        for slot in range(2):
            for row in range(3):
                for column in range(K + 1):
                    at = slot * MAX_DRAFT_TOKENS * (K + 1) + row * (K + 1) + column
                    token = 100 + at
                    processor.output_tokens[3 + MAX_BSZ + at].set_tensor(host.to_tensor(token))
                    processor.output_scores[at].set_tensor(host.to_tensor(-0.5))
                processor.output_ranks[slot * MAX_DRAFT_TOKENS + row].set_tensor(host.to_tensor(1))

        processor._handle_step_output()

        held = processor.held_target_outputs
        self.assertEqual([output.request_id for output in held], ["first", "second"])
        for output in held:
            self.assertEqual(len(output.token_ids), 3)
            self.assertEqual(len(output.top_logprobs.logprob_token_ids), 3)
            self.assertEqual(len(output.top_logprobs.logprob_token_ids[0]), K + 1)
            self.assertEqual(len(output.top_logprobs.logprobs[0]), K + 1)
            self.assertEqual(output.top_logprobs.sampled_token_ranks, [1, 1, 1])

        # message flag: draft
        processor.output_tokens[1, 0].set_tensor(host.to_tensor(4))
        processor._handle_step_output()

        self.assertEqual(len(self.sent), 2)
        for output in self.sent:
            self.assertEqual(len(output.draft_top_logprobs.logprob_token_ids[0]), K + 1)
            self.assertEqual(len(output.draft_top_logprobs.sampled_token_ranks), 3)

    def test_preempted_slot_does_not_stop_the_others(self):
        """-9 in a slot's count: that request is preempted, its neighbour goes on."""
        processor = self.setup_token_processor(speculative_decoding=True, use_logprobs=True)
        processor.output_tokens[0, 0].set_tensor(host.to_tensor(1))
        # message flag: target
        processor.output_tokens[1, 0].set_tensor(host.to_tensor(3))
        processor.output_tokens[2, 0].set_tensor(host.to_tensor(2))
        processor.output_tokens[3, 0].set_tensor(host.to_tensor(-9))
        processor.output_tokens[4, 0].set_tensor(host.to_tensor(1))

        with self.assertLogs("lantern.output", logging.INFO) as caught:
            processor._handle_step_output()

        self.assertIn("first", caught.output[0])
        self.assertEqual(processor.preempted, ["first"])
        self.assertEqual([o.request_id for o in processor.held_target_outputs], ["second"])

    def test_speculative_decoding_without_logprobs(self):
        processor = self.setup_token_processor(speculative_decoding=True, use_logprobs=False)
        # stop word, batch size, counts
        processor.output_tokens[0].set_tensor(host.to_tensor(1))
        processor.output_tokens[1].set_tensor(host.to_tensor(2))
        processor.output_tokens[2].set_tensor(host.to_tensor(2))
        processor.output_tokens[3].set_tensor(host.to_tensor(1))
        first = 2 + SPECULATE_MAX_BSZ
        processor.output_tokens[first].set_tensor(host.to_tensor(11))
        processor.output_tokens[first + 1].set_tensor(host.to_tensor(12))
        processor.output_tokens[first + MAX_DRAFT_TOKENS].set_tensor(host.to_tensor(13))

        processor._handle_step_output()

        self.assertEqual([output.token_ids for output in self.sent], [[11, 12], [13]])
        self.assertEqual(processor.accept_num_per_request, {"first": 2, "second": 1})

    def test_preempted_slot_without_logprobs(self):
        processor = self.setup_token_processor(speculative_decoding=True, use_logprobs=False)
        processor.output_tokens[1].set_tensor(host.to_tensor(1))
        processor.output_tokens[2].set_tensor(host.to_tensor(-9))

        processor._handle_step_output()

        self.assertEqual(processor.preempted, ["first"])
        self.assertEqual(self.sent, [])

    def test_normal_mode_use_logprobs(self):
        """One token per slot; the header carries the batch size and the column count."""
        processor = self.setup_token_processor(speculative_decoding=False, use_logprobs=True)
        columns = 6
        processor.output_tokens[0, 0].set_tensor(host.to_tensor(1))
        processor.output_tokens[1, 0].set_tensor(host.to_tensor(2 | (columns << 16)))
        for at in range(2 * columns):
            processor.output_tokens[2 + at].set_tensor(host.to_tensor(50 + at))
            processor.output_scores[at].set_tensor(host.to_tensor(-1.0))

        processor._handle_step_output()

        self.assertEqual([output.token_ids for output in self.sent], [[50], [50 + columns]])
        self.assertEqual(len(self.sent[0].top_logprobs.logprob_token_ids[0]), columns)

    def test_normal_mode(self):
        processor = self.setup_token_processor(speculative_decoding=False, use_logprobs=False)
        processor.output_tokens[0, 0].set_tensor(host.to_tensor(1))
        # batch size
        processor.output_tokens[1, 0].set_tensor(host.to_tensor(2))
        processor.output_tokens[2, 0].set_tensor(host.to_tensor(7))
        processor.output_tokens[3, 0].set_tensor(host.to_tensor(-9))

        processor._handle_step_output()

        self.assertEqual([output.token_ids for output in self.sent], [[7]])
        self.assertEqual(processor.preempted, ["second"])


if __name__ == "__main__":
    unittest.main()
