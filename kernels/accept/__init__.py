"""Accepted tokens, and the target rows they came from, out of padded accept buffers.

Source: FastDeploy's ``speculate_get_accept_tokens_and_logits`` (PaddlePaddle/FastDeploy#7600),
whose offsets are 32-bit, whose logits are float32 only, and whose prefill slot writes a row even
when nothing was accepted.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from .._dispatch import use_triton
from .._launch import launcher_of
from .._validate import INT32, INT64, INTS, LOGITS, Args, given_out, written
from .reference import accept_reference

__all__ = ["Accepted", "accept"]


@dataclass(frozen=True)
class Accepted:
    """What was accepted in one step, packed request after request.

    Only ``cu_tokens[-1]`` entries are valid.
    """

    token_ids: torch.Tensor  # int64 [B*S], -1 past the valid entries
    row_index: torch.Tensor  # int64 [B*S], row of the target logits, -1 past the valid entries
    cu_tokens: torch.Tensor  # int32 [B+1], request b owns entries cu_tokens[b]:cu_tokens[b+1]
    logits: (
        torch.Tensor | None
    )  # [B*S, V] copied rows, or None; rows past the valid entries are never written


def accept(
    accept_tokens: torch.Tensor,
    accept_num: torch.Tensor,
    cu_seqlens_q_output: torch.Tensor,
    seq_lens_encoder: torch.Tensor,
    *,
    logits: torch.Tensor | None = None,
    out: Accepted | None = None,
) -> Accepted:
    """Packs the accepted tokens and says which target row each came from.

    accept_tokens       int64 [B, S]       tokens of this step; the first ``accept_num[b]`` count
    accept_num          int32 [B]          accepted tokens and the bonus token; 0: idle slot
    cu_seqlens_q_output int32/int64 [B+1]  request b owns target rows ``cu[b]:cu[b+1]``
    seq_lens_encoder    int32 [B]          above 0 for a prefill slot, which gives at most one row
    logits              bf16/fp16/fp32/fp8 [T, V]  if given, the rows are also copied
    out                 contiguous tensors of the result's shapes, which are written and returned;
                        ``out.logits`` if ``logits`` is given, else None

    Any strides. With ``logits=None`` this is one launch and nothing of size V moves: pass
    ``row_index`` to ``kernels.logprobs``, which skips the -1 entries. A count below 0 is read as 0,
    and one above the width S or above the rows that the request owns is cut to it: a count lives on
    the device, so reading it here to raise would be a sync, and trusting it would hand out the next
    request's rows.

    Raises TypeError or ValueError, naming shape, dtype and device, for arguments that do not fit
    together.
    """
    given = (accept_tokens, accept_num, cu_seqlens_q_output, seq_lens_encoder, logits)
    into = given_out(out)
    launch = launcher_of("accept", (*given, *into))
    launch.check_once(lambda: _check(*given, out))
    if use_triton("accept", accept_num.device):

        def pack() -> tuple[torch.Tensor, ...]:
            from .triton import accept_triton

            return accept_triton(*given, launch=launch, out=into)

        packed = launch.run((*given, *into), pack)
    else:
        packed = accept_reference(*given, rows=None if out is None else out.logits)
        packed = (*written(packed[:3], into[:3]), *packed[3:])
    return Accepted(*packed[:3], packed[3] if len(packed) > 3 else None)


def _check(
    accept_tokens: object,
    accept_num: object,
    cu_seqlens_q_output: object,
    seq_lens_encoder: object,
    logits: object,
    out: Accepted | None,
) -> None:
    args = Args("accept")
    args.tensor("accept_num", accept_num, ("B",), INT32)
    args.tensor("accept_tokens", accept_tokens, ("B", "S"), INT64)
    args.tensor("cu_seqlens_q_output", cu_seqlens_q_output, ("B+1",), INTS)
    args.tensor("seq_lens_encoder", seq_lens_encoder, ("B",), INT32)
    args.optional("logits", logits, ("T", "V"), LOGITS)
    if out is None:
        return
    entries = args.sizes["B"] * args.sizes["S"]
    args.out("token_ids", out.token_ids, (entries,), INT64)
    args.out("row_index", out.row_index, (entries,), INT64)
    args.out("cu_tokens", out.cu_tokens, ("B+1",), INT32)
    if (out.logits is None) != (logits is None):
        raise args.fail("out.logits and logits go together")
    if isinstance(logits, torch.Tensor):
        args.out("logits", out.logits, (entries, "V"), (logits.dtype,))
