"""After a step: accepted tokens go into the history, and every slot's lengths move on."""

from __future__ import annotations

from lantern.ops import gpu, xpu


def post_process(share_inputs, end_tokens):
    gpu.unified_update_status(
        share_inputs["seq_lens_encoder"],
        share_inputs["seq_lens_decoder"],
        share_inputs["seq_lens_this_time"],
        share_inputs["stop_flags"],
        share_inputs["token_ids_all"],
        share_inputs["prompt_lens"],
        share_inputs["step_idx"],
        share_inputs["accept_tokens"],
        share_inputs["accept_num"],
        end_tokens,
        share_inputs["max_dec_len"],
    )


def post_process_xpu(share_inputs, end_token):
    xpu.xpu_unified_update_status(
        share_inputs["seq_lens_encoder"],
        share_inputs["seq_lens_decoder"],
        share_inputs["seq_lens_this_time"],
        share_inputs["stop_flags"],
        share_inputs["token_ids_all"],
        share_inputs["prompt_lens"],
        share_inputs["step_idx"],
        share_inputs["accept_tokens"],
        share_inputs["accept_num"],
        share_inputs["max_dec_len"],
        end_token,
    )
