"""Verification of draft tokens: which drafts stand, and the token that follows them.

Sources: FastDeploy's ``verify_draft_tokens`` (strategies 0 to 2 and the flags), vLLM's model-runner-v2 rejection
sampler (logits in, per-request Philox), Leviathan et al. 2023 (arXiv 2211.17192), Sun et al. 2024 (block
verification, arXiv 2403.10444).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from .._dispatch import use_triton
from .._random import CHUNK
from .._validate import BOOL, FLOAT32, INT32, INT64, INTS, LOGITS, Args
from .reference import Inputs, verify_reference
from .strategy import Strategy

__all__ = ["CHUNK", "Strategy", "Verified", "verify"]


@dataclass(frozen=True)
class Verified:
    """The tokens of one step."""

    accept_tokens: torch.Tensor  # int64 [B, S], -1 past the accepted ones
    accept_num: (
        torch.Tensor
    )  # int32 [B], accepted drafts plus the token that follows; 0 for an idle request


def verify(
    step_input_ids: torch.Tensor,
    seq_lens_this_time: torch.Tensor,
    cu_seqlens_q_output: torch.Tensor,
    step_idx: torch.Tensor,
    max_dec_len: torch.Tensor,
    end_tokens: torch.Tensor,
    *,
    strategy: Strategy | int,
    target_logits: torch.Tensor | None = None,
    draft_logits: torch.Tensor | None = None,
    temperature: torch.Tensor | None = None,
    seeds: torch.Tensor | None = None,
    target_cut: tuple[torch.Tensor, torch.Tensor] | None = None,
    draft_cut: tuple[torch.Tensor, torch.Tensor] | None = None,
    candidates: tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None = None,
    top_p: torch.Tensor | None = None,
    verify_window: int = 2,
    seq_lens_encoder: torch.Tensor | None = None,
    stop_flags: torch.Tensor | None = None,
    is_block_step: torch.Tensor | None = None,
    reasoning_status: torch.Tensor | None = None,
    reject_all: bool = False,
    accept_all: bool = False,
) -> Verified:
    """Judges the drafts of every request and emits what stands, then one token of the target's own.

    step_input_ids      int64 [B, S]   column 0 is the last token, 1.. the drafts; -1 (any id beyond the tokens) ends
    seq_lens_this_time  int32 [B]      1 + drafts; 0 for an idle request
    cu_seqlens_q_output int32/int64 [B+1]  request b's row for position i is ``cu[b] + i``
    step_idx            int64 [B]      tokens generated before this step (a count)
    max_dec_len         int64 [B]      tokens this request may generate; the step stops there
    end_tokens          int64 [E]      the step stops after the first of these, which is emitted
    target_logits       bf16/fp16/fp32 [T, V], any strides; not needed for TOPP
    draft_logits        bf16/fp16/fp32 [B, S-1, W]  before the temperature, as the draft model gave them, with
                        W <= V or W > V (the other tokens have no mass); None: the draft is its own distribution
                        (a lookup). Drawn with ``kernels.sampling.sample(..., stream=DRAFT)`` at the same
                        temperature, cut, seed and position ``step_idx + i``
    temperature         float32 [B]    0 is greedy; not needed for GREEDY and TOPP
    seeds               int64 [B]      not needed for GREEDY
    target_cut, draft_cut  (float32 [T], int64 [T]), (float32 [B, S-1], int64 [B, S-1]): the last kept token of each
                        row, from ``kernels.sampling.top_k_top_p_cut``
    candidates, top_p   (int64 [T, C], float32 [T, C], int32 [T]), float32 [B]: for TOPP, from
                        ``kernels.sampling.top_p_candidates``
    seq_lens_encoder    int32 [B]      above 0 (prefill): no drafts are taken
    reasoning_status    int32 [B]      1: no drafts are taken
    stop_flags, is_block_step  bool [B]  true: the request takes no part, ``accept_num`` is 0
    reject_all, accept_all  takes no draft, or every draft (for measurements; not lossless)

    Strategies: GREEDY and TARGET_MATCH accept a draft that equals what the target emits there by itself (argmax, or
    drawn); REJECTION accepts with min(1, p/q) and otherwise draws from max(p - q, 0); BLOCK accepts the longest
    block that stands (never fewer tokens on average than REJECTION). These leave the target's distribution as it is.
    TOPP accepts any of the top candidates: **not lossless**, kept because FastDeploy's default is this.

    The draw at a position depends on (seed, position) and the logits alone: not on the batch, the slot or the rank.
    Accepting and recovering use independent noise. Equal logits order by id. NaN is read as -inf; a target row
    without a finite logit emits token 0; a draft whose own distribution gives it no mass (an all-NaN draft row, say)
    is refused, and the target draws alone.

    Raises TypeError or ValueError, naming shape, dtype and device, for arguments that do not fit together.
    """
    strategy = Strategy(strategy)
    args = Args("verify")
    args.tensor("step_input_ids", step_input_ids, ("B", "S"), INT64)
    if args.sizes["S"] < 1:
        raise args.fail("step_input_ids must have at least one column, the last token")
    args.tensor("seq_lens_this_time", seq_lens_this_time, ("B",), INT32)
    args.tensor("cu_seqlens_q_output", cu_seqlens_q_output, ("B+1",), INTS)
    args.tensor("step_idx", step_idx, ("B",), INT64)
    args.tensor("max_dec_len", max_dec_len, ("B",), INT64)
    args.tensor("end_tokens", end_tokens, ("E",), INT64)
    args.optional("seq_lens_encoder", seq_lens_encoder, ("B",), INT32)
    args.optional("stop_flags", stop_flags, ("B",), BOOL)
    args.optional("is_block_step", is_block_step, ("B",), BOOL)
    args.optional("reasoning_status", reasoning_status, ("B",), INT32)
    args.integer("verify_window", verify_window, 1, 1 << 20)
    if reject_all and accept_all:
        raise args.fail("reject_all and accept_all exclude each other")

    if strategy == Strategy.TOPP:
        if candidates is None or top_p is None or seeds is None:
            raise args.fail("strategy TOPP needs candidates, top_p and seeds")
        args.tensor("candidates[0]", candidates[0], ("T", "C"), INT64)
        args.tensor("candidates[1]", candidates[1], ("T", "C"), FLOAT32)
        args.tensor("candidates[2]", candidates[2], ("T",), INT32)
        if args.sizes["C"] < 1:
            raise args.fail("candidates must have at least one column")
    else:
        args.tensor("target_logits", target_logits, ("T", "V"), LOGITS)
        if args.sizes["V"] < 1:
            raise args.fail("target_logits must have at least one column")
        if strategy != Strategy.GREEDY and (temperature is None or seeds is None):
            raise args.fail(f"strategy {strategy.name} needs temperature and seeds")
    args.optional("top_p", top_p, ("B",), FLOAT32)
    args.optional("temperature", temperature, ("B",), FLOAT32)
    args.optional("seeds", seeds, ("B",), INT64)
    if draft_logits is not None:
        if strategy not in (Strategy.REJECTION, Strategy.BLOCK):
            # Silently ignoring it is how ascend #6685 lost its draft distribution.
            raise args.fail(f"strategy {strategy.name} has no use for draft_logits")
        args.tensor("draft_logits", draft_logits, ("B", args.sizes["S"] - 1, "W"), LOGITS)
    if target_cut is not None:
        args.tensor("target_cut[0]", target_cut[0], ("T",), FLOAT32)
        args.tensor("target_cut[1]", target_cut[1], ("T",), INT64)
    if draft_cut is not None:
        if draft_logits is None:
            raise args.fail("draft_cut needs draft_logits")
        args.tensor("draft_cut[0]", draft_cut[0], ("B", args.sizes["S"] - 1), FLOAT32)
        args.tensor("draft_cut[1]", draft_cut[1], ("B", args.sizes["S"] - 1), INT64)
    given = Inputs(
        step_input_ids=step_input_ids,
        seq_lens_this_time=seq_lens_this_time,
        cu_seqlens_q_output=cu_seqlens_q_output,
        step_idx=step_idx,
        max_dec_len=max_dec_len,
        end_tokens=end_tokens,
        seeds=seeds,
        target_logits=target_logits,
        draft_logits=draft_logits,
        temperature=temperature,
        target_cut_logit=target_cut[0] if target_cut else None,
        target_cut_id=target_cut[1] if target_cut else None,
        draft_cut_logit=draft_cut[0] if draft_cut else None,
        draft_cut_id=draft_cut[1] if draft_cut else None,
        candidate_ids=candidates[0] if candidates else None,
        candidate_scores=candidates[1] if candidates else None,
        candidate_lens=candidates[2] if candidates else None,
        top_p=top_p,
        seq_lens_encoder=seq_lens_encoder,
        stop_flags=stop_flags,
        is_block_step=is_block_step,
        reasoning_status=reasoning_status,
        strategy=strategy,
        verify_window=verify_window,
        reject_all=reject_all,
        accept_all=accept_all,
    )
    if use_triton("verify", step_input_ids.device):
        from .triton import verify_triton

        return Verified(*verify_triton(given, chunk=CHUNK))
    tokens, count, _ = verify_reference(given, chunk=CHUNK)
    return Verified(tokens, count)
