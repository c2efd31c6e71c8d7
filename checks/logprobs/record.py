"""One request's logprobs, as an engine gave them: what a logprob file holds, one `Record` a line.

`checks.logprobs.jsonl` reads and writes them; `FORMAT.md` beside this file documents the fields.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

VERSION = 1
ABSENT = -(2**31)
"""The id in a cell of the top-k table that the engine gave nothing for; its logprob is NaN.

An id of -1 is no absence: some engines fill their rows with -1 and 0.0, and a record keeps what was
sent.
"""
UNKNOWN = "unknown"

Mode = Literal["raw", "processed", "unknown"]
Ids = Literal["token", "text"]
Scalar: TypeAlias = str | int | float | bool | None
Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
MODES: tuple[Mode, ...] = get_args(Mode)
IDS: tuple[Ids, ...] = get_args(Ids)


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """What a baseline is stored under. Numbers of two keys are not expected to be equal."""

    device: str
    engine: str
    engine_version: str
    model: str
    mode: Mode


@dataclass(frozen=True, slots=True)
class RecordOrigin:
    """Where a record comes from; `UNKNOWN` for what nobody said.

    mode: "raw" for the model's own distribution, "processed" for the one drawn from (temperature,
    top-k, top-p). logits_dtype: of the logits that the logprobs were made of, such as "bfloat16";
    its ulp is the unit of noise.
    """

    model: str = UNKNOWN
    mode: Mode = "unknown"
    device: str = UNKNOWN
    engine: str = UNKNOWN
    engine_version: str = UNKNOWN
    logits_dtype: str = UNKNOWN

    @property
    def key(self) -> Key:
        return Key(self.device, self.engine, self.engine_version, self.model, self.mode)


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """One request of n generated tokens and k top-k columns. Nobody writes to its arrays.

    tokens          int64 [n]     the sampled or accepted token ids in order, with the bonus tokens
    logprobs        float64 [n]   natural logarithm; -inf and NaN as the engine gave them
    topk_ids        int64 [n, k]  in the engine's order, `ABSENT` where a row is shorter; k may be 0
    topk_logprobs   float64 [n, k]
    ranks           int64 [n]     1 for the best token; None where the engine gives none
    accept_num      int64 [s]     tokens that each step gave to the request, the prefill's step (1)
                                  first; the sum is n
    logz            float64 [n]   log-sum-exp of the row's logits; None where the engine gives none
    max_logit       float64 [n]   the row's largest logit; None where the engine gives none
    prompt          the text; a chat's messages or a prompt of ids as compact JSON with sorted keys;
                    None if only its hash is known
    prompt_sha256   of the prompt's UTF-8 bytes, hexadecimal; `UNKNOWN` where nobody kept the prompt
    ids             "token" for the model's own ids; "text" where the engine gave texts alone, and
                    an id is made of the text (`text_id`)
    texts           the texts of ids, as far as they are known
    sampling        temperature, top_p, top_k, seed, max_tokens...; under the names of the request
    speculative     proposer, num_speculative_tokens...; empty where nothing is known about it
    finish_reason   "stop", "length"...; "" where it is not known
    """

    id: str
    tokens: Ints
    logprobs: Floats
    topk_ids: Ints
    topk_logprobs: Floats
    prompt_sha256: str
    prompt: str | None = None
    ranks: Ints | None = None
    accept_num: Ints | None = None
    logz: Floats | None = None
    max_logit: Floats | None = None
    origin: RecordOrigin = RecordOrigin()
    sampling: Mapping[str, Scalar] = field(default_factory=dict)
    speculative: Mapping[str, Scalar] = field(default_factory=dict)
    ids: Ids = "token"
    texts: Mapping[int, str] = field(default_factory=dict)
    finish_reason: str = ""

    @property
    def k(self) -> int:
        """Columns of the top-k table."""
        return int(self.topk_ids.shape[1])

    def __len__(self) -> int:
        return len(self.tokens)


def prompt_hash(prompt: str) -> str:
    """SHA-256 of the prompt's UTF-8 bytes, hexadecimal."""
    return hashlib.sha256(prompt.encode("utf-8")).hexdigest()


def text_id(text: bytes) -> int:
    """An id for a token of which only the bytes are known: 62 bits of their SHA-256, never a small
    number's range.
    """
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big") >> 2 | 1 << 62
