"""From the tokens that an engine names, by id or by text, to the arrays of a record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from checks.logprobs.record import ABSENT, text_id


class ResponseError(ValueError):
    """An answer of which no record can be made. `key` names a sentence (`errors.response-<key>`)."""

    def __init__(self, key: str, /, **args: Any) -> None:
        super().__init__(key, args)
        self.key = key
        self.args_ = args


@dataclass(frozen=True, slots=True)
class Cell:
    """A token and its logprob. `id` or `text` is None where the engine did not say it."""

    logprob: float
    id: int | None
    text: bytes | None


@dataclass(frozen=True, slots=True)
class Token:
    """A generated token and the best tokens of its place, in the engine's order."""

    sampled: Cell
    top: tuple[Cell, ...]


def arrays(tokens: Sequence[Token]) -> dict[str, Any]:
    """The fields `ids`, `tokens`, `logprobs`, `topk_ids`, `topk_logprobs` and `texts` of a `Record`.

    Ids are the model's where every cell has one; else all are made of the texts, since two kinds of ids for one token
    could not be paired. Raises `ResponseError` where cells have neither.
    """
    every = [cell for token in tokens for cell in (token.sampled, *token.top)]
    by_id = all(cell.id is not None for cell in every)
    if not by_id and not all(cell.text for cell in every):
        raise ResponseError("no-names")
    n, k = len(tokens), max((len(token.top) for token in tokens), default=0)
    topk_ids, topk_logprobs = np.full((n, k), ABSENT, np.int64), np.full((n, k), np.nan)
    for row, token in enumerate(tokens):
        for column, cell in enumerate(token.top):
            topk_ids[row, column] = _id(cell, by_id)
            topk_logprobs[row, column] = cell.logprob
    sampled = [token.sampled for token in tokens]
    return {
        "ids": "token" if by_id else "text",
        "tokens": np.array([_id(cell, by_id) for cell in sampled], np.int64),
        "logprobs": np.array([cell.logprob for cell in sampled], np.float64),
        "topk_ids": topk_ids,
        "topk_logprobs": topk_logprobs,
        "texts": _texts(sampled if by_id else every, by_id),
    }


def _id(cell: Cell, by_id: bool) -> int:
    return (cell.id or 0) if by_id else text_id(cell.text or b"")


def _texts(cells: Iterable[Cell], by_id: bool) -> dict[int, str]:
    """Of the generated tokens, and of all of them where an id alone would say nothing."""
    return {_id(cell, by_id): cell.text.decode("utf-8", "replace") for cell in cells if cell.text}
