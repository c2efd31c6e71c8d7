"""Sampling and scoring of rows whose vocabulary is divided among GPUs, each rank with the logits of
its own tokens, as a tensor-parallel language model head leaves them: the whole rows are never
gathered. Every rank gets the result, with the bits that one GPU has over whole rows.

What travels is two numbers a chunk of 2,048 tokens, the best ``k`` tokens of each rank, and, where
a rank's tokens do not begin at a multiple of 2,048, the up to 2,047 logits before the next one.

Each op comes twice. ``sample(..., group=...)`` runs in one process a GPU, over torch.distributed.
``sample_steps(...)`` is the same without the carrier (see ``exchange``), for engines with one of
their own, and for shards that stand in one process (``together``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from .._dispatch import use_triton
from .._launch import launcher_of
from .._random import CHUNK, RECOVER
from .._validate import FLOAT32, INT64, INTS, LOGITS, Args, given_out, written
from ..logprobs import MAX_K, Logprobs, check_out
from .exchange import Steps, over_group, together
from .layout import Shard, whole_logits

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

__all__ = ["Shard", "logprobs", "logprobs_steps", "sample", "sample_steps", "together"]


def sample(
    logits: torch.Tensor,
    seeds: torch.Tensor,
    positions: torch.Tensor,
    temperature: torch.Tensor,
    shard: Shard,
    *,
    cut: tuple[torch.Tensor, torch.Tensor] | None = None,
    stream: int = RECOVER,
    out: torch.Tensor | None = None,
    group: ProcessGroup | None = None,
) -> torch.Tensor:
    """int64 [R]: ``kernels.sampling.sample`` of the rows of which ``logits`` [R, width] are this
    rank's columns; the other arguments are the same on every rank.

    Raises TypeError or ValueError, naming shape, dtype and device, for arguments that do not fit
    together.
    """
    steps = sample_steps(
        logits, seeds, positions, temperature, shard, cut=cut, stream=stream, out=out
    )
    return over_group(steps, group)


def sample_steps(
    logits: torch.Tensor,
    seeds: torch.Tensor,
    positions: torch.Tensor,
    temperature: torch.Tensor,
    shard: Shard,
    *,
    cut: tuple[torch.Tensor, torch.Tensor] | None = None,
    stream: int = RECOVER,
    out: torch.Tensor | None = None,
) -> Steps[torch.Tensor]:
    """See ``sample``."""
    op = "sharded.sample"
    values = (logits, seeds, positions, temperature, *(cut or ()), stream, out, *shard.numbers())
    launch = launcher_of(op, values)

    def check() -> None:
        args = Args(op)
        args.tensor("logits", logits, ("R", "V"), LOGITS)
        shard.check(args, args.sizes["V"])
        args.tensor("temperature", temperature, ("R",), FLOAT32)
        args.tensor("seeds", seeds, ("R",), INT64)
        args.tensor("positions", positions, ("R",), INT64)
        args.integer("stream", stream, 0, 2)
        if cut is not None:
            args.tensor("cut[0]", cut[0], ("R",), FLOAT32)
            args.tensor("cut[1]", cut[1], ("R",), INT64)
        if out is not None:
            args.out("tokens", out, ("R",), INT64)

    launch.check_once(check)
    if use_triton(op, logits.device):
        from .draw import sample_shard

        return sample_shard(
            logits, seeds, positions, temperature, cut, stream, shard, chunk=CHUNK, launch=launch,
            out=out,
        )  # fmt: skip
    return _sample_whole(logits, seeds, positions, temperature, cut, stream, shard, out)


def _sample_whole(
    logits: torch.Tensor,
    seeds: torch.Tensor,
    positions: torch.Tensor,
    temperature: torch.Tensor,
    cut: tuple[torch.Tensor, torch.Tensor] | None,
    stream: int,
    shard: Shard,
    out: torch.Tensor | None,
) -> Steps[torch.Tensor]:
    """The law: what whole rows give."""
    from ..sampling.reference import sample_reference

    whole = yield from whole_logits(logits, shard)
    tokens = sample_reference(whole, seeds, positions, temperature, cut, stream, chunk=CHUNK)[0]
    return tokens if out is None else out.copy_(tokens)


def logprobs(
    logits: torch.Tensor,
    token_ids: torch.Tensor | None,
    k: int,
    shard: Shard,
    *,
    rows: torch.Tensor | None = None,
    temperature: torch.Tensor | None = None,
    cut_logit: torch.Tensor | None = None,
    cut_id: torch.Tensor | None = None,
    out: Logprobs | None = None,
    group: ProcessGroup | None = None,
) -> Logprobs:
    """``kernels.logprobs.logprobs`` of the rows of which ``logits`` [T, width] are this rank's
    columns; the other arguments are the same on every rank, ids those of the whole vocabulary.

    Raises TypeError or ValueError, naming shape, dtype and device, for arguments that do not fit
    together.
    """
    steps = logprobs_steps(
        logits, token_ids, k, shard, rows=rows, temperature=temperature, cut_logit=cut_logit,
        cut_id=cut_id, out=out,
    )  # fmt: skip
    return over_group(steps, group)


def logprobs_steps(
    logits: torch.Tensor,
    token_ids: torch.Tensor | None,
    k: int,
    shard: Shard,
    *,
    rows: torch.Tensor | None = None,
    temperature: torch.Tensor | None = None,
    cut_logit: torch.Tensor | None = None,
    cut_id: torch.Tensor | None = None,
    out: Logprobs | None = None,
) -> Steps[Logprobs]:
    """See ``logprobs``."""
    op = "sharded.logprobs"
    given = (logits, token_ids, k, rows, temperature, cut_logit, cut_id)
    launch = launcher_of(op, (*given, *given_out(out), *shard.numbers()))

    def check() -> None:
        args = Args(op)
        args.tensor("logits", logits, ("T", "V"), LOGITS)
        shard.check(args, args.sizes["V"])
        if rows is None:
            args.sizes["R"] = args.sizes["T"]
        args.optional("rows", rows, ("R",), INT64)
        args.optional("token_ids", token_ids, ("R",), INTS)
        args.optional("temperature", temperature, ("R",), FLOAT32)
        args.optional("cut_logit", cut_logit, ("R",), FLOAT32)
        args.optional("cut_id", cut_id, ("R",), INT64)
        if (cut_logit is None) != (cut_id is None):
            raise args.fail("cut_logit and cut_id go together")
        args.sizes["k"] = args.integer("k", k, 0, min(MAX_K, shard.vocab))
        if out is not None:
            check_out(args, out)

    launch.check_once(check)
    cut = None if cut_logit is None or cut_id is None else (cut_logit, cut_id)
    if not use_triton(op, logits.device):
        return _score_whole(logits, token_ids, k, rows, temperature, cut, shard, out)
    from .score import score_shard

    return score_shard(
        logits, token_ids, k, rows, temperature, cut, shard, chunk=CHUNK, launch=launch, out=out
    )


def _score_whole(
    logits: torch.Tensor,
    token_ids: torch.Tensor | None,
    k: int,
    rows: torch.Tensor | None,
    temperature: torch.Tensor | None,
    cut: tuple[torch.Tensor, torch.Tensor] | None,
    shard: Shard,
    out: Logprobs | None,
) -> Steps[Logprobs]:
    """The law: what whole rows give."""
    from ..logprobs.reference import logprobs_reference

    whole = yield from whole_logits(logits, shard)
    given = (token_ids, k, rows, temperature, *(cut or (None, None)))
    return Logprobs(*written(logprobs_reference(whole, *given), given_out(out)))
