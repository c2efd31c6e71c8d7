"""What a deployment can set."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class SpecMethod(str, Enum):
    MTP = "mtp"
    NGRAM = "ngram"


@dataclass
class SpeculativeConfig:
    method: SpecMethod | None = None
    num_speculative_tokens: int = 5
    max_ngram_size: int = 3
    min_ngram_size: int = 1


@dataclass
class EngineConfig:
    vocab_size: int = 64
    max_num_seqs: int = 8
    max_model_len: int = 256
    enable_logprob: bool = False
    speculative: SpeculativeConfig = field(default_factory=SpeculativeConfig)
