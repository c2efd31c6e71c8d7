"""From the tokens that an engine names, by id or by text, to the arrays of a record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from checks.logprobs.record import ABSENT, text_id


class ResponseError(ValueError):
    """An answer of which no record can be made; `key` names a sentence, `errors.response-<key>`."""

    def __init__(self, key: str, /, **args: Any) -> None:
        super().__init__(key, args)
        self.key = key
        self.args_ = args


class Cell(NamedTuple):
    """A token and its logprob. `id` or `text` is None where the engine did not say it."""

    logprob: float
    id: int | None
    text: bytes | None


class TokenCells(NamedTuple):
    """A generated token and the best tokens of its place, in the engine's order."""

    sampled: Cell
    top: tuple[Cell, ...]


def arrays(tokens: Sequence[TokenCells]) -> dict[str, Any]:
    """The fields `ids`, `tokens`, `logprobs`, `topk_ids`, `topk_logprobs` and `texts` of a
    `Record`.

    Ids are the model's where every cell has one; else all are made of the texts, since two kinds of
    ids for one token could not be paired. Raises `ResponseError` where cells have neither.
    """
    every = [cell for token in tokens for cell in (token.sampled, *token.top)]
    by_id = all(cell.id is not None for cell in every)
    if not by_id and not all(cell.text for cell in every):
        raise ResponseError("no-names")
    of_text = {} if by_id else _ids_of_texts(every)

    def id_of(cell: Cell) -> int:
        if by_id:
            return cell.id or 0
        return of_text[cell.text or b""]

    n, k = len(tokens), max((len(token.top) for token in tokens), default=0)
    topk_ids, topk_logprobs = np.full((n, k), ABSENT, np.int64), np.full((n, k), np.nan)
    for row, token in enumerate(tokens):
        topk_ids[row, : len(token.top)] = [id_of(cell) for cell in token.top]
        topk_logprobs[row, : len(token.top)] = [cell.logprob for cell in token.top]
    sampled = [token.sampled for token in tokens]
    # An id that was made of a text says nothing to a reader: then all texts are kept.
    named = sampled if by_id else every
    texts = {}
    for cell in named:
        if cell.text:
            texts[id_of(cell)] = cell.text.decode("utf-8", "replace")
    return {
        "ids": "token" if by_id else "text",
        "tokens": np.array([id_of(cell) for cell in sampled], np.int64),
        "logprobs": np.array([cell.logprob for cell in sampled], np.float64),
        "topk_ids": topk_ids,
        "topk_logprobs": topk_logprobs,
        "texts": texts,
    }


def _ids_of_texts(cells: Sequence[Cell]) -> dict[bytes, int]:
    texts = {cell.text or b"" for cell in cells}
    return {text: text_id(text) for text in texts}
