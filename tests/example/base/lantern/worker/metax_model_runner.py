"""Model runner for MetaX GPUs; it runs the GPU ops."""

from __future__ import annotations

from lantern.config import SpecMethod
from lantern.ops import gpu
from lantern.spec_decode.mtp import MTPProposer
from lantern.worker.model_runner_base import ModelRunnerBase

TARGET_MTYPE = 3


class MetaxModelRunner(ModelRunnerBase):
    def __init__(self, cfg, rank_id=0):
        super().__init__(cfg)
        self.rank_id = rank_id
        self.proposer = MTPProposer(cfg) if cfg.speculative.method == SpecMethod.MTP else None

    def set_logprobs_width(self, requests):
        wanted = [
            request.sampling_params.logprobs
            for request in requests
            if request.sampling_params.logprobs is not None
        ]
        if wanted:
            self.max_logprobs = (
                max(self.vocab_size if n < 0 else n for n in wanted)
                if not self.speculative_decoding
                else 20
            )
        elif self.enable_logprob:
            self.max_logprobs = 0 if self.speculative_decoding else None

    def execute(self, logits, requests, drafts):
        self.prepare(requests, drafts)
        self.set_logprobs_width(requests)
        return self.sampler(logits, self.share_inputs, self.max_logprobs)

    def save_output(self, output):
        gpu.spec_send_topk(
            output.accept_tokens,
            output.logprobs.token_ids,
            output.logprobs.scores,
            output.logprobs.ranks,
            output.accept_num,
            output.cu_batch_token_offset,
            self.share_inputs["not_need_stop"],
            self.share_inputs["seq_lens_decoder"],
            self.share_inputs["prompt_lens"],
            self.share_inputs["preempted_idx"],
            TARGET_MTYPE,
            self.rank_id,
        )

    def capture_methods(self):
        return [SpecMethod.MTP]
