"""What ``build_tree`` and ``verify_tree`` are given: every argument once, with its shape, its type
and its meaning."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from .._validate import BOOL, FLOAT32, INT64, INTS, LOGITS, Args, optional, tensor
from ..verify.strategy import Strategy

MOST_NODES = 256
MOST_CANDIDATES = 4096


@dataclass(frozen=True, kw_only=True)
class TreeCandidates:
    """What a draft model proposes, to make trees of.

    Letters are sizes: B requests, M candidates, P parents. A tensor may have any strides.
    """

    # Of each candidate, and never more than its parent's: what the draft model thinks of the whole
    # path. NaN is the worst.
    scores: torch.Tensor = tensor("B", "M", dtypes=FLOAT32)

    # Candidates come ``topk`` together, continuations of one parent.
    tokens: torch.Tensor = tensor("B", "M", dtypes=INT64)

    # The candidate that the j-th ``topk`` continue; column 0 is not looked at, for the first ones
    # continue the root. P is at least M / topk.
    parent_list: torch.Tensor = tensor("B", "P", dtypes=INT64)

    # The last token that stands, and its position.
    verified_id: torch.Tensor = tensor("B", dtypes=INT64)
    seq_lens: torch.Tensor = tensor("B", dtypes=INTS)

    topk: int

    # N, the nodes of a tree: the root and the best ``draft_token_num - 1`` candidates
    draft_token_num: int

    def check(self) -> Args:
        """The sizes and the device; raises TypeError or ValueError, naming shape, dtype and device,
        for what does not fit.
        """
        args = Args("tree.build_tree")
        args.fields(self)
        args.integer("topk", self.topk, 1, MOST_CANDIDATES)
        candidates = args.sizes["M"]
        if candidates > MOST_CANDIDATES:
            raise args.fail(f"at most {MOST_CANDIDATES} candidates, got M={candidates}")
        args.integer("draft_token_num", self.draft_token_num, 1, min(MOST_NODES, candidates + 1))
        if args.sizes["P"] * self.topk < candidates:
            raise args.fail(
                f"parent_list must have a column for each {self.topk} of {candidates} candidates"
            )
        return args


@dataclass(frozen=True, kw_only=True)
class TreeInputs:
    """One step's trees, and what they are judged by.

    Letters are sizes: B requests, N nodes, V tokens, E end tokens. A tensor may have any strides.
    """

    # GREEDY, TARGET_MATCH or REJECTION
    strategy: Strategy

    # Node 0 is the last token; any id beyond the tokens is no node.
    draft_tokens: torch.Tensor = tensor("B", "N", dtypes=INT64)

    # The node that each one continues, which comes before it; anything else is no node.
    parents: torch.Tensor = tensor("B", "N", dtypes=INT64)

    # What the target says after each node.
    target_logits: torch.Tensor = tensor("B", "N", "V", dtypes=LOGITS)

    # Tokens generated before this step: a count, not an index.
    step_idx: torch.Tensor = tensor("B", dtypes=INT64)

    # Tokens that a request may generate; the step stops there.
    max_dec_len: torch.Tensor = tensor("B", dtypes=INT64)

    # The step stops after the first of these, which is emitted.
    end_tokens: torch.Tensor = tensor("E", dtypes=INT64)

    # S: the most tokens of a step, one more than the depth that is walked. 1..N
    most_tokens: int

    # Not needed for GREEDY.
    seeds: torch.Tensor | None = optional("B", dtypes=INT64)

    # 0 is greedy; not needed for GREEDY.
    temperature: torch.Tensor | None = optional("B", dtypes=FLOAT32)

    # The last kept token of each row and its logit, from ``kernels.sampling.top_k_top_p_cut``.
    target_cut_logit: torch.Tensor | None = optional("B", "N", dtypes=FLOAT32)
    target_cut_id: torch.Tensor | None = optional("B", "N", dtypes=INT64)

    # True: the request takes no part, ``accept_num`` is 0.
    stop_flags: torch.Tensor | None = optional("B", dtypes=BOOL)

    def check(self) -> Args:
        """The sizes and the device; raises TypeError or ValueError, naming shape, dtype and device,
        for what does not fit.
        """
        args = Args("tree.verify_tree")
        strategy = Strategy(self.strategy)
        args.fields(self)
        if args.sizes["N"] == 0 or args.sizes["V"] == 0:
            raise args.fail("a tree must have at least one node, and target_logits one column")
        if args.sizes["N"] > MOST_NODES:
            raise args.fail(f"at most {MOST_NODES} nodes, got N={args.sizes['N']}")
        args.integer("most_tokens", self.most_tokens, 1, args.sizes["N"])
        if strategy in (Strategy.TOPP, Strategy.BLOCK):
            raise args.fail(f"strategy {strategy.name} is not for trees")
        if strategy != Strategy.GREEDY and (self.temperature is None or self.seeds is None):
            raise args.fail(f"strategy {strategy.name} needs temperature and seeds")
        if (self.target_cut_logit is None) != (self.target_cut_id is None):
            raise args.fail("target_cut_logit and target_cut_id go together")
        return args
