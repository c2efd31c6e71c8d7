"""``build_tree`` on a GPU: one program a request."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .._device import come_before, wait_for_another
from .._hardware import after_another
from .._launch import Launcher
from .inputs import TreeCandidates

# Candidates that all others are compared with at a time.
TOGETHER = 16
WARPS = 8


def build_triton(
    inputs: TreeCandidates,
    *,
    launch: Launcher | None = None,
    out: tuple[torch.Tensor, ...] = (),
) -> tuple[torch.Tensor, ...]:
    """The fields of ``kernels.tree.Tree``, in ``out`` if that is given."""
    launch = launch or Launcher()
    (batch, candidates), nodes = inputs.scores.shape, inputs.draft_token_num
    device = inputs.scores.device
    *made, mask = out or (
        *launch.empties(5, batch, nodes, dtype=torch.int64, device=device),
        launch.empty(batch, nodes, nodes, dtype=torch.bool, device=device),
    )
    if batch == 0:
        return (*made, mask)
    launch(
        _build_kernel, batch,
        (
            (inputs.scores, *inputs.scores.stride()), (inputs.tokens, *inputs.tokens.stride()),
            (inputs.parent_list, *inputs.parent_list.stride()),
            inputs.verified_id.contiguous(), inputs.seq_lens.contiguous(),
            tuple(made), mask, candidates, inputs.topk, nodes,
        ),
        lambda: {
            "CANDIDATES": triton.next_power_of_2(candidates),
            "NODES": triton.next_power_of_2(nodes), "TOGETHER": TOGETHER, "num_warps": WARPS,
            **after_another(),
        },
    )  # fmt: skip
    return (*made, mask)


@triton.jit(do_not_specialize=["candidates", "topk", "nodes"])
def _build_kernel(
    score, token, parent_list,  # (pointer, stride_b, stride_m) each
    verified_ptr, seq_ptr,  # [B]
    made,  # out int64 [B, N] five times, in the order of ``Tree``
    mask_ptr,  # out bool [B, N, N]
    candidates, topk, nodes,
    CANDIDATES: tl.constexpr, NODES: tl.constexpr, TOGETHER: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    wait_for_another(PDL)
    tokens_ptr, parents_ptr, positions_ptr, first_ptr, sibling_ptr = made
    b = tl.program_id(0).to(tl.int64)
    _choose(score, parents_ptr + b * nodes, b, candidates, nodes, CANDIDATES, TOGETHER)
    # What was chosen stands where the parents will; other threads wrote it.
    tl.debug_barrier()
    node = tl.arange(0, NODES)
    draft = (node >= 1) & (node < nodes)
    chosen = tl.load(parents_ptr + b * nodes + node, mask=draft, other=-1)
    continued = tl.load(
        parent_list[0] + b * parent_list[1] + chosen // topk * parent_list[2],
        mask=draft & (chosen >= topk), other=-1,
    )  # fmt: skip
    before = node[None, :] < node[:, None]
    found = before & (chosen[None, :] == continued[:, None]) & (continued[:, None] >= 0)
    parent = tl.max(tl.where(found, node[None, :], -1), axis=1)
    parent = tl.where(draft & (chosen < topk), 0, parent)

    sees = node[:, None] == node[None, :]
    depth = node * 0
    above = parent
    hangs = node == 0
    while tl.max(above) >= 0:
        here = above[:, None] == node[None, :]
        sees = sees | here
        hangs = hangs | (above == 0)
        depth += (above >= 0).to(tl.int32)
        above = tl.sum(tl.where(here, parent[None, :] + 1, 0), axis=1) - 1
    parent = tl.where(hangs, parent, -1)
    sees = sees & (hangs[:, None] | (node[:, None] == node[None, :]))
    depth = tl.where(hangs, depth, 0)

    of_parent = parent[:, None] == node[None, :]  # [child, parent]
    first = tl.min(tl.where(of_parent, node[:, None], NODES), axis=0)
    together = (parent[:, None] == parent[None, :]) & (parent[:, None] >= 0)
    later = together & (node[None, :] > node[:, None])
    sibling = tl.min(tl.where(later, node[None, :], NODES), axis=1)

    text = tl.load(token[0] + b * token[1] + chosen * token[2], mask=draft & hangs, other=-1)
    text = tl.where(node == 0, tl.load(verified_ptr + b), text)
    inside = node < nodes
    at = b * nodes + node
    tl.debug_barrier()  # all have read what was chosen
    tl.store(tokens_ptr + at, text, mask=inside)
    tl.store(parents_ptr + at, parent.to(tl.int64), mask=inside)
    tl.store(positions_ptr + at, tl.load(seq_ptr + b).to(tl.int64) + depth, mask=inside)
    tl.store(first_ptr + at, tl.where(first < NODES, first, -1).to(tl.int64), mask=inside)
    tl.store(sibling_ptr + at, tl.where(sibling < NODES, sibling, -1).to(tl.int64), mask=inside)
    square = at[:, None] * nodes + node[None, :]
    tl.store(mask_ptr + square, sees, mask=inside[:, None] & inside[None, :])


@triton.jit
def _choose(
    score, chosen_ptr, b, candidates, nodes, CANDIDATES: tl.constexpr, TOGETHER: tl.constexpr
):
    """Stores the places of the best candidates, in their own order, from ``chosen_ptr + 1`` on."""
    place = tl.arange(0, CANDIDATES)
    x = _read_scores(score, b, place, candidates)
    rank = place * 0
    for start in range(0, candidates, TOGETHER):
        other = start + tl.arange(0, TOGETHER)
        rank += come_before(_read_scores(score, b, other, candidates), other, x, place)
    best = (place < candidates) & (rank < nodes - 1)
    node = tl.cumsum(best.to(tl.int32), 0)
    tl.store(chosen_ptr + node, place.to(tl.int64), mask=best)


@triton.jit
def _read_scores(score, b, place, candidates):
    """NaN as -inf, and so is what is no candidate."""
    at = score[0] + b * score[1] + place.to(tl.int64) * score[2]
    return tl.maximum(tl.load(at, mask=place < candidates, other=float("-inf")), float("-inf"))
