"""Draft tokens from the request's own text: `ngram_propose`, and `ngram_append` after another
proposer's drafts."""

from __future__ import annotations

from typing import Any, Literal

import torch

from kernels._dispatch import use_triton
from kernels._validate import INT32, INTS, Args
from kernels.ngram.inputs import NgramOptions, NgramTensors
from kernels.ngram.reference import NO_DRAFT, propose_reference

__all__ = ["NO_DRAFT", "ngram_append", "ngram_propose"]

Match = Literal["leftmost", "rightmost"]
Haystack = Literal["prompt_first", "one_history"]
MAX_NGRAM = 64
MAX_HISTORY = (1 << 30) - 1


def ngram_propose(
    token_ids_all: torch.Tensor,
    prompt_lens: torch.Tensor,
    step_idx: torch.Tensor,
    draft_token_num: torch.Tensor,
    max_dec_len: torch.Tensor,
    draft_tokens: torch.Tensor,
    seq_lens_this_time: torch.Tensor,
    seq_lens_encoder: torch.Tensor,
    seq_lens_decoder: torch.Tensor,
    *,
    max_ngram: int,
    min_ngram: int = 1,
    match: Match = "leftmost",
    haystack: Haystack = "prompt_first",
    budget: int | None = None,
    pad_to_max: bool = False,
) -> None:
    """Propose, in place and for each decoding request, what followed its last n tokens before.

    With `step = step_idx[b]` generated tokens at `token_ids_all[b, prompt : prompt + step]`, the
    last n of them are looked for, n from `max_ngram` down to `min_ngram`. The longest n wins; then
    the prompt before the generated text (`haystack="prompt_first"`, where a match lies in one of
    the two and is continued in it only) or neither (`"one_history"`, where the pattern too may
    begin in the prompt); then the leftmost or rightmost place.

    Args:
        token_ids_all: [B, L] int32 or int64, any strides: prompt, then generated tokens. A
            negative entry is a pad: it matches nothing and ends a continuation.
        prompt_lens: [B] or [B, 1] int32 or int64.
        step_idx: same; a COUNT of generated tokens, not the index of the last (that would be
            `ngram_append`'s).
        draft_token_num: same; the most drafts a request may have.
        max_dec_len: same; the most tokens a request may generate. One place is kept for the bonus
            token.
        draft_tokens: [B, S] int32 or int64, written: column 0, the last token, stays; drafts
            follow; the rest of the row becomes -1, so that no earlier proposal survives.
        seq_lens_this_time: [B] int32, written: 1 + drafts for a decoding row (`seq_lens_encoder ==
            0 and seq_lens_decoder > 0`), 0 for an idle one. A prefill row keeps its value, and its
            row of `draft_tokens`.
        seq_lens_encoder, seq_lens_decoder: [B] int32.
        budget: the most tokens the whole batch may take in this step, None for no limit. Every row
            gets its base first (1 for a decoding row, its length for a prefill one); what remains
            goes to drafts in row order.
        pad_to_max: fill a decoding row up to S by repeating its last token, as a CUDA graph of a
            fixed size wants. `seq_lens_this_time` is then S whatever the budget.

    A row whose lengths do not fit L gets no drafts. No host sync; two launches. The compiled kernel
    depends on the dtypes, the options, S, and whether B is above 32; not on B, L, n or the lengths.

    Raises:
        TypeError, ValueError: a wrong type, dtype, shape, device or option; tensors that share
            memory.

    Source: the prompt-lookup idea (https://github.com/apoorvumang/prompt-lookup-decoding) with the
    argument conventions of FastDeploy's `ngram_match` after its #7774, except that a budget with
    one token left grants it.
    """
    _run("ngram_propose", locals(), haystack=haystack, append=False)


