"""Drafts from the request's own history."""

from __future__ import annotations

from lantern.ops.gpu import ngram_match
from lantern.spec_decode.base import Proposer


class NgramProposer(Proposer):
    def run(self, share_inputs):
        ngram_match(
            share_inputs["token_ids_all"],
            share_inputs["prompt_lens"],
            share_inputs["step_idx"],
            share_inputs["draft_token_num"],
            share_inputs["draft_tokens"],
            share_inputs["seq_lens_this_time"],
            share_inputs["seq_lens_encoder"],
            share_inputs["seq_lens_decoder"],
            share_inputs["max_dec_len"],
            self.cfg.speculative.max_ngram_size,
        )
