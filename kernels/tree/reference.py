"""The law of trees: candidates to a tree in plain integers, and the walk in float64."""

from __future__ import annotations

import torch

from .._logits import probabilities
from .._random import ACCEPT, RECOVER, draw, uniforms
from ..verify.strategy import Strategy
from .inputs import TreeCandidates, TreeInputs


def build_reference(given: TreeCandidates) -> tuple[torch.Tensor, ...]:
    """The fields of ``kernels.tree.Tree``, request by request."""
    batch, nodes, device = given.scores.shape[0], given.draft_token_num, given.scores.device
    none = torch.full((batch, nodes), -1, dtype=torch.int64)
    draft_tokens, parents, first, sibling = none.clone(), none.clone(), none.clone(), none.clone()
    positions = given.seq_lens.long().cpu()[:, None].repeat(1, nodes)
    mask = torch.zeros(batch, nodes, nodes, dtype=torch.bool)
    for b in range(batch):
        chosen = _best(given.scores[b], nodes - 1)
        draft_tokens[b, 0] = given.verified_id[b]
        mask[b] = torch.eye(nodes, dtype=torch.bool)
        youngest: dict[int, int] = {}  # of each node's children so far
        for i, candidate in enumerate(chosen, start=1):
            parent = _parent(candidate, chosen[: i - 1], given.parent_list[b], given.topk)
            if parent < 0 or (parent > 0 and int(parents[b, parent]) < 0):
                continue
            draft_tokens[b, i] = given.tokens[b, candidate]
            parents[b, i] = parent
            mask[b, i] |= mask[b, parent]
            positions[b, i] = positions[b, parent] + 1
            if parent in youngest:
                sibling[b, youngest[parent]] = i
            else:
                first[b, parent] = i
            youngest[parent] = i
    made = (draft_tokens, parents, positions, first, sibling, mask)
    return tuple(part.to(device) for part in made)


def _best(scores: torch.Tensor, count: int) -> list[int]:
    """The best candidates of a request, in their own order."""
    ranked = sorted(range(len(scores)), key=lambda i: (-_order(float(scores[i])), i))
    return sorted(ranked[:count])


def _order(score: float) -> float:
    return score if score == score else float("-inf")


