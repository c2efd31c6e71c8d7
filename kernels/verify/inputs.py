"""What ``verify`` is given: every argument once, with its shape, its type and its meaning."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from .._validate import BOOL, FLOAT32, INT32, INT64, INTS, LOGITS, Args, optional, tensor
from .strategy import Strategy

LARGEST_WINDOW = 1 << 20


@dataclass(frozen=True, kw_only=True)
class VerifyInputs:
    """One step's drafts, and what they are judged by.

    Letters are sizes: B requests, S columns (the last token and the drafts), T rows of the target,
    V tokens of the target's vocabulary, W of the draft model's, N slots of the draft's logits, C
    candidates, E end tokens.
    A tensor may have any strides. What the strategy has no use for may be left out.
    """

    strategy: Strategy

    # Column 0 is the last token, 1.. are the drafts; -1, or any id beyond the tokens, ends them.
    step_input_ids: torch.Tensor = tensor("B", "S", dtypes=INT64)

    # 1 + drafts; 0 for an idle request. More than the request's rows of the target are not looked
    # at.
    seq_lens_this_time: torch.Tensor = tensor("B", dtypes=INT32)

    # Request b's row of the target for position i is ``cu_seqlens_q_output[b] + i``.
    cu_seqlens_q_output: torch.Tensor = tensor("B+1", dtypes=INTS)

    # What follows where all drafts stand, if it was drawn before: a request then has rows of the
    # target for its drafts alone.
    bonus_token_ids: torch.Tensor | None = optional("B", dtypes=INT64)

    # Tokens generated before this step: a count, not an index.
    step_idx: torch.Tensor = tensor("B", dtypes=INT64)

    # Tokens that a request may generate; the step stops there.
    max_dec_len: torch.Tensor = tensor("B", dtypes=INT64)

    # The step stops after the first of these, which is emitted.
    end_tokens: torch.Tensor = tensor("E", dtypes=INT64)

    # Not needed for GREEDY.
    seeds: torch.Tensor | None = optional("B", dtypes=INT64)

    # Not needed for TOPP.
    target_logits: torch.Tensor | None = optional("T", "V", dtypes=LOGITS)

    # Before the temperature, as the draft model gave them. W may be smaller than V (the other
    # tokens have no mass) or larger. None: the draft is its own distribution (a lookup).
    # Drawn with ``kernels.sampling.sample(..., stream=DRAFT)`` at the same temperature, cut,
    # seed and position ``step_idx + i``. N is B, unless ``draft_slots`` says whose rows are where.
    draft_logits: torch.Tensor | None = optional("N", "S-1", "W", dtypes=LOGITS)

    # Request b's rows are ``draft_logits[draft_slots[b]]``: an engine's buffer of all its requests,
    # read where it lies. A request with a slot beyond the N there are takes no drafts.
    draft_slots: torch.Tensor | None = optional("B", dtypes=INTS)

    # 0 is greedy; not needed for GREEDY and TOPP.
    temperature: torch.Tensor | None = optional("B", dtypes=FLOAT32)

    # The last kept token of each row and its logit, from ``kernels.sampling.top_k_top_p_cut``.
    target_cut_logit: torch.Tensor | None = optional("T", dtypes=FLOAT32)
    target_cut_id: torch.Tensor | None = optional("T", dtypes=INT64)
    draft_cut_logit: torch.Tensor | None = optional("B", "S-1", dtypes=FLOAT32)
    draft_cut_id: torch.Tensor | None = optional("B", "S-1", dtypes=INT64)

    # For TOPP, from ``kernels.sampling.top_p_candidates``.
    candidate_ids: torch.Tensor | None = optional("T", "C", dtypes=INT64)
    candidate_scores: torch.Tensor | None = optional("T", "C", dtypes=FLOAT32)
    candidate_lens: torch.Tensor | None = optional("T", dtypes=INT32)
    top_p: torch.Tensor | None = optional("B", dtypes=FLOAT32)

    # Above 0 (prefill): no drafts are taken.
    seq_lens_encoder: torch.Tensor | None = optional("B", dtypes=INT32)

    # True: the request takes no part, ``accept_num`` is 0.
    stop_flags: torch.Tensor | None = optional("B", dtypes=BOOL)
    is_block_step: torch.Tensor | None = optional("B", dtypes=BOOL)

    # 1: no drafts are taken.
    reasoning_status: torch.Tensor | None = optional("B", dtypes=INT32)

    # For TOPP. 0: a draft stands if it is a candidate, which is all that FastDeploy asks by now.
    # Above: so does a second best candidate that this many best ones follow, as FastDeploy had it.
    verify_window: int = 0

    # Take no draft, or every draft: for measurements, not lossless.
    reject_all: bool = False
    accept_all: bool = False

    def check(self) -> Args:
        """The sizes and the device; raises TypeError or ValueError, naming shape, dtype and device,
        for what does not fit.
        """
        args = Args("verify")
        strategy = Strategy(self.strategy)
        args.fields(self)
        args.integer("verify_window", self.verify_window, 0, LARGEST_WINDOW)
        for name in ("S", "V", "C"):
            if args.sizes.get(name) == 0:
                raise args.fail(f"{_FIRST_WITH[name]} must have at least one column")
        if self.reject_all and self.accept_all:
            raise args.fail("reject_all and accept_all exclude each other")
        self._check_strategy(args, strategy)
        self._check_cuts(args)
        return args

    def _check_strategy(self, args: Args, strategy: Strategy) -> None:
        """What each strategy needs, and what it has no use for."""
        if strategy == Strategy.TOPP:
            needed = (self.candidate_ids, self.candidate_scores, self.candidate_lens)
            if any(part is None for part in (*needed, self.top_p, self.seeds)):
                raise args.fail("strategy TOPP needs candidates, top_p and seeds")
            if self.bonus_token_ids is not None:
                raise args.fail("strategy TOPP has no use for bonus_token_ids")
        elif self.target_logits is None:
            raise args.fail(f"strategy {strategy.name} needs target_logits")
        elif strategy != Strategy.GREEDY and (self.temperature is None or self.seeds is None):
            raise args.fail(f"strategy {strategy.name} needs temperature and seeds")
        uses_draft = strategy in (Strategy.REJECTION, Strategy.BLOCK)
        if self.draft_logits is not None and not uses_draft:
            # Silently ignoring it is how ascend #6685 lost its draft distribution.
            raise args.fail(f"strategy {strategy.name} has no use for draft_logits")
        if self.draft_slots is not None and self.draft_logits is None:
            raise args.fail("draft_slots needs draft_logits")
        if self.draft_slots is None:
            args.optional("draft_logits", self.draft_logits, ("B", "S-1", "W"), LOGITS)

    def _check_cuts(self, args: Args) -> None:
        """A cut is a token and its logit; the draft's needs the draft's logits."""
        if (self.target_cut_logit is None) != (self.target_cut_id is None):
            raise args.fail("target_cut_logit and target_cut_id go together")
        if (self.draft_cut_logit is None) != (self.draft_cut_id is None):
            raise args.fail("draft_cut_logit and draft_cut_id go together")
        if self.draft_cut_logit is not None and self.draft_logits is None:
            raise args.fail("draft_cut_logit needs draft_logits")


_FIRST_WITH = {"S": "step_input_ids", "V": "target_logits", "C": "candidate_ids"}
