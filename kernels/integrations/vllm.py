"""vLLM's rejection samplers and its top-k/top-p mask, served by these kernels.

``install()`` puts the three functions below in the place of vLLM's own, in the process that calls
it; their names, arguments and results are vLLM's (as of its commit c8bdcc0, July 2026). What these
kernels do not do goes on to vLLM's own: synthetic acceptance rates, and noise in float64.

Tokens differ from vLLM's for the same seed, their distribution does not. A mask of top-k keeps
exactly k tokens where vLLM's may keep all that tie with the k-th.
"""

from __future__ import annotations

from typing import Any

import torch

from ..sampling import top_k_top_p_cut
from ..verify import Strategy, Verified, VerifyInputs, verify
from ._engine import Own, endless, replace

PLACEHOLDER = -1
Shape = tuple[int, int]  # requests, most drafts of one
_V1 = "vllm.v1.sample.rejection_sampler"
_V2 = "vllm.v1.worker.gpu.spec_decode.rejection_sampler_utils"
_LIMITS = "vllm.v1.sample.ops.topk_topp_sampler"
# vLLM's own functions, by (module, name).
_OWN: Own = {}


def install() -> None:
    """Puts the functions of this module in the place of vLLM's, also where vLLM has imported them
    already. A second call changes nothing.

    Raises ImportError where vLLM is not installed, AttributeError where it no longer has them.
    """
    replace(_V1, "rejection_sample", rejection_sample, _OWN)
    replace(_V2, "rejection_sample", rejection_sample_of_logits, _OWN)
    replace(_LIMITS, "apply_top_k_top_p", apply_top_k_top_p, _OWN)


def rejection_sample(
    draft_token_ids: torch.Tensor,
    num_draft_tokens: list[int],
    max_spec_len: int,
    cu_num_draft_tokens: torch.Tensor,
    draft_probs: torch.Tensor | None,
    target_logits: torch.Tensor,
    bonus_token_ids: torch.Tensor,
    sampling_metadata: Any,
    synthetic_mode: bool = False,
    synthetic_conditional_rates: torch.Tensor | None = None,
    use_fp64_gumbel: bool = False,
) -> torch.Tensor:
    """int32 [B, max_spec_len + 1]: the accepted drafts, then a token drawn instead of the first
    refused one, or the bonus token; -1 past them.

    draft_token_ids     int32 [N]     all requests' drafts, one after the other; -1 is refused
    num_draft_tokens    of each of B requests, on the host
    cu_num_draft_tokens int32 [B]     their running sum
    draft_probs         float32 [N, V]; None: each draft is certain, as a lookup is
    target_logits       float32 [N, V], after temperature, top-k and top-p
    bonus_token_ids     [B] or [B, 1]
    sampling_metadata   vLLM's ``SamplingMetadata``: ``temperature``, ``all_greedy``,
                        ``all_random`` and ``generators`` are read

    A request's generator gives one number a step, from which all its noise follows.
    """
    if synthetic_mode or use_fp64_gumbel:
        return _OWN[_V1, "rejection_sample"](
            draft_token_ids, num_draft_tokens, max_spec_len, cu_num_draft_tokens, draft_probs,
            target_logits, bonus_token_ids, sampling_metadata,
            synthetic_mode, synthetic_conditional_rates, use_fp64_gumbel,
        )  # fmt: skip
    device, shape = target_logits.device, (len(num_draft_tokens), max_spec_len)
    drafts = torch.tensor(num_draft_tokens, device="cpu")
    places = _places(drafts, max_spec_len).to(device, non_blocking=True)
    ids = _spread(draft_token_ids.long(), places, shape, PLACEHOLDER)
    step = {
        "step_input_ids": torch.nn.functional.pad(ids, (1, 0)),
        "seq_lens_this_time": (drafts + 1).int().to(device, non_blocking=True),
        "target_logits": target_logits,
        "cu_seqlens_q_output": torch.nn.functional.pad(cu_num_draft_tokens, (1, 0)),
        "bonus_token_ids": bonus_token_ids.reshape(-1).long(),
        **endless(shape[0], device),
    }
    draft_logits = None if draft_probs is None else _spread(draft_probs.log(), places, shape, 0)
    greedy = random = None
    if not sampling_metadata.all_random:
        greedy = verify(VerifyInputs(strategy=Strategy.GREEDY, **step))
    if not sampling_metadata.all_greedy:
        random = verify(
            VerifyInputs(
                strategy=Strategy.REJECTION,
                draft_logits=draft_logits,
                temperature=torch.ones(shape[0], device=device),
                seeds=_seeds(shape[0], sampling_metadata.generators, device),
                **step,
            )
        )
    return _either(greedy, random, sampling_metadata.temperature).accept_tokens.int()


def _requests(drafts: torch.Tensor) -> torch.Tensor:
    """int64 [N]: whose each draft is."""
    return torch.arange(len(drafts), device="cpu").repeat_interleave(drafts)


