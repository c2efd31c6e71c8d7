"""SGLang's verification of draft trees, served by these kernels.

``install()`` puts the two functions below in the place of SGLang's own, in the process that calls
it; their names, arguments and results are SGLang's (as of its release 0.5.23).

``eagle_sample`` has the target's logits: they are read once, and neither probabilities nor
renormalized copies of them are made. ``tree_speculative_sampling_target_only`` is given
probabilities by its other callers, and takes their logarithm first, which is a pass more. SGLang's
``verify_tree_greedy``, its building of trees and its samplers of probabilities stay: what they are
given leaves these kernels nothing to save. A greedy batch is SGLang's too: its argmax takes less
than the walk here.

Tokens differ from SGLang's for the same coins, their distribution does not. Top-k keeps exactly k
tokens where SGLang's may keep all that tie with the k-th.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import torch

from ..sampling import top_k_top_p_cut
from ..tree import Strategy, TreeInputs, VerifiedTree, verify_tree
from ._engine import Own, endless, replace

_EAGLE = "sglang.srt.speculative.eagle_utils"
_TREE = "sglang.kernels.ops.speculative.sampling"
_SIMULATION = "sglang.srt.speculative.spec_utils"
_PARALLEL = "sglang.srt.runtime_context"
_ATTENTION = "sglang.srt.layers.dp_attention"
_SAMPLER = "tree_speculative_sampling_target_only"
_OWN: Own = {}


def install() -> None:
    """Puts the functions of this module in the place of SGLang's, also where SGLang has imported
    them already. A second call changes nothing.

    Raises ImportError where SGLang is not installed, AttributeError where it no longer has them.
    """
    replace(_TREE, _SAMPLER, tree_speculative_sampling_target_only, _OWN)
    replace(_EAGLE, "eagle_sample", eagle_sample, _OWN)


def tree_speculative_sampling_target_only(
    predicts: torch.Tensor,
    accept_index: torch.Tensor,
    accept_token_num: torch.Tensor,
    candidates: torch.Tensor,
    retrive_index: torch.Tensor,
    retrive_next_token: torch.Tensor,
    retrive_next_sibling: torch.Tensor,
    uniform_samples: torch.Tensor,
    uniform_samples_for_final_sampling: torch.Tensor,
    target_probs: torch.Tensor,
    draft_probs: torch.Tensor,
    threshold_single: float = 1.0,
    threshold_acc: float = 1.0,
    deterministic: bool = True,
) -> None:
    """Walks B trees of N nodes, node 0 of each its root, and draws the token that follows.

    predicts          int32 [B * N], written: at a visited node's place the token emitted there
    accept_index      int32 [B, S], written: the places of the visited nodes, from the root on
    accept_token_num  int32 [B], written: the drafts that stand, at most S - 1
    candidates            int64 [B, N]  the nodes' tokens
    retrive_index         int64 [B, N]  the nodes' places in ``predicts``
    retrive_next_token    int64 [B, N]  a node's first child, -1 if it has none
    retrive_next_sibling  int64 [B, N]  the next child of the same parent, -1 after the last
    uniform_samples       float32 [B, N], uniform_samples_for_final_sampling float32 [B]: a
                          request's noise follows from the first of one and the other
    target_probs          float32 [B, N, V]
    draft_probs, deterministic  not looked at

    Thresholds below 1, which accept more than is lossless, go on to SGLang's own.
    """
    if threshold_single < 1 or threshold_acc < 1:
        return _OWN[_TREE, _SAMPLER](
            predicts, accept_index, accept_token_num, candidates, retrive_index,
            retrive_next_token, retrive_next_sibling, uniform_samples,
            uniform_samples_for_final_sampling, target_probs, draft_probs,
            threshold_single, threshold_acc, deterministic,
        )  # fmt: skip
    batch, nodes = candidates.shape
    judged = verify_tree(
        TreeInputs(
            strategy=Strategy.REJECTION,
            draft_tokens=candidates.long(),
            parents=_parents(retrive_next_token, retrive_next_sibling),
            target_logits=target_probs.log(),
            most_tokens=min(accept_index.shape[1], nodes),
            seeds=_seeds(uniform_samples[:, 0], uniform_samples_for_final_sampling),
            temperature=torch.ones(batch, device=candidates.device),
            **endless(batch, candidates.device),
        )
    )
    _write(judged, retrive_index, predicts, accept_index, accept_token_num)


def _parents(next_token: torch.Tensor, next_sibling: torch.Tensor) -> torch.Tensor:
    """int64 [B, N]: the node that each node hangs on, -1 for the root."""
    elder = _pointing(next_sibling)
    place = torch.arange(elder.shape[1], device=elder.device)
    eldest = torch.where(elder < 0, place, elder)
    # Every round doubles how far a node looks back among its siblings.
    for _ in range(elder.shape[1].bit_length()):
        eldest = eldest.gather(1, eldest)
    return _pointing(next_token).gather(1, eldest)


def _pointing(pointers: torch.Tensor) -> torch.Tensor:
    """int64 [B, N]: the node whose pointer names each node, -1 where none does."""
    batch, nodes = pointers.shape
    place = torch.arange(nodes, device=pointers.device).expand(batch, nodes)
    # What names no node is written to a column past them.
    named = torch.where(pointers < 0, nodes, pointers).long()
    return place.new_full((batch, nodes + 1), -1).scatter(1, named, place)[:, :nodes]


def _seeds(first: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
    """int64 [B]: the bits of two float32 numbers."""
    high = first.contiguous().view(torch.int32).long() << 32
    return high | last.contiguous().view(torch.int32).long()


def _write(
    judged: VerifiedTree,
    retrive_index: torch.Tensor,
    predicts: torch.Tensor,
    accept_index: torch.Tensor,
    accept_token_num: torch.Tensor,
) -> None:
    """What was emitted into SGLang's tensors; what is past it stays as it was."""
    node, token = judged.accept_index, judged.accept_tokens
    emitted = node >= 0
    place = retrive_index.long().gather(1, node.clamp(min=0))
    kept = accept_index[:, : node.shape[1]]
    kept.copy_(torch.where(emitted, place, kept))
    accept_token_num.copy_(judged.accept_num - 1)
    # The root is always visited: it is written again where a path has ended.
    place = torch.where(emitted, place, place[:, :1])
    token = torch.where(emitted, token, token[:, :1])
    predicts.scatter_(0, place.flatten(), token.flatten().to(predicts.dtype))


