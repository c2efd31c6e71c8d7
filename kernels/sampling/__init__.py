"""Sampling: exact top-k/top-p/min-p sets, draws by request seed, top-p candidates, what requests
ask of logits besides, and parameters expanded to tokens.

Sources: FastDeploy's ``top_p_candidates`` and ``build_sampling_params``; FlashInfer's and vLLM's
top-k/top-p samplers, which keep an approximate set, or more than k tokens on ties.

A kept set is named by its last token: every token with a larger logit, or the same logit and an id
not above it, is kept. So the set costs two numbers a row, other kernels apply it while they load
logits, and no masked copy exists.

Every op reads a temperature alike: 0 is greedy, and so is what is not a normal positive number
(negative, subnormal, NaN); above 2**100 all finite logits are equally likely.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .._dispatch import use_triton
from .._launch import launcher_of
from .._random import ACCEPT, CHUNK, DRAFT, RECOVER
from .._validate import FLOAT32, FLOATS, INT32, INT64, INTS, LOGITS, Args, written
from ..logprobs import MAX_K, logprobs
from .adjustments import Adjustments

__all__ = [
    "ACCEPT",
    "DRAFT",
    "MAX_SEED",
    "RECOVER",
    "Adjustments",
    "adjust_logits",
    "expand_sampling_params",
    "sample",
    "top_k_top_p_cut",
    "top_k_top_p_sample",
    "top_p_candidates",
]

MAX_SEED = 9223372036854775806


def adjust_logits(
    logits: torch.Tensor, adjustments: Adjustments, *, out: torch.Tensor | None = None
) -> torch.Tensor:
    """float32 [R, V]: the logits of each row after what its request asks for, in one pass: grammar
    bitmask, allowed ids, logit bias, repetition, frequency and presence penalties, bad words, in
    this order.

    logits      bf16/fp16/fp32/fp8 [R, V], any strides; NaN is read as -inf, +inf as the largest
                float32
    out         float32 [R, V], contiguous: is written and returned

    Temperature and limits come after it (``top_k_top_p_cut``, ``sample``, ``logprobs``, ``verify``
    take the result as they take any logits).

    Raises TypeError or ValueError, naming shape, dtype and device, for arguments that do not fit
    together.
    """
    op = "sampling.adjust_logits"
    values = (logits, *vars(adjustments).values(), out)
    launch = launcher_of(op, values)

    def check() -> None:
        args = adjustments.check(logits)
        if out is not None:
            args.out("adjusted", out, ("R", "V"), FLOAT32)

    launch.check_once(check)
    if use_triton(op, logits.device):

        def adjust() -> tuple[torch.Tensor, ...]:
            from .adjust import adjust_triton

            return (adjust_triton(logits, adjustments, launch=launch, out=out),)

        return launch.run(values, adjust)[0]
    from .reference import adjust_reference

    adjusted = adjust_reference(logits, adjustments)
    return adjusted if out is None else out.copy_(adjusted)


def top_k_top_p_cut(
    logits: torch.Tensor,
    temperature: torch.Tensor,
    top_k: torch.Tensor | None = None,
    top_p: torch.Tensor | None = None,
    min_p: torch.Tensor | None = None,
    *,
    out: tuple[torch.Tensor, torch.Tensor] | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """(cut_logit float32 [R], cut_id int64 [R]): the last token that top-k, then top-p within it,
    keeps, or the logit at which ``min_p`` ends the set before.

    logits      bf16/fp16/fp32 [R, V], any strides
    temperature float32 [R]       0 (greedy) keeps the best token alone
    top_k       int32/int64 [R]   below 1 or at least V: off
    top_p       float32 [R]       at least 1: off; the smallest prefix, by (logit descending, id
                                  ascending), whose mass reaches ``top_p`` of what top-k left; never
                                  empty
    min_p       float32 [R]       0 and below: off; tokens less likely than this times the best
                                  token are dropped too (SGLang's order; vLLM takes top-p's mass
                                  from what min-p left); ties of the best token always stay
    out         contiguous tensors like the result, which are written and returned

    The set is exact: k tokens are k tokens, whatever ties. With both off it is (-inf, V-1): every
    token. A row without a finite logit keeps token 0 under top-p.

    Raises TypeError or ValueError, naming shape, dtype and device, for arguments that do not fit
    together.
    """
    op = "sampling.top_k_top_p_cut"
    values = (logits, temperature, top_k, top_p, min_p, *(out or ()))
    launch = launcher_of(op, values)

    def check() -> None:
        args = Args(op)
        _check_limits(args, logits, temperature, top_k, top_p, min_p)
        _check_cut(args, out or ())

    launch.check_once(check)
    if use_triton(op, logits.device):

        def select() -> tuple[torch.Tensor, ...]:
            from .cut import select_triton

            return select_triton(
                logits, temperature, top_k, top_p, min_p=min_p, launch=launch, out=out or ()
            )

        cut_logit, cut_id = launch.run(values, select)
        return cut_logit, cut_id
    from .reference import min_p_cut_reference, top_k_top_p_cut_reference

    cut = top_k_top_p_cut_reference(logits, temperature, top_k, top_p)[:2]
    if min_p is not None:
        cut = min_p_cut_reference(logits, temperature, cut, min_p)[:2]
    logit, last = written(cut, out or ())
    return logit, last


def top_k_top_p_sample(
    logits: torch.Tensor,
    seeds: torch.Tensor,
    positions: torch.Tensor,
    temperature: torch.Tensor,
    top_k: torch.Tensor | None = None,
    top_p: torch.Tensor | None = None,
    min_p: torch.Tensor | None = None,
    *,
    stream: int = RECOVER,
    out: tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(tokens int64 [R], cut_logit float32 [R], cut_id int64 [R]): ``top_k_top_p_cut``, and the
    token that ``sample`` draws from what it keeps, without another pass over the logits. With
    ``min_p`` it takes that pass, because what is kept is only known at its end.

    The arguments are those of the two, ``out`` contiguous tensors like the result, which are
    written and returned. Chunks are weighed in another order than ``sample`` does:
    where a draw falls within rounding of a boundary the two may differ by one token.

    Raises TypeError or ValueError, naming shape, dtype and device, for arguments that do not fit
    together.
    """
    if min_p is not None:
        into = (None, None) if out is None else (out[0], out[1:])
        cut = top_k_top_p_cut(logits, temperature, top_k, top_p, min_p, out=into[1])
        tokens = sample(logits, seeds, positions, temperature, cut=cut, stream=stream, out=into[0])
        return tokens, *cut
    op = "sampling.top_k_top_p_sample"
    values = (logits, seeds, positions, temperature, top_k, top_p, stream, *(out or ()))
    launch = launcher_of(op, values)

    def check() -> None:
        args = Args(op)
        _check_limits(args, logits, temperature, top_k, top_p)
        _check_draw(args, seeds, positions, stream)
        if out is not None:
            args.out("tokens", out[0], ("R",), INT64)
            _check_cut(args, out[1:])

    launch.check_once(check)
    if use_triton(op, logits.device):

        def select_and_draw() -> tuple[torch.Tensor, ...]:
            from .cut import select_triton

            return select_triton(
                logits, temperature, top_k, top_p, (seeds, positions, stream), launch=launch,
                out=() if out is None else (*out[1:], out[0]),
            )  # fmt: skip

        cut_logit, cut_id, tokens = launch.run(values, select_and_draw)
        return tokens, cut_logit, cut_id
    from .reference import sample_reference, top_k_top_p_cut_reference

    cut = top_k_top_p_cut_reference(logits, temperature, top_k, top_p)[:2]
    tokens = sample_reference(logits, seeds, positions, temperature, cut, stream, chunk=CHUNK)[0]
    tokens, logit, last = written((tokens, *cut), out or ())
    return tokens, logit, last


