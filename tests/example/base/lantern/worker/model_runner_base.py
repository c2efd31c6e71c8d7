"""What every hardware's model runner shares."""

from __future__ import annotations

import numpy as np

from lantern.model_executor.layers.sample.sampler import SpeculativeSampler


class ModelRunnerBase:
    def __init__(self, cfg):
        self.cfg = cfg
        self.vocab_size = cfg.vocab_size
        self.enable_logprob = cfg.enable_logprob
        self.speculative_decoding = cfg.speculative.method is not None
        self.max_logprobs = None
        self.sampler = SpeculativeSampler(cfg)
        self.share_inputs = self._allocate()

    def _allocate(self):
        bsz = self.cfg.max_num_seqs
        width = self.cfg.speculative.num_speculative_tokens + 1
        return {
            "token_ids_all": np.zeros([bsz, self.cfg.max_model_len], "int64"),
            "prompt_lens": np.zeros([bsz, 1], "int64"),
            "step_idx": np.zeros([bsz, 1], "int64"),
            "draft_tokens": np.zeros([bsz, width], "int64"),
            "draft_token_num": np.zeros([bsz, 1], "int32"),
            "accept_tokens": np.zeros([bsz, width], "int64"),
            "accept_num": np.zeros([bsz], "int32"),
            "seq_lens_this_time": np.zeros([bsz], "int32"),
            "seq_lens_encoder": np.zeros([bsz], "int32"),
            "seq_lens_decoder": np.zeros([bsz], "int32"),
            "cu_seqlens_q_output": np.zeros([bsz + 1], "int32"),
            "max_dec_len": np.full([bsz, 1], self.cfg.max_model_len, "int64"),
            "stop_flags": np.zeros([bsz], "bool"),
            "preempted_idx": np.zeros([bsz], "int32"),
            "not_need_stop": np.ones([1], "bool"),
        }

    def prepare(self, requests, drafts):
        """Fill the step's inputs: one row of logits for the last token and one for each draft."""
        for slot, (request, tokens) in enumerate(zip(requests, drafts, strict=True)):
            known = [*request.prompt_token_ids, *request.output_token_ids]
            self.share_inputs["token_ids_all"][slot, : len(known)] = known
            self.share_inputs["prompt_lens"][slot] = len(request.prompt_token_ids)
            self.share_inputs["step_idx"][slot] = len(request.output_token_ids)
            self.share_inputs["draft_tokens"][slot, 1 : 1 + len(tokens)] = tokens
            self.share_inputs["seq_lens_this_time"][slot] = 1 + len(tokens)
            self.share_inputs["seq_lens_decoder"][slot] = len(known)
        lengths = self.share_inputs["seq_lens_this_time"]
        self.share_inputs["cu_seqlens_q_output"][1:] = np.cumsum(lengths)
