"""Requests and what they give back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class LogprobsLists(NamedTuple):
    logprob_token_ids: list
    logprobs: list
    sampled_token_ranks: list


@dataclass
class SamplingParams:
    temperature: float = 1.0
    top_p: float = 1.0
    logprobs: int | None = None
    seed: int = 0


@dataclass
class Request:
    request_id: str
    prompt_token_ids: list = field(default_factory=list)
    sampling_params: SamplingParams = field(default_factory=SamplingParams)
    eos_token_ids: list = field(default_factory=lambda: [2])
    output_token_ids: list = field(default_factory=list)


@dataclass
class RequestOutput:
    request_id: str
    token_ids: list = field(default_factory=list)
    logprob: float | None = None
    top_logprobs: LogprobsLists | None = None
    draft_top_logprobs: LogprobsLists | None = None
    finished: bool = False