def sample(
    logits: torch.Tensor,
    seeds: torch.Tensor,
    positions: torch.Tensor,
    temperature: torch.Tensor,
    *,
    cut: tuple[torch.Tensor, torch.Tensor] | None = None,
    stream: int = RECOVER,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """int64 [R]: one token of each row, drawn by (seed, position, stream) and nothing else.

    logits      bf16/fp16/fp32/fp8 [R, V], any strides
    seeds, positions  int64 [R]
    temperature float32 [R]     0 takes the best token
    cut         (float32 [R], int64 [R]) from ``top_k_top_p_cut``
    stream      DRAFT for a draft model, RECOVER for the target: what ``verify`` draws there
    out         int64 [R], contiguous: is written and returned

    A row without a finite logit gives token 0.

    Raises TypeError or ValueError, naming shape, dtype and device, for arguments that do not fit
    together.
    """
    op = "sampling.sample"
    values = (logits, seeds, positions, temperature, *(cut or ()), stream, out)
    launch = launcher_of(op, values)

    def check() -> None:
        args = Args(op)
        _check_rows(args, logits, temperature, LOGITS)
        _check_draw(args, seeds, positions, stream)
        if cut is not None:
            args.tensor("cut[0]", cut[0], ("R",), FLOAT32)
            args.tensor("cut[1]", cut[1], ("R",), INT64)
        if out is not None:
            args.out("tokens", out, ("R",), INT64)

    launch.check_once(check)
    if use_triton(op, logits.device):

        def draw() -> tuple[torch.Tensor, ...]:
            from .draw import sample_triton

            return (
                sample_triton(
                    logits, seeds, positions, temperature, cut, stream, chunk=CHUNK, launch=launch,
                    out=out,
                ),
            )  # fmt: skip

        return launch.run(values, draw)[0]
    from .reference import sample_reference

    tokens = sample_reference(logits, seeds, positions, temperature, cut, stream, chunk=CHUNK)[0]
    return tokens if out is None else out.copy_(tokens)


def _check_limits(
    args: Args,
    logits: object,
    temperature: object,
    top_k: object = None,
    top_p: object = None,
    min_p: object = None,
) -> None:
    """What a row is cut by."""
    _check_rows(args, logits, temperature, FLOATS)
    args.optional("top_k", top_k, ("R",), INTS)
    args.optional("top_p", top_p, ("R",), FLOAT32)
    args.optional("min_p", min_p, ("R",), FLOAT32)


def _check_rows(
    args: Args, logits: object, temperature: object, dtypes: Sequence[torch.dtype]
) -> None:
    """What every row has."""
    args.tensor("logits", logits, ("R", "V"), dtypes)
    if args.sizes["V"] < 1:
        raise args.fail("logits must have at least one column")
    args.tensor("temperature", temperature, ("R",), FLOAT32)


def _check_cut(args: Args, out: Sequence[torch.Tensor]) -> None:
    """The cut's place, if the caller has one."""
    for name, tensor, dtypes in zip(("cut_logit", "cut_id"), out, (FLOAT32, INT64), strict=False):
        args.out(name, tensor, ("R",), dtypes)


def _check_draw(args: Args, seeds: object, positions: object, stream: object) -> None:
    """What names the noise of a row."""
    args.tensor("seeds", seeds, ("R",), INT64)
    args.tensor("positions", positions, ("R",), INT64)
    args.integer("stream", stream, 0, 2)


def top_p_candidates(
    logits: torch.Tensor,
    temperature: torch.Tensor,
    top_p: torch.Tensor,
    candidates: int,
    *,
    out: tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(ids int64 [T, C], scores float32 [T, C], lens int32 [T]): the best tokens until their mass
    reaches ``top_p``.

    logits      bf16/fp16/fp32/fp8 [T, V], any strides
    temperature, top_p  float32 [T]
    candidates  C, 1..64 and at most V
    out         contiguous tensors like the result, which are written and returned

    Past ``lens`` ids and scores are 0. If C tokens do not reach ``top_p``, all C are candidates:
    FastDeploy leaves the set empty then, and every draft is rejected.

    Raises TypeError or ValueError, naming shape, dtype and device, for arguments that do not fit
    together.
    """
    args = Args("sampling.top_p_candidates")
    args.tensor("logits", logits, ("T", "V"), LOGITS)
    args.tensor("temperature", temperature, ("T",), FLOAT32)
    args.tensor("top_p", top_p, ("T",), FLOAT32)
    args.sizes["C"] = args.integer("candidates", candidates, 1, min(MAX_K, args.sizes["V"]))
    if out is not None:
        args.out("ids", out[0], ("T", "C"), INT64)
        args.out("scores", out[1], ("T", "C"), FLOAT32)
        args.out("lens", out[2], ("T",), INT32)
    best = logprobs(logits, None, candidates, temperature=temperature)
    if use_triton(args.op, logits.device):
        from .candidates import cut_candidates_triton

        return cut_candidates_triton(best.topk_ids, best.topk_logprobs, top_p, out=out or ())
    from .reference import cut_candidates_reference

    made = cut_candidates_reference(best.topk_ids, best.topk_logprobs, top_p)
    ids, scores, lens = written(made, out or ())
    return ids, scores, lens


def expand_sampling_params(
    cu_seqlens_q_output: torch.Tensor,
    rows: int,
    infer_seed: torch.Tensor,
    temperature: torch.Tensor,
    top_k: torch.Tensor,
    top_p: torch.Tensor,
    increment: int,
    *,
    out: tuple[torch.Tensor, ...] | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """(seeds int64 [rows], temperature float32 [rows], top_k int64 [rows], top_p float32 [rows],
    next infer_seed [B]).

    cu_seqlens_q_output  int32/int64 [B+1]  request b owns rows ``cu[b]:cu[b+1]``
    rows                 at least ``cu[B]``; rows past it get seed 0, temperature 0, top_k 0 and
                         top_p 1
    infer_seed           int64 [B], 0..MAX_SEED-1; row i gets ``(infer_seed + 4 * i) % MAX_SEED``
    temperature, top_p   float32 [B];  top_k int64 [B]
    increment            0..MAX_SEED-1; the next seed is ``(infer_seed + increment) % MAX_SEED``
    out                  contiguous tensors like the result, which are written and returned

    The new seeds are a new tensor: FastDeploy's kernel updates them in place while other threads
    still read.

    Raises TypeError or ValueError, naming shape, dtype and device, for arguments that do not fit
    together.
    """
    args = Args("sampling.expand_sampling_params")
    args.tensor("infer_seed", infer_seed, ("B",), INT64)
    args.tensor("cu_seqlens_q_output", cu_seqlens_q_output, ("B+1",), INTS)
    args.tensor("temperature", temperature, ("B",), FLOAT32)
    args.tensor("top_k", top_k, ("B",), INT64)
    args.tensor("top_p", top_p, ("B",), FLOAT32)
    args.integer("rows", rows, 0, 1 << 31)
    args.integer("increment", increment, 0, MAX_SEED - 1)
    _check_expanded(args, rows, out)
    given = (cu_seqlens_q_output, rows, infer_seed, temperature, top_k, top_p, increment)
    if use_triton(args.op, infer_seed.device):
        from .expand import expand_triton

        return expand_triton(*given, out=out or ())
    from .reference import expand_reference

    seeds, scale, k, p, following = written(expand_reference(*given), out or ())
    return seeds, scale, k, p, following


def _check_expanded(args: Args, rows: int, out: tuple[torch.Tensor, ...] | None) -> None:
    """The place of what is expanded, if the caller has one."""
    if out is None:
        return
    if len(out) != 5:
        raise args.fail(f"out must be the 5 tensors of the result, got {len(out)}")
    named = {"seeds": INT64, "temperature": FLOAT32, "top_k": INT64, "top_p": FLOAT32}
    for (name, dtypes), tensor in zip(named.items(), out, strict=False):
        args.out(name, tensor, (rows,), dtypes)
    args.out("infer_seed", out[4], ("B",), INT64)
