"""`kernels.tree`: trees as EAGLE-2 grows them, built, and walked by every strategy; requests with a
close call in float64 are not compared."""

from __future__ import annotations

from functools import partial

import torch

from kernels.cases._case import CLOSE, SURE, VOCAB, Case, Given, Inputs, Outputs
from kernels.tree import Strategy, TreeCandidates, TreeInputs, build_tree, verify_tree
from kernels.tree.reference import build_reference, verify_tree_reference
from kernels.verify import CHUNK

NAMES = ("draft_tokens", "parents", "positions", "next_token", "next_sibling", "mask")


def _candidates(inputs: Inputs, topk: int, depth: int) -> Given:
    """What ``depth`` steps of a draft model leave: after the first, the best ``topk`` are continued
    by ``topk`` each."""
    batch = inputs.size(3, 32)
    levels, tokens = [inputs.normal(batch, topk)], [inputs.ints(0, 50, batch, topk)]
    best, blocks = levels[0], [torch.arange(-1, topk, device=inputs.device).expand(batch, -1)]
    start = 0
    for _step in range(1, depth):
        scores = (best[:, :, None] - inputs.normal(batch, topk, topk).abs()).flatten(1)
        levels.append(scores)
        tokens.append(inputs.ints(0, 50, batch, topk * topk))
        start += levels[-2].shape[1]
        best, chosen = scores.topk(topk, dim=1)
        blocks.append(chosen + start)
    return {
        "scores": torch.cat(levels, dim=1),
        "tokens": torch.cat(tokens, dim=1),
        "parent_list": torch.cat(blocks[:-1], dim=1),
        "verified_id": inputs.ints(0, 50, batch),
        "seq_lens": inputs.ints(1, 90, batch, dtype=torch.int32),
    }


def _grown(device: torch.device, *, topk: int, depth: int, nodes: int) -> Given:
    inputs = Inputs(71, device)
    return _candidates(inputs, topk, depth) | {"topk": topk, "draft_token_num": nodes}


def _judged(device: torch.device, *, strategy: Strategy) -> Given:
    """A tree of plain torch: each node hangs on one before it, and its token is one of its
    parent's likeliest."""
    inputs = Inputs(72, device)
    batch, nodes, vocab = inputs.size(3, 16), inputs.size(7, 16), inputs.size(100, VOCAB)
    target = inputs.logits(batch, nodes, vocab)
    place = torch.arange(nodes, device=device)
    parents = (inputs.ints(0, 1 << 30, batch, nodes) % place.clamp(min=1)).masked_fill(
        place == 0, -1
    )
    likely = target.topk(4, dim=2).indices[
        torch.arange(batch, device=device)[:, None], parents.clamp(min=0)
    ]
    kind = inputs.ints(0, 4, batch, nodes, 1)
    step = inputs.ints(0, 50, batch)
    given: Given = {
        "strategy": strategy,
        "draft_tokens": likely.gather(2, kind)[:, :, 0],
        "parents": parents,
        "target_logits": target,
        "step_idx": step,
        "max_dec_len": step + inputs.ints(1, 12, batch),
        "end_tokens": inputs.of([3, 17], torch.int64),
        "most_tokens": 5,
        "stop_flags": inputs.ints(0, 8, batch) == 0,
    }
    if strategy != Strategy.GREEDY:
        given["temperature"] = inputs.one_of([0.0, 0.7, 1.0], batch)
        given["seeds"] = inputs.ints(-(2**62), 2**62, batch)
    return given


def _build(given: Given) -> Outputs:
    return vars(build_tree(TreeCandidates(**given)))


def _build_reference(given: Given) -> Outputs:
    return dict(zip(NAMES, build_reference(TreeCandidates(**given)), strict=True))


def _verify(given: Given) -> Outputs:
    return vars(verify_tree(TreeInputs(**given)))


def _verify_reference(given: Given) -> Outputs:
    tokens, index, count, margin = verify_tree_reference(TreeInputs(**given), chunk=CHUNK)
    return {
        "accept_tokens": tokens,
        "accept_index": index,
        "accept_num": count,
        SURE: margin > CLOSE,
    }


CASES = (
    Case("build", partial(_grown, topk=4, depth=3, nodes=16), _build, _build_reference),
    Case("build-chain", partial(_grown, topk=1, depth=5, nodes=6), _build, _build_reference),
    *(
        Case(name, partial(_judged, strategy=strategy), _verify, _verify_reference)
        for name, strategy in (
            ("greedy", Strategy.GREEDY),
            ("target-match", Strategy.TARGET_MATCH),
            ("rejection", Strategy.REJECTION),
        )
    ),
)