def eagle_sample(
    verify_input: Any,
    batch: Any,
    logits_output: Any,
    grammar_mask: Any = None,
    uno_target_max_top_k: int | None = None,
    *,
    watermark_state: Any = None,
    watermark_full_mask: bool = True,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(predict int32 [B * N], accept_lens int32 [B], accept_index int32 [B, S]) of one step:
    ``predict`` and ``accept_index`` as of ``tree_speculative_sampling_target_only``, and the
    emitted tokens of each request.

    verify_input   SGLang's ``EagleVerifyInput``: the trees, N nodes each, S of ``max_tree_depth``
    batch          its ``ScheduleBatch``, of which ``sampling_info`` says how to sample
    logits_output  ``next_token_logits`` [B * N, V] are read

    Idle batches, batches that are greedy as a whole, penalties, logit biases, grammars, watermarks,
    sampling seeds, dense drafts, thresholds below 1 and simulated acceptance go on to SGLang's own.
    """
    asked = (grammar_mask, uno_target_max_top_k, watermark_state)
    if any(option is not None for option in asked) or not _is_served(batch):
        return _OWN[_EAGLE, "eagle_sample"](
            verify_input, batch, logits_output, grammar_mask, uno_target_max_top_k,
            watermark_state=watermark_state, watermark_full_mask=watermark_full_mask,
        )  # fmt: skip
    info, nodes = batch.sampling_info, verify_input.draft_token_num
    logits = logits_output.next_token_logits
    device, requests = logits.device, logits.shape[0] // nodes
    judged = verify_tree(
        TreeInputs(
            draft_tokens=verify_input.draft_token.long().view(requests, nodes),
            parents=_parents(verify_input.retrieve_next_token, verify_input.retrieve_next_sibling),
            target_logits=logits.view(requests, nodes, -1),
            most_tokens=min(verify_input.max_tree_depth, nodes),
            **_drawing(logits, info, nodes),
            **endless(requests, device),
        )
    )
    predict = torch.zeros(requests * nodes, dtype=torch.int32, device=device)
    shape = (requests, verify_input.max_tree_depth)
    accept_index = torch.full(shape, -1, dtype=torch.int32, device=device)
    accepted = torch.empty(requests, dtype=torch.int32, device=device)
    _write(judged, verify_input.retrieve_index, predict, accept_index, accepted)
    _agree(predict, accept_index, accepted)
    return predict, accepted + 1, accept_index


def _is_served(batch: Any) -> bool:
    """Whether these kernels do all that a batch asks for."""
    spec, info = import_module(_EAGLE).get_spec(), batch.sampling_info
    if batch.forward_mode.is_idle() or info.is_all_greedy:
        return False
    if spec.speculative_use_rejection_sampling or import_module(_SIMULATION).SIMULATE_ACC_LEN > 0:
        return False
    lossless = min(spec.speculative_accept_threshold_single, spec.speculative_accept_threshold_acc)
    return (
        lossless >= 1
        and info.acc_additive_penalties is None
        and info.acc_scaling_penalties is None
        and info.logit_bias is None
        and info.sampling_seed is None
    )


def _drawing(logits: torch.Tensor, info: Any, nodes: int) -> dict[str, Any]:
    """How a batch draws: ``temperatures`` [B, 1], ``top_ks`` int32 [B] and ``top_ps`` [B]."""
    temperature = info.temperatures.flatten().float()
    seeds = torch.empty(len(temperature), dtype=torch.int64, device=logits.device).random_()
    how = {"strategy": Strategy.REJECTION, "temperature": temperature, "seeds": seeds}
    if not info.need_top_k_sampling and not info.need_top_p_sampling:
        return how
    top_k = info.top_ks.repeat_interleave(nodes) if info.need_top_k_sampling else None
    top_p = info.top_ps.repeat_interleave(nodes) if info.need_top_p_sampling else None
    cut_logit, cut_id = top_k_top_p_cut(logits, temperature.repeat_interleave(nodes), top_k, top_p)
    return how | {
        "target_cut_logit": cut_logit.view(-1, nodes),
        "target_cut_id": cut_id.view(-1, nodes),
    }


def _agree(*results: torch.Tensor) -> None:
    """All ranks take what the first one drew."""
    parallel = import_module(_PARALLEL).get_parallel()
    of_attention = import_module(_ATTENTION).is_dp_attention_enabled()
    group = parallel.attn_tp_group if of_attention else parallel.tp_group
    if group.world_size > 1:
        for result in results:
            group.broadcast(result, src=0)
