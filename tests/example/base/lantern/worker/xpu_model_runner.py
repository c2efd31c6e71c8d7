"""Model runner for XPUs: no logprobs under speculative decoding yet."""

from __future__ import annotations

from lantern.config import SpecMethod
from lantern.ops import xpu
from lantern.worker.model_runner_base import ModelRunnerBase


class XPUModelRunner(ModelRunnerBase):
    def __init__(self, cfg, rank_id=0):
        super().__init__(cfg)
        self.rank_id = rank_id

    def set_logprobs_width(self, requests):
        wanted = [
            request.sampling_params.logprobs
            for request in requests
            if request.sampling_params.logprobs is not None
        ]
        if wanted and self.speculative_decoding:
            raise NotImplementedError("logprobs with speculative decoding on XPU")
        if wanted:
            self.max_logprobs = max(self.vocab_size if n < 0 else n for n in wanted)

    def execute(self, logits, requests, drafts):
        self.prepare(requests, drafts)
        self.set_logprobs_width(requests)
        return self.sampler(logits, self.share_inputs, self.max_logprobs)

    def save_output(self, output):
        xpu.xpu_spec_send_plain(
            output.accept_tokens,
            output.accept_num,
            self.share_inputs["not_need_stop"],
            self.rank_id,
        )

    def propose(self):
        if self.cfg.speculative.method == SpecMethod.NGRAM:
            xpu.xpu_ngram_match(
                self.share_inputs["token_ids_all"],
                self.share_inputs["prompt_lens"],
                self.share_inputs["step_idx"],
                self.share_inputs["draft_token_num"],
                self.share_inputs["draft_tokens"],
                self.share_inputs["seq_lens_this_time"],
                self.share_inputs["seq_lens_encoder"],
                self.share_inputs["seq_lens_decoder"],
                self.share_inputs["max_dec_len"],
                self.cfg.speculative.max_ngram_size,
            )

    def capture_methods(self):
        return [SpecMethod.MTP]