def _places(drafts: torch.Tensor, width: int) -> torch.Tensor:
    """int64 [N]: where each draft stands in [B, width], counted through."""
    first = drafts.cumsum(0) - drafts
    request = _requests(drafts)
    column = torch.arange(len(request), device="cpu") - first[request]
    return request * width + column


def _spread(values: torch.Tensor, places: torch.Tensor, shape: Shape, none: float) -> torch.Tensor:
    """[B, width, ...]: the values of all drafts in their places, ``none`` where no draft is."""
    whole = (*shape, *values.shape[1:])
    if len(values) == shape[0] * shape[1]:
        return values.view(whole)  # every request has the most drafts
    spread = values.new_full((shape[0] * shape[1], *values.shape[1:]), none)
    spread[places] = values
    return spread.view(whole)


def _seeds(
    batch: int, generators: dict[int, torch.Generator], device: torch.device
) -> torch.Tensor:
    """int64 [B]: from each request's own generator, or from the device's."""
    seeds = torch.empty(batch, dtype=torch.int64, device=device).random_()
    for request, generator in generators.items():
        seeds[request : request + 1].random_(generator=generator)
    return seeds


def _either(
    greedy: Verified | None, random: Verified | None, temperature: torch.Tensor | None
) -> Verified:
    """Of a batch that was judged in both ways what each request asked for."""
    if greedy is None or random is None:
        return greedy or random
    cold = temperature == 0
    return Verified(
        torch.where(cold[:, None], greedy.accept_tokens, random.accept_tokens),
        torch.where(cold, greedy.accept_num, random.accept_num),
    )


def rejection_sample_of_logits(
    target_logits: torch.Tensor,
    draft_logits: torch.Tensor | None,
    draft_sampled: torch.Tensor,
    cu_num_logits: torch.Tensor,
    pos: torch.Tensor,
    idx_mapping: torch.Tensor,
    expanded_idx_mapping: torch.Tensor,
    expanded_local_pos: torch.Tensor,
    temperature: torch.Tensor,
    seed: torch.Tensor,
    num_speculative_steps: int,
    synthetic_conditional_rates: torch.Tensor | None = None,
    use_fp64: bool = False,
    use_block_verification: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """(sampled int64 [B, num_speculative_steps + 1], num_sampled int32 [B]) of vLLM's second model
    runner; -1 past the sampled ones.

    target_logits  [N, V], after temperature, top-k and top-p; the rows of a request, one for each
                   draft and one more, are ``cu_num_logits[b]:cu_num_logits[b + 1]``
    draft_logits   [requests, num_speculative_steps, W], after temperature; None: each draft is
                   certain
    draft_sampled  [N]            row i's draft is judged by row i - 1; -1 is refused
    pos            [N]            of each row's token in its text: what names the noise
    idx_mapping    [B]            where a request's ``draft_logits`` and the like are
    expanded_idx_mapping, expanded_local_pos  not looked at

    At temperature 0 a draft must be the best token of its own ``draft_logits`` too; one that is not
    is refused, and the target's best token is emitted in its place.
    """
    if synthetic_conditional_rates is not None or use_fp64:
        return _OWN[_V2, "rejection_sample"](
            target_logits, draft_logits, draft_sampled, cu_num_logits, pos, idx_mapping,
            expanded_idx_mapping, expanded_local_pos, temperature, seed, num_speculative_steps,
            synthetic_conditional_rates, use_fp64, use_block_verification,
        )  # fmt: skip
    first, slots = cu_num_logits[:-1].long(), idx_mapping.long()
    lens = cu_num_logits.diff().int()
    column = torch.arange(num_speculative_steps + 1, device=first.device)
    rows = (first[:, None] + column).clamp(max=len(draft_sampled) - 1)
    ids = torch.where(column < lens[:, None], draft_sampled.long()[rows], PLACEHOLDER)
    step = endless(len(slots), first.device) | {"step_idx": pos.long()[first]}
    judged = verify(
        VerifyInputs(
            strategy=Strategy.BLOCK if use_block_verification else Strategy.REJECTION,
            step_input_ids=ids,
            seq_lens_this_time=lens,
            cu_seqlens_q_output=cu_num_logits,
            seeds=seed[slots],
            target_logits=target_logits,
            draft_logits=draft_logits,
            draft_slots=None if draft_logits is None else idx_mapping,
            temperature=(temperature[slots] != 0).float(),
            **step,
        )
    )
    return judged.accept_tokens, judged.accept_num


def apply_top_k_top_p(
    logits: torch.Tensor, k: torch.Tensor | None, p: torch.Tensor | None
) -> torch.Tensor:
    """[R, V]: the logits, in place, with -inf for what top-k and then top-p leave out.

    k  int32 or int64 [R], V: off
    p  float32 [R], 1: off
    """
    if k is None and p is None:
        return logits
    ones = torch.ones(logits.shape[0], device=logits.device)
    cut_logit, cut_id = top_k_top_p_cut(logits, ones, k, p)
    token = torch.arange(logits.shape[1], device=logits.device)
    worse = logits < cut_logit[:, None]
    tied = logits == cut_logit[:, None]
    return logits.masked_fill_(worse | (tied & (token > cut_id[:, None])), float("-inf"))