def _parent(candidate: int, before: list[int], parent_list: torch.Tensor, topk: int) -> int:
    """The node that a candidate hangs on; -1 if that is none of the nodes before it."""
    if candidate < topk:
        return 0
    continued = int(parent_list[candidate // topk])
    return before.index(continued) + 1 if continued in before else -1


def verify_tree_reference(
    given: TreeInputs, *, chunk: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """(accept_tokens, accept_index, accept_num, margin): ``margin`` float64 [B] is how far, in
    probability, the closest of a request's decisions was from going the other way. Another
    precision may differ below it.
    """
    batch, most = given.step_idx.shape[0], given.most_tokens
    device = given.step_idx.device
    there = _nodes(given)
    node = torch.zeros(batch, dtype=torch.int64, device=device)
    walking = torch.ones(batch, dtype=torch.bool, device=device)
    margin = torch.full((batch,), torch.inf, dtype=torch.float64, device=device)
    tokens = torch.full((batch, most), -1, dtype=torch.int64, device=device)
    index = tokens.clone()
    for i in range(most):
        children = there & (given.parents == node[:, None])
        if i + 1 == most:
            children = torch.zeros_like(children)
        child, token, close = _step(given, node, children, i, chunk)
        tokens[:, i] = torch.where(walking, token, -1)
        index[:, i] = torch.where(walking, node, -1)
        margin = torch.where(walking, margin.minimum(close), margin)
        walking = walking & (child >= 0)
        node = torch.where(walking, child, node)
    count = _emitted(given, tokens)
    past = torch.arange(most, device=device) >= count[:, None]
    return tokens.masked_fill(past, -1), index.masked_fill(past, -1), count.int(), margin


def _nodes(given: TreeInputs) -> torch.Tensor:
    """bool [B, N]: what is a draft, and comes after its parent."""
    place = torch.arange(given.draft_tokens.shape[1], device=given.draft_tokens.device)
    token, parent = given.draft_tokens, given.parents
    known = (token >= 0) & (token < given.target_logits.shape[2])
    return known & (parent >= 0) & (parent < place)


def _step(
    given: TreeInputs, node: torch.Tensor, children: torch.Tensor, i: int, chunk: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(child or -1, token emitted, margin) of each request at its node, the i-th of its walk."""
    p = _target(given, node)
    if given.strategy != Strategy.REJECTION:
        token, close = _draw(given, p, i, chunk)
        return _first(children & (given.draft_tokens == token[:, None])), token, close
    # Each child takes the mass of its token, which the next one with that token no longer finds.
    safe = torch.where(children, given.draft_tokens, 0)
    earlier = torch.ones_like(children[0])[:, None].expand(-1, len(children[0])).tril(-1)
    again = (safe[:, :, None] == safe[:, None, :]) & earlier & children[:, None, :]
    mass = torch.where(children & ~again.any(dim=2), p.gather(1, safe), 0.0)
    until = mass.cumsum(dim=1)
    u, _second = uniforms(given.seeds, given.step_idx + i, ACCEPT)
    child = _first((u[:, None] < until) & (mass > 0))
    greedy = (p > 0).sum(dim=1) <= 1
    distance = torch.where(children, (until - u[:, None]).abs(), torch.inf).amin(dim=1)
    # A removed token is written to the column past the vocabulary.
    vocab = p.shape[1]
    where = torch.where(children, given.draft_tokens, vocab)
    left = torch.nn.functional.pad(p, (0, 1)).scatter(1, where, 0.0)[:, :vocab]
    # Nothing left means that the children have all of it, where going past them is rounding.
    left = torch.where(left.sum(dim=1, keepdim=True) > 0, left, p)
    last, close = _draw(given, left, i, chunk)
    chosen = given.draft_tokens.gather(1, child.clamp(min=0)[:, None])[:, 0]
    close = torch.where(child >= 0, distance, distance.minimum(close))
    return child, torch.where(child >= 0, chosen, last), torch.where(greedy, torch.inf, close)


def _target(given: TreeInputs, node: torch.Tensor) -> torch.Tensor:
    """float64 [B, V]: what the target says after each request's node."""
    request = torch.arange(len(node), device=node.device)
    cut = (None, None)
    if given.target_cut_logit is not None:
        cut = (given.target_cut_logit[request, node], given.target_cut_id[request, node])
    temperature = given.temperature
    if given.strategy == Strategy.GREEDY:
        temperature = torch.zeros(len(node), device=node.device)
    return probabilities(given.target_logits[request, node], temperature, *cut)


def _draw(
    given: TreeInputs, p: torch.Tensor, i: int, chunk: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """A token of each row of ``p`` [B, V] and its margin; a row with one possible token has no
    close call."""
    seeds = given.step_idx if given.seeds is None else given.seeds
    token, margin = draw(p, uniforms(seeds, given.step_idx + i, RECOVER), chunk)
    return token, torch.where((p > 0).sum(dim=1) <= 1, torch.inf, margin)


def _first(good: torch.Tensor) -> torch.Tensor:
    """int64 [B]: the first column that holds, -1 if none does."""
    return torch.where(good.any(dim=1), good.int().argmax(dim=1), -1)


def _emitted(given: TreeInputs, tokens: torch.Tensor) -> torch.Tensor:
    """int64 [B]: how many of a walk's tokens count, cut after the first end token and at
    ``max_dec_len``."""
    walked = (tokens >= 0).sum(dim=1)
    ends = (tokens[:, :, None] == given.end_tokens).any(dim=2)
    until_end = torch.where(ends.any(dim=1), ends.int().argmax(dim=1) + 1, tokens.shape[1])
    count = walked.minimum(until_end)
    count = count.minimum((given.max_dec_len - given.step_idx).clamp(min=0))
    if given.stop_flags is not None:
        count = torch.where(given.stop_flags, 0, count)
    return count
