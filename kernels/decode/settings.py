"""What is asked of the loop, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from kernels.verify import Strategy

Proposer = Literal["none", "ngram", "suffix", "mtp", "hybrid"]
PROPOSERS: tuple[Proposer, ...] = ("none", "ngram", "suffix", "mtp", "hybrid")


@dataclass(frozen=True)
class Request:
    """One prompt.

    A draw depends on `seed` and its place in the text only, never on what else is in the batch.
    """

    prompt: tuple[int, ...]
    max_tokens: int
    temperature: float = 0.0  # 0 is greedy
    top_k: int = 0  # 0 keeps all
    top_p: float = 1.0
    seed: int = 0


@dataclass
class Output:
    """What came of a request; entry i of each list belongs to token i."""

    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)
    topk_ids: list[list[int]] = field(default_factory=list)
    topk_logprobs: list[list[float]] = field(default_factory=list)
    logz: list[float] = field(
        default_factory=list
    )  # log-sum-exp of the logits that the logprob is of
    accept_num: list[int] = field(
        default_factory=list
    )  # tokens of each step, the bonus token included
    finish_reason: Literal["stop", "length"] | None = None


@dataclass(frozen=True)
class Settings:
    """How to decode.

    None of these may change a token of greedy text; `tests/kernels/test_decode.py` holds them to
    it.

    strategy: of `kernels.verify`. REJECTION (or BLOCK) serves greedy requests too; TARGET_MATCH
        draws the very tokens that plain decoding with the same seeds draws.
    logprobs: k of the top-k logprobs of each token. mode: of the model's own distribution ("raw"),
        or of the one that was drawn from, after temperature, top-k and top-p ("processed").
    overlap: launch a step before the answer to the last one has been read.
    tp_size: ranks that all compute the same; only rank 0 speaks.
    prefill_chunk: the most prompt tokens of one request in a step, None for whole prompts.
    draft_budget: the most tokens of a step, for the ngram proposers.
    """

    proposer: Proposer = "none"
    num_speculative_tokens: int = 0
    strategy: Strategy = Strategy.REJECTION
    logprobs: int = 0
    mode: Literal["raw", "processed"] = "raw"
    overlap: bool = False
    tp_size: int = 1
    max_bsz: int = 4
    max_model_len: int = 128
    prefill_chunk: int | None = None
    max_ngram: int = 3
    draft_budget: int | None = None
    end_tokens: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.proposer not in PROPOSERS:
            raise ValueError(
                f"proposer must be one of {', '.join(PROPOSERS)}, got {self.proposer!r}"
            )
        if (self.proposer == "none") != (
            self.num_speculative_tokens == 0
        ) or self.num_speculative_tokens < 0:
            raise ValueError(
                f"proposer {self.proposer!r} does not go with "
                f"num_speculative_tokens={self.num_speculative_tokens}"
            )
        if self.strategy == Strategy.TOPP:
            raise ValueError("strategy TOPP is not lossless; the loop does not offer it")
        if self.mode not in ("raw", "processed"):
            raise ValueError(f"mode must be raw or processed, got {self.mode!r}")
        if min(self.tp_size, self.max_bsz, self.max_model_len, self.prefill_chunk or 1) < 1:
            raise ValueError("tp_size, max_bsz, max_model_len and prefill_chunk must be at least 1")

    @property
    def width(self) -> int:
        """Columns of a decoding request: its last token and its drafts."""
        return self.num_speculative_tokens + 1
