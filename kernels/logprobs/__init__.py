"""Logprob and rank of the sampled token, top-k logprobs and ids, straight from logits.

Source: vLLM's ``compute_topk_scores`` (no [rows, vocab] intermediate) and FastDeploy's
``gather_logprobs``; both leave the order of ties to ``topk``, which made FastDeploy record its
baselines again when k changed (PaddlePaddle/FastDeploy#7883).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from .._dispatch import use_triton
from .._launch import launcher_of
from .._validate import FLOAT32, INT64, INTS, LOGITS, Args, given_out, written

__all__ = ["MAX_K", "Logprobs", "logprobs"]

MAX_K = 64


@dataclass(frozen=True)
class Logprobs:
    """One entry per requested row. Entries that have no row hold NaN, rank 0 and id -1."""

    logprob: torch.Tensor  # float32 [R], of the sampled token
    rank: torch.Tensor  # int64 [R], tokens at least as likely as the sampled one, itself included
    topk_ids: torch.Tensor  # int64 [R, k], by (logit descending, id ascending)
    topk_logprobs: torch.Tensor  # float32 [R, k]
    logz: torch.Tensor  # float32 [R], log-sum-exp of the (scaled, kept) logits


def logprobs(
    logits: torch.Tensor,
    token_ids: torch.Tensor | None,
    k: int = 0,
    *,
    rows: torch.Tensor | None = None,
    temperature: torch.Tensor | None = None,
    cut_logit: torch.Tensor | None = None,
    cut_id: torch.Tensor | None = None,
    out: Logprobs | None = None,
) -> Logprobs:
    """Scores sampled tokens without materialising [rows, vocab].

    logits      bf16/fp16/fp32/fp8 (e4m3fn, e5m2) [T, V], any strides
    token_ids   int32/int64 [R]   the sampled token of each entry; None: the top-k alone is wanted
    k           0..64, at most V; a run-time number, not a compile-time one (0 has code of its own)
    rows        int64 [R]         row of ``logits`` of each entry; -1, or T and more: none; default:
                                  row r
    temperature float32 [R]       processed mode: logits are divided by it; what is greedy (see
                                  ``kernels.sampling``) is read as 1
    cut_logit, cut_id  float32 [R], int64 [R]   processed mode: only tokens at least as good as
                                  this one count, the rest are -inf; from
                                  ``kernels.sampling.top_k_top_p_cut``
    out         contiguous tensors of the result's shapes, which are written and returned

    Raw mode is temperature and cut both absent. Log-sum-exp in float32. NaN is read as -inf and
    +inf as the largest float32. In a row that is all -inf every logprob is -inf and the best tokens
    are 0, 1, 2...; a token at -inf has logprob -inf and rank V. An entry whose token is outside
    0..V-1 has NaN and rank 0 for the sampled token; its top-k is as usual. ``topk(k1) ==
    topk(k2)[:k1]`` bit for bit, whatever else is in the batch.

    Raises TypeError or ValueError, naming shape, dtype and device, for arguments that do not fit
    together.
    """
    given = (logits, token_ids, k, rows, temperature, cut_logit, cut_id)
    values = (*given, *given_out(out))
    launch = launcher_of("logprobs", values)
    launch.check_once(lambda: _check(*given, out))
    if use_triton("logprobs", logits.device):

        def score() -> tuple[torch.Tensor, ...]:
            from .triton import logprobs_triton

            return logprobs_triton(*given, launch=launch, out=given_out(out))

        return Logprobs(*launch.run(values, score))
    from .reference import logprobs_reference

    return Logprobs(*written(logprobs_reference(*given), given_out(out)))


def _check(
    logits: object,
    token_ids: object,
    k: object,
    rows: object,
    temperature: object,
    cut_logit: object,
    cut_id: object,
    out: Logprobs | None,
) -> None:
    args = Args("logprobs")
    args.tensor("logits", logits, ("T", "V"), LOGITS)
    if args.sizes["V"] < 1:
        raise args.fail("logits must have at least one column")
    if rows is None:
        args.sizes["R"] = args.sizes["T"]
    args.optional("rows", rows, ("R",), INT64)
    args.optional("token_ids", token_ids, ("R",), INTS)
    args.optional("temperature", temperature, ("R",), FLOAT32)
    args.optional("cut_logit", cut_logit, ("R",), FLOAT32)
    args.optional("cut_id", cut_id, ("R",), INT64)
    if (cut_logit is None) != (cut_id is None):
        raise args.fail("cut_logit and cut_id go together")
    args.sizes["k"] = args.integer("k", k, 0, min(MAX_K, args.sizes["V"]))
    if out is not None:
        check_out(args, out)


def check_out(args: Args, out: Logprobs) -> None:
    """Checks the place of a result of R entries and k tokens."""
    args.out("logprob", out.logprob, ("R",), FLOAT32)
    args.out("rank", out.rank, ("R",), INT64)
    args.out("topk_ids", out.topk_ids, ("R", "k"), INT64)
    args.out("topk_logprobs", out.topk_logprobs, ("R", "k"), FLOAT32)
    args.out("logz", out.logz, ("R",), FLOAT32)
