"""A proposer fills draft_tokens and seq_lens_this_time for the next step."""

from __future__ import annotations


class Proposer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.max_num_seqs = cfg.max_num_seqs
        self.num_speculative_tokens = cfg.speculative.num_speculative_tokens

    def run(self, share_inputs):
        raise NotImplementedError
