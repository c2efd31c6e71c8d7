"""The workloads of draft trees: a tree built as EAGLE-2 grows it, and trees before the target."""

from __future__ import annotations

import torch

from ..cases._case import VOCAB
from ..tree import Strategy, TreeCandidates, TreeInputs, build_tree, verify_tree
from .inputs import random_logits
from .workload import Call, Workload

TOPK, DEPTH = 8, 5


def tree_workloads() -> list[Workload]:
    """Few requests with many nodes, as trees are used."""
    found = [
        _verify(strategy, requests, nodes)
        for strategy in (Strategy.GREEDY, Strategy.REJECTION)
        for requests, nodes in ((1, 64), (16, 16), (16, 64))
    ]
    return [*found, _build(64, 64)]


def _verify(strategy: Strategy, requests: int, nodes: int) -> Workload:
    def build(i: int) -> dict[str, Call]:
        target = random_logits(requests * nodes, VOCAB, seed=i).view(requests, nodes, VOCAB)
        place = torch.arange(nodes, device="cuda")
        parents = ((place - 1) // 4).expand(requests, nodes).contiguous()  # four children each
        parents[:, 0] = -1
        likely = target.topk(4, dim=2).indices
        above = likely.gather(1, parents.clamp(min=0)[:, :, None].expand(-1, -1, 4))
        step = torch.full((requests,), 17, device="cuda")
        given = TreeInputs(
            strategy=strategy,
            draft_tokens=above[:, place, (place - 1) % 4].contiguous(),
            parents=parents,
            target_logits=target,
            step_idx=step,
            max_dec_len=step + 100,
            end_tokens=torch.tensor([VOCAB - 1], device="cuda"),
            most_tokens=6,
            seeds=torch.arange(requests, device="cuda") + 1000 * i,
            temperature=torch.full((requests,), 0.7, device="cuda"),
        )
        return {"ours": lambda: verify_tree(given)}

    name = f"tree of {nodes}, {strategy.name.lower()}, {requests} requests"
    return Workload(name, "tree", requests * nodes * VOCAB * 2, build)


def _build(requests: int, nodes: int) -> Workload:
    candidates = TOPK + (DEPTH - 1) * TOPK * TOPK

    def build(i: int) -> dict[str, Call]:
        gen = torch.Generator(device="cuda").manual_seed(i)
        first = torch.randn(requests, TOPK, generator=gen, device="cuda").sort(descending=True)[0]
        levels, blocks = [first], [torch.arange(-1, TOPK, device="cuda").expand(requests, -1)]
        for step in range(1, DEPTH):
            fall = torch.rand(requests, TOPK, TOPK, generator=gen, device="cuda")
            best, chosen = levels[-1].topk(TOPK, dim=1)
            if step > 1:
                blocks.append(chosen + TOPK + (step - 2) * TOPK * TOPK)
            levels.append((best[:, :, None] - fall).flatten(1))
        scores, parents = torch.cat(levels, dim=1), torch.cat(blocks, dim=1)
        tokens = torch.randint(0, VOCAB, scores.shape, generator=gen, device="cuda")
        lens = torch.full((requests,), 500, dtype=torch.int32, device="cuda")
        inputs = TreeCandidates(
            scores=scores,
            tokens=tokens,
            parent_list=parents,
            verified_id=tokens[:, 0],
            seq_lens=lens,
            topk=TOPK,
            draft_token_num=nodes,
        )
        return {"ours": lambda: build_tree(inputs)}

    size = requests * (candidates * 12 + nodes * nodes + nodes * 40)
    return Workload(f"tree of {nodes} built, {requests} requests", "tree", size, build)
