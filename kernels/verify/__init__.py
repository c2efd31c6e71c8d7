"""Verification of draft tokens: which drafts stand, and the token that follows them.

Sources: FastDeploy's ``verify_draft_tokens`` (strategies 0 to 2 and the flags), vLLM's
model-runner-v2 rejection sampler (logits in, per-request Philox), Leviathan et al. 2023 (arXiv
2211.17192), Sun et al. 2024 (block verification, arXiv 2403.10444).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from .._dispatch import use_triton
from .._launch import launcher_of
from .._random import CHUNK
from .._validate import INT32, INT64, given_out, written
from .inputs import VerifyInputs
from .reference import verify_reference
from .strategy import Strategy

__all__ = ["CHUNK", "Strategy", "Verified", "VerifyInputs", "verify"]


@dataclass(frozen=True)
class Verified:
    """The tokens of one step."""

    # int64 [B, S], -1 past the accepted ones
    accept_tokens: torch.Tensor

    # int32 [B], accepted drafts plus the token that follows; 0 for an idle request
    accept_num: torch.Tensor


def verify(inputs: VerifyInputs, out: Verified | None = None) -> Verified:
    """Judges the drafts of every request and emits what stands, then one token of the target's own.

    Strategies: GREEDY and TARGET_MATCH accept a draft that equals what the target emits there by
    itself (argmax, or drawn); REJECTION accepts with min(1, p/q) and otherwise draws from
    max(p - q, 0); BLOCK accepts the longest block that stands (never fewer tokens on average than
    REJECTION). These leave the target's distribution as it is. TOPP accepts any of the top
    candidates: **not lossless**, kept because FastDeploy's default is this.

    The draw at a position depends on (seed, position) and the logits alone: not on the batch, the
    slot or the rank. Accepting and recovering use independent noise. Equal logits order by id. NaN
    is read as -inf; a target row without a finite logit emits token 0; a draft whose own
    distribution gives it no mass (an all-NaN draft row, say) is refused, and the target draws
    alone.

    ``out``, with contiguous tensors of the result's shapes, is written and returned.

    Raises TypeError or ValueError, naming shape, dtype and device, for inputs that do not fit
    together.
    """
    values = (*vars(inputs).values(), *given_out(out))
    launch = launcher_of("verify", values)

    def check() -> None:
        args = inputs.check()
        if out is not None:
            args.out("accept_tokens", out.accept_tokens, ("B", "S"), INT64)
            args.out("accept_num", out.accept_num, ("B",), INT32)

    launch.check_once(check)
    if use_triton("verify", inputs.step_input_ids.device):

        def judge() -> tuple[torch.Tensor, ...]:
            from .triton import verify_triton

            return verify_triton(inputs, chunk=CHUNK, launch=launch, out=given_out(out))

        return Verified(*launch.run(values, judge))
    return Verified(*written(verify_reference(inputs, chunk=CHUNK)[:2], given_out(out)))
