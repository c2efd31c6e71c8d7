"""A tree of drafts leaves the target's distribution as it is: chi-square at 1e-9, and what must not
pass it.

200,000 requests over 8 tokens, whose target says after each node what it says after that node's
token, as a model does. On a CPU the law walks (the property tests hold the kernels to it), on a GPU
the kernels themselves.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from kernels.tree import Strategy, TreeInputs
from kernels.tree import reference as law
from kernels.tree.reference import verify_tree_reference
from tests.kernels.properties import DEVICE
from tests.kernels.test_verify_lossless import DRAWS, excess

VOCAB = 8
CHUNK = 4  # several chunks even of a small vocabulary
STRATEGIES = (Strategy.TARGET_MATCH, Strategy.REJECTION)

# Parents of the nodes after the root: children with a branch each, an only path, and no draft.
SHAPES = {"branches": [0, 0, 0, 1, 1, 2], "path": [0, 1, 2], "root": []}


def run(given: TreeInputs) -> tuple[torch.Tensor, torch.Tensor]:
    """(tokens, how many)."""
    if DEVICE == "cuda":
        from kernels.tree.walk import verify_tree_triton

        tokens, _index, count = verify_tree_triton(given, chunk=CHUNK)
        return tokens, count
    tokens, _index, count, _margin = verify_tree_reference(given, chunk=CHUNK)
    return tokens, count


def make(
    strategy: Strategy, shape: list[int], temperature: float, twins: bool = False
) -> tuple[TreeInputs, torch.Tensor]:
    """(the requests, what the target says after each token [V, V]). Drafts are what the target likes
    least, or with ``twins`` random, so that siblings may be the same token."""
    gen = torch.Generator().manual_seed(len(shape))
    after = torch.randn(VOCAB, VOCAB, generator=gen) * 1.2
    nodes = len(shape) + 1
    parents = torch.tensor([-1, *shape]).expand(DRAWS, nodes)
    ids = torch.zeros(DRAWS, nodes, dtype=torch.int64)
    for node in range(1, nodes):
        parent = shape[node - 1]
        order = after[ids[0, parent]].argsort()
        ids[:, node] = order[shape[: node - 1].count(parent)]
    if twins:
        ids[:, 1:] = torch.randint(0, 3, (DRAWS, nodes - 1), generator=gen)
    zero = torch.zeros(DRAWS, dtype=torch.int64)
    given = TreeInputs(
        strategy=strategy,
        draft_tokens=ids,
        parents=parents,
        target_logits=after[ids],
        step_idx=zero + 5,
        max_dec_len=zero + 99,
        end_tokens=zero[:0],
        most_tokens=min(nodes, 3),
        seeds=torch.arange(DRAWS) * 7919 + 13,
        temperature=torch.full((DRAWS,), temperature),
    )
    moved = {n: v.to(DEVICE) for n, v in vars(given).items() if isinstance(v, torch.Tensor)}
    return replace(given, **moved), after.to(DEVICE)


def pairs(given: TreeInputs, after: torch.Tensor) -> torch.Tensor:
    """The first two tokens of each text as one number; a second step gives what the first did
    not."""
    tokens, count = run(given)
    first = tokens[:, 0]
    alone = replace(
        given,
        draft_tokens=first[:, None],
        parents=torch.full_like(first, -1)[:, None],
        target_logits=after[first][:, None],
        step_idx=given.step_idx + 1,
        most_tokens=1,
    )
    second = run(alone)[0][:, 0]
    if tokens.shape[1] > 1:
        second = torch.where(count > 1, tokens[:, 1], second)
    return first * VOCAB + second


def expected(after: torch.Tensor, temperature: float) -> torch.Tensor:
    """The target's probability of each pair, from token 0 on."""
    p = (after.double() / temperature).softmax(dim=1)
    return (p[0][:, None] * p).flatten()


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("shape", SHAPES)
def test_pairs_follow_the_target(strategy: Strategy, shape: str) -> None:
    given, after = make(strategy, SHAPES[shape], 0.8)
    assert excess(pairs(given, after), expected(after, 0.8)) < 1


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_siblings_with_one_token_change_nothing(strategy: Strategy) -> None:
    given, after = make(strategy, SHAPES["branches"], 1.0, twins=True)
    assert excess(pairs(given, after), expected(after, 1.0)) < 1


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_first_draft_stands_as_often_as_the_target_says_a_child(strategy: Strategy) -> None:
    """Within four standard errors of the sum of p over the root's children."""
    given, after = make(strategy, SHAPES["branches"], 1.0)
    children = given.draft_tokens[0, 1:4].cpu()
    p = after[0].double().softmax(dim=0).cpu()[children].sum().item()
    rate = (run(given)[1] > 1).double().mean().item()
    assert abs(rate - p) < 4 * (p * (1 - p) / DRAWS) ** 0.5


def _children_are_drawn_again(patch: pytest.MonkeyPatch) -> None:
    original = law._draw
    patch.setattr(law, "_draw", lambda g, p, i, chunk: original(g, _whole(g, i, p), i, chunk))


def _whole(given: TreeInputs, i: int, p: torch.Tensor) -> torch.Tensor:
    """The root's row without what its children took; later rows as they are."""
    return law._target(given, torch.zeros_like(given.step_idx)) if i == 0 else p


def _one_noise_for_both(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(law, "ACCEPT", law.RECOVER)


@pytest.mark.parametrize("mistake", [_children_are_drawn_again, _one_noise_for_both])
def test_a_mistake_is_noticed(mistake, monkeypatch: pytest.MonkeyPatch) -> None:
    given, after = make(Strategy.REJECTION, SHAPES["branches"], 1.0)
    mistake(monkeypatch)
    given = replace(
        given, **{n: v.cpu() for n, v in vars(given).items() if isinstance(v, torch.Tensor)}
    )
    first = verify_tree_reference(given, chunk=CHUNK)[0][:, 0]
    assert excess(first, after[0].double().softmax(dim=0)) > 1
