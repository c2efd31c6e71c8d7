"""Drafts from a multi-token-prediction head, lengthened with an n-gram where one matches."""

from __future__ import annotations

import numpy as np

from lantern.ops.gpu import draft_model_update, hybrid_ngram_match, mtp_send_first_token_topk
from lantern.spec_decode.base import Proposer

DRAFT_MTYPE = 4


class MTPProposer(Proposer):
    def __init__(self, cfg, rank_id=0):
        super().__init__(cfg)
        self.rank_id = rank_id
        self.model_inputs = self._allocate()

    def _allocate(self):
        bsz = self.max_num_seqs
        # The head keeps its own history: its tokens run ahead of the target's.
        return {
            "input_ids": np.zeros([bsz, self.cfg.max_model_len], "int64"),
            "input_ids_len": np.zeros([bsz, 1], "int64"),
            "pre_ids": np.zeros([bsz, self.cfg.max_model_len], "int64"),
            "step_idx": np.zeros([bsz, 1], "int64"),
            "draft_tokens": np.zeros([bsz, self.num_speculative_tokens + 1], "int64"),
            "seq_lens_this_time": np.zeros([bsz], "int32"),
            "seq_lens_encoder": np.zeros([bsz], "int32"),
            "seq_lens_decoder": np.zeros([bsz], "int32"),
            "stop_flags": np.zeros([bsz], "bool"),
            "max_dec_len": np.full([bsz, 1], self.cfg.max_model_len, "int64"),
        }

    def update(self, next_tokens, substep):
        draft_model_update(
            next_tokens,
            self.model_inputs["draft_tokens"],
            self.model_inputs["pre_ids"],
            self.model_inputs["seq_lens_this_time"],
            self.model_inputs["seq_lens_encoder"],
            self.model_inputs["seq_lens_decoder"],
            self.model_inputs["step_idx"],
            self.model_inputs["stop_flags"],
            self.model_inputs["max_dec_len"],
            substep,
        )

    def run(self, share_inputs):
        hybrid_ngram_match(
            self.model_inputs["input_ids"],
            self.model_inputs["input_ids_len"],
            self.model_inputs["pre_ids"],
            self.model_inputs["step_idx"],
            share_inputs["draft_tokens"],
            share_inputs["seq_lens_this_time"],
            share_inputs["max_dec_len"],
            self.cfg.speculative.max_ngram_size,
            self.cfg.speculative.min_ngram_size,
            self.num_speculative_tokens,
        )

    def send_first_token(self, output, share_inputs):
        mtp_send_first_token_topk(
            output.accept_tokens,
            output.logprobs.token_ids,
            output.logprobs.scores,
            output.logprobs.ranks,
            share_inputs["draft_token_num"],
            output.cu_batch_token_offset,
            share_inputs["not_need_stop"],
            share_inputs["seq_lens_decoder"],
            share_inputs["prompt_lens"],
            DRAFT_MTYPE,
            self.rank_id,
        )
