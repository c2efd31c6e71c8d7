"""Trees of draft tokens: built from a draft model's candidates, and verified against the target.

Sources: EAGLE-2 (Li et al. 2024, arXiv 2406.16858) and EAGLE-3 (arXiv 2503.01840); SGLang's
``build_tree_kernel_efficient``, ``verify_tree_greedy`` and, with thresholds of 1,
``tree_speculative_sampling_target_only``, whose arguments and trees these are. Node 0 of a tree is
the last token that stands, its root; the others are drafts, and a node comes after its parent.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from .._dispatch import use_triton
from .._launch import launcher_of
from .._random import CHUNK
from .._validate import BOOL, INT32, INT64, given_out, written
from ..verify.strategy import Strategy
from .inputs import MOST_NODES, TreeCandidates, TreeInputs
from .reference import build_reference, verify_tree_reference

__all__ = [
    "MOST_NODES",
    "Strategy",
    "Tree",
    "TreeCandidates",
    "TreeInputs",
    "VerifiedTree",
    "build_tree",
    "verify_tree",
]


@dataclass(frozen=True)
class Tree:
    """The trees of a batch, N nodes a request."""

    draft_tokens: torch.Tensor  # int64 [B, N]; node 0: the last token; -1: no node
    parents: torch.Tensor  # int64 [B, N], a node before this one; -1 for the root and for no node
    positions: torch.Tensor  # int64 [B, N], ``seq_lens`` plus the depth
    next_token: torch.Tensor  # int64 [B, N], a node's first child, -1 if it has none
    next_sibling: torch.Tensor  # int64 [B, N], the next child of the same parent, -1 after the last
    mask: torch.Tensor  # bool [B, N, N], [b, i, j]: node i sees node j, itself or above it


@dataclass(frozen=True)
class VerifiedTree:
    """What one step emits."""

    # int64 [B, S]: the accepted drafts and the token that follows them, -1 past these
    accept_tokens: torch.Tensor

    # int64 [B, S]: the node that each of them was emitted at, from the root on, -1 past these. Of
    # these nodes the target's keys and values are kept.
    accept_index: torch.Tensor

    # int32 [B], 0 for an idle request
    accept_num: torch.Tensor


def build_tree(inputs: TreeCandidates, out: Tree | None = None) -> Tree:
    """The best candidates of each request and its last token, as a tree.

    Best by (score descending, place ascending). Nodes keep the order of the candidates. A candidate
    whose parent was not chosen or comes after it is no node, nor is what hangs on it.

    ``out``, with contiguous tensors of the result's shapes, is written and returned.

    Raises TypeError or ValueError, naming shape, dtype and device, for inputs that do not fit
    together.
    """
    values = (*vars(inputs).values(), *given_out(out))
    launch = launcher_of("tree.build_tree", values)

    def check() -> None:
        args = inputs.check()
        if out is not None:
            nodes = inputs.draft_token_num
            for name, tensor in list(vars(out).items())[:-1]:
                args.out(name, tensor, ("B", nodes), INT64)
            args.out("mask", out.mask, ("B", nodes, nodes), BOOL)

    launch.check_once(check)
    if use_triton("tree.build_tree", inputs.scores.device):

        def build() -> tuple[torch.Tensor, ...]:
            from .build import build_triton

            return build_triton(inputs, launch=launch, out=given_out(out))

        return Tree(*launch.run(values, build))
    return Tree(*written(build_reference(inputs), given_out(out)))


def verify_tree(inputs: TreeInputs, out: VerifiedTree | None = None) -> VerifiedTree:
    """Walks each tree from its root along drafts that stand, and emits these and one token more.

    GREEDY and TARGET_MATCH go on to the child that is what the target emits there by itself
    (argmax, or drawn): the text is the same as without drafts, token for token. REJECTION accepts
    the children one after the other as drafts that their own distribution gives all mass, each
    against what the ones before it left of the target's, and draws the last token from what all of
    them left. All three leave the target's distribution as it is. A tree without branches gives
    what ``kernels.verify`` gives for one-hot drafts.

    The noise of a token depends on (seed, position in the text), not on the tree or the batch.
    Equal logits order by id. NaN is read as -inf; a target row without a finite logit emits token
    0. Of siblings with one token the first counts.

    ``out``, with contiguous tensors of the result's shapes, is written and returned.

    Raises TypeError or ValueError, naming shape, dtype and device, for inputs that do not fit
    together.
    """
    values = (*vars(inputs).values(), *given_out(out))
    launch = launcher_of("tree.verify_tree", values)

    def check() -> None:
        args = inputs.check()
        if out is not None:
            most = inputs.most_tokens
            args.out("accept_tokens", out.accept_tokens, ("B", most), INT64)
            args.out("accept_index", out.accept_index, ("B", most), INT64)
            args.out("accept_num", out.accept_num, ("B",), INT32)

    launch.check_once(check)
    if use_triton("tree.verify_tree", inputs.draft_tokens.device):

        def walk() -> tuple[torch.Tensor, ...]:
            from .walk import verify_tree_triton

            return verify_tree_triton(inputs, chunk=CHUNK, launch=launch, out=given_out(out))

        return VerifiedTree(*launch.run(values, walk))
    return VerifiedTree(*written(verify_tree_reference(inputs, chunk=CHUNK)[:3], given_out(out)))