def ngram_append(
    token_ids_all: torch.Tensor,
    prompt_lens: torch.Tensor,
    step_idx: torch.Tensor,
    draft_token_num: torch.Tensor,
    max_dec_len: torch.Tensor,
    draft_tokens: torch.Tensor,
    seq_lens_this_time: torch.Tensor,
    seq_lens_encoder: torch.Tensor,
    seq_lens_decoder: torch.Tensor,
    *,
    max_ngram: int,
    min_ngram: int = 1,
    match: Match = "leftmost",
    budget: int | None = None,
    pad_to_max: bool = False,
) -> None:
    """Lengthen another proposer's drafts (the hybrid of MTP and ngram).

    In place; arguments as `ngram_propose`, but:

    - `token_ids_all` is the draft model's own history. It holds what was generated AND the drafts
      so far, at slots `prompt_len + 1 .. prompt_len + step_idx`: the last token stands AT
      `step_idx`, and slot `prompt_len` is never read. (With `ngram_propose`'s layout the pattern
      would be off by one and mostly find nothing.)
    - `step_idx` counts the drafts as well.
    - `seq_lens_this_time[b]` comes in as 1 + the drafts already in `draft_tokens[b]`. Those stay;
      the continuation is written after them, while `seq_lens_this_time - 1` is below
      `draft_token_num[b]`. A row with 0 is skipped.
    - The budget's base is `seq_lens_this_time` as it came in.

    Source: conventions of FastDeploy's `hybrid_mtp_ngram`; unlike it, the last token may itself be
        a continuation.
    """
    _run("ngram_append", locals(), haystack="prompt_first", append=True)


def _run(op: str, given: dict[str, Any], *, haystack: str, append: bool) -> None:
    """Check the arguments of a call, and propose."""
    args = Args(op)
    tensors = _checked_tensors(args, given)
    options = _checked_options(args, given, haystack, append)
    if tensors.draft_tokens.shape[0] == 0:
        return
    if use_triton(op, tensors.token_ids_all.device):
        from kernels.ngram.triton import propose_triton as propose
    else:
        propose = propose_reference
    propose(tensors, options)


def _checked_tensors(args: Args, given: dict[str, Any]) -> NgramTensors:
    tokens = args.tensor("token_ids_all", given["token_ids_all"], ("B", "L"), INTS)
    names = ("prompt_lens", "step_idx", "draft_token_num", "max_dec_len")
    vectors = {name: _vector(args, name, given[name]) for name in names}
    drafts = args.tensor("draft_tokens", given["draft_tokens"], ("B", "S"), INTS)
    for name in ("seq_lens_this_time", "seq_lens_encoder", "seq_lens_decoder"):
        length = args.tensor(name, given[name], ("B",), INT32)
        vectors[name] = _contiguous(args, name, length)
    if tokens.shape[1] > MAX_HISTORY or drafts.shape[1] < 1:
        raise args.fail(f"L must be below 2**30 and S at least 1, got {args.sizes}")
    if drafts.shape[0] > 1 and drafts.stride(0) == 0:
        raise args.fail("draft_tokens is written, and its rows share memory")
    return NgramTensors(token_ids_all=tokens, draft_tokens=drafts, **vectors)


def _checked_options(
    args: Args, given: dict[str, Any], haystack: str, append: bool
) -> NgramOptions:
    max_ngram, min_ngram, budget = given["max_ngram"], given["min_ngram"], given["budget"]
    args.integer("max_ngram", max_ngram, 1, MAX_NGRAM)
    args.integer("min_ngram", min_ngram, 1, max_ngram)
    for name, value, allowed in (
        ("match", given["match"], ("leftmost", "rightmost")),
        ("haystack", haystack, ("prompt_first", "one_history")),
    ):
        if value not in allowed:
            raise args.fail(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
    if budget is not None:
        args.integer("budget", budget, 0, MAX_HISTORY)
    return NgramOptions(
        max_ngram=max_ngram,
        min_ngram=min_ngram,
        rightmost=given["match"] == "rightmost",
        one_history=haystack == "one_history",
        budget=budget,
        pad_to_max=bool(given["pad_to_max"]),
        append=append,
    )


def _vector(args: Args, name: str, value: object) -> torch.Tensor:
    """A [B] view of a per-request argument given as [B] or [B, 1]."""
    column = isinstance(value, torch.Tensor) and value.dim() == 2
    checked = args.tensor(name, value, ("B", 1) if column else ("B",), INTS)
    return _contiguous(args, name, checked.reshape(-1) if column else checked)


def _contiguous(args: Args, name: str, value: torch.Tensor) -> torch.Tensor:
    if not value.is_contiguous():
        raise args.fail(f"{name} must be contiguous, got strides {value.stride()}")
    return value
