"""Model runner for NVIDIA GPUs."""

from __future__ import annotations

from lantern.config import SpecMethod
from lantern.ops import gpu
from lantern.spec_decode.mtp import MTPProposer
from lantern.spec_decode.ngram import NgramProposer
from lantern.worker.model_runner_base import ModelRunnerBase

TARGET_MTYPE = 3


class GPUModelRunner(ModelRunnerBase):
    def __init__(self, cfg, rank_id=0):
        super().__init__(cfg)
        self.rank_id = rank_id
        self.proposer = None
        if cfg.speculative.method == SpecMethod.MTP:
            self.proposer = MTPProposer(cfg)
        elif cfg.speculative.method == SpecMethod.NGRAM:
            self.proposer = NgramProposer(cfg)

    def set_logprobs_width(self, requests):
        """The widest top-k any request of this batch asked for; None skips logprobs."""
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
        """One decoding step over `logits` float [sum of row counts, V]."""
        self.prepare(requests, drafts)
        self.set_logprobs_width(requests)
        return self.sampler(logits, self.share_inputs, self.max_logprobs)

    def save_output(self, output):
        """Send one step to the engine."""
        if output.logprobs is None:
            gpu.spec_send_plain(
                output.accept_tokens,
                output.accept_num,
                self.share_inputs["not_need_stop"],
                self.rank_id,
            )
            return
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

    def propose(self):
        if self.proposer is not None:
            self.proposer.run(self.share_inputs)

    def capture_methods(self):
        """Speculative methods whose decoding step is captured into a graph."""
        return [SpecMethod.MTP, SpecMethod.NGRAM]
