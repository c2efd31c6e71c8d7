"""Records out of what an OpenAI-compatible server answered: chat or completions, streamed or not.

Tokens have no ids in that API. Where they come from, by engine:

- vLLM: `return_token_ids` puts `token_ids` into each choice, `return_tokens_as_token_ids` names
  every token "token_id:123"; a logprob below -9999 is sent as -9999.
- SGLang: `return_token_ids` likewise; `return_meta_info` puts `meta_info.output_token_logprobs` and
  `output_top_logprobs` into each choice, as [logprob, id, text]. Its own /generate answers have the
  same.
- FastDeploy: `return_token_ids` puts `completion_token_ids` into the message, the delta or the
  choice; the top tokens have texts alone.

Without any, ids are made of the texts (`checks.logprobs.cells`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from checks.logprobs.cells import Cell, ResponseError, TokenCells, arrays
from checks.logprobs.record import UNKNOWN, Record, RecordOrigin, Scalar, prompt_hash

_NAMED = "token_id:"
_FLOOR = -9999.0
_IDS = ("token_ids", "completion_token_ids")
_COLUMNS = ("tokens", "token_logprobs", "top_logprobs")


@dataclass(frozen=True, slots=True)
class KnownRequest:
    """What is known about a request beside its answer. `steps`: each chunk of a stream is one step
    of the engine.
    """

    id: str = ""
    prompt: str | None = None
    origin: RecordOrigin = field(default_factory=RecordOrigin)
    sampling: Mapping[str, Scalar] = field(default_factory=dict)
    speculative: Mapping[str, Scalar] = field(default_factory=dict)
    steps: bool = False


def records(body: Mapping[str, Any], asked: KnownRequest) -> list[Record]:
    """One record a choice; of several, those after the first get "#1", "#2"... after their id.

    body: an answer as its JSON says it, or merged chunks (`merged`). Raises `ResponseError`.
    """
    # SGLang's own /generate answers are one choice without a list around it.
    choices: list[Mapping[str, Any]] = [body] if "meta_info" in body else [*_choices(body)]
    if not choices:
        raise ResponseError("not-a-response", said="")
    return [_record(body, choice, number, asked) for number, choice in enumerate(choices)]


def merge_chunks(chunks: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The answer that the chunks of one stream make up, as it would have come unstreamed, with
    `steps` in each choice: the number of tokens of each chunk that brought any.
    """
    body: dict[str, Any] = {}
    choices: dict[int, dict[str, Any]] = {}
    for chunk in chunks:
        parts = _choices(chunk)
        body = {**chunk, **body}
        for part in parts:
            index = part.get("index", 0)
            if not isinstance(index, int):
                index = 0
            choice = choices.setdefault(index, {"steps": []})
            _add(choice, part)
    return {**body, "choices": [choices[index] for index in sorted(choices)]}


def _choices(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    choices = body.get("choices")
    if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
        raise ResponseError("error" if "error" in body else "not-a-response", said=_error(body))
    return choices


def _record(
    body: Mapping[str, Any], choice: Mapping[str, Any], number: int, asked: KnownRequest
) -> Record:
    meta = _object(choice.get("meta_info"))
    if isinstance(meta.get("output_token_logprobs"), list):
        tokens = _sglang(meta)
    else:
        tokens = _tokens(choice.get("logprobs"), _ids(choice))
    name = asked.id or str(body.get("id") or meta.get("id") or "response")
    model = asked.origin.model
    if model == UNKNOWN:
        model = str(body.get("model") or UNKNOWN)
    steps = choice.get("steps") if asked.steps else None
    if steps is not None and sum(steps) != len(tokens):
        raise ResponseError("unequal")
    return Record(
        id=f"{name}#{number}" if number else name,
        prompt=asked.prompt,
        prompt_sha256=UNKNOWN if asked.prompt is None else prompt_hash(asked.prompt),
        origin=replace(asked.origin, model=model),
        sampling=asked.sampling,
        speculative={**asked.speculative, **_metrics(choice)},
        accept_num=None if steps is None else np.array(steps, np.int64),
        finish_reason=_finish_reason(choice, meta),
        **arrays(tokens),
    )


def _finish_reason(choice: Mapping[str, Any], meta: Mapping[str, Any]) -> str:
    """Why the answer ended; SGLang gives an object with the `type` of the reason."""
    reason = choice.get("finish_reason") or meta.get("finish_reason") or ""
    if isinstance(reason, dict):
        reason = reason.get("type", "")
    return str(reason)


def _object(value: Any) -> dict[str, Any]:
    """`value` where it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def _tokens(logprobs: Any, ids: Sequence[int] | None) -> list[TokenCells]:
    """The tokens of an answer's `logprobs`, of chat's form or of completions'. `ids` of the
    generated ones, if known.

    Raises `ResponseError` for what has neither form.
    """
    logprobs = _object(logprobs)
    content = logprobs.get("content")
    if isinstance(content, list):
        return [_chat(entry, _at(ids, i, len(content))) for i, entry in enumerate(content)]
    if isinstance(logprobs.get("tokens"), list):
        return _completion(logprobs, ids)
    raise ResponseError("no-logprobs")


def _chat(entry: Any, known: int | None) -> TokenCells:
    if not isinstance(entry, dict):
        raise ResponseError("no-logprobs")
    top = entry.get("top_logprobs") or []
    if not isinstance(top, list) or not all(isinstance(cell, dict) for cell in top):
        raise ResponseError("no-logprobs")
    return TokenCells(_cell(entry, known), tuple(_cell(cell, None) for cell in top))


def _cell(entry: Mapping[str, Any], known: int | None) -> Cell:
    token, data = entry.get("token"), entry.get("bytes")
    if not isinstance(token, str):
        raise ResponseError("no-logprobs")
    if known is None and _is_id(entry.get("token_id")):
        known = entry["token_id"]
    if token.startswith(_NAMED):
        return Cell(_number(entry.get("logprob")), _id(token), None)
    text = _bytes(data) if isinstance(data, list) and data else token.encode("utf-8", "replace")
    return Cell(_number(entry.get("logprob")), known, text or None)


def _completion(logprobs: Mapping[str, Any], ids: Sequence[int] | None) -> list[TokenCells]:
    texts, scores = logprobs["tokens"], logprobs.get("token_logprobs")
    tops = logprobs.get("top_logprobs") or [None] * len(texts)
    if not isinstance(scores, list) or not isinstance(tops, list):
        raise ResponseError("unequal")
    if not len(texts) == len(scores) == len(tops):
        raise ResponseError("unequal")
    tokens = []
    for i, (text, score, top) in enumerate(zip(texts, scores, tops, strict=True)):
        if not isinstance(text, str) or not isinstance(top, dict | None):
            raise ResponseError("no-logprobs")
        best = tuple(_named(name, value, None) for name, value in (top or {}).items())
        sampled = _named(text, score, _at(ids, i, len(texts)))
        tokens.append(TokenCells(sampled, best))
    return tokens


def _named(token: str, logprob: Any, known: int | None) -> Cell:
    return _cell({"token": token, "logprob": logprob}, known)


def _sglang(meta: Mapping[str, Any]) -> list[TokenCells]:
    sampled = meta["output_token_logprobs"]
    tops = meta.get("output_top_logprobs") or [None] * len(sampled)
    if not isinstance(tops, list) or len(tops) != len(sampled):
        raise ResponseError("unequal")
    if not all(isinstance(top, list | None) for top in tops):
        raise ResponseError("no-logprobs")
    tokens = []
    for own, top in zip(sampled, tops, strict=True):
        best = tuple(_triple(value) for value in top or ())
        tokens.append(TokenCells(_triple(own), best))
    return tokens


def _triple(value: Any) -> Cell:
    """A cell of SGLang: [logprob, id, text], where the text may be missing or null."""
    match value:
        case [logprob, token, str() as text, *_] if _is_id(token):
            return Cell(_number(logprob), token, text.encode("utf-8", "replace"))
        case [logprob, token, *_] if _is_id(token):
            return Cell(_number(logprob), token, None)
    raise ResponseError("no-logprobs")


def _number(value: Any) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ResponseError("no-logprobs")
    return -math.inf if value == _FLOOR else float(value)


def _bytes(values: list[Any]) -> bytes:
    try:
        return bytes(values)
    except (TypeError, ValueError) as error:
        raise ResponseError("no-logprobs") from error


def _id(token: str) -> int:
    number = token.removeprefix(_NAMED)
    if not number.isdecimal() or not _is_id(int(number)):
        raise ResponseError("no-logprobs")
    return int(number)


def _is_id(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 62


def _at(ids: Sequence[int] | None, i: int, n: int) -> int | None:
    """Id number `i`, None where it is not certain which of the `n` tokens the ids belong to."""
    if ids is None or len(ids) != n:
        return None
    return ids[i]


def _ids(choice: Mapping[str, Any]) -> list[int] | None:
    """The ids of the generated tokens, from wherever the engine puts them."""
    for place in (choice, _object(choice.get("message"))):
        for name in _IDS:
            ids = place.get(name)
            if isinstance(ids, list) and all(_is_id(value) for value in ids):
                return ids
    return None


def _metrics(choice: Mapping[str, Any]) -> dict[str, Scalar]:
    """FastDeploy's counts of accepted and rejected tokens, and the like."""
    metrics: dict[str, Scalar] = {}
    for name, value in _object(choice.get("speculate_metrics")).items():
        if isinstance(value, str | int | float | bool):
            metrics[name] = value
    return metrics


def _error(body: Mapping[str, Any]) -> str:
    """What the server says where it gives no answer."""
    error = body.get("error")
    if isinstance(error, dict):
        return str(error.get("message", error))
    return str(error or body.get("object", ""))


def _add(choice: dict[str, Any], part: Mapping[str, Any]) -> None:
    """Put a chunk's part of a choice behind what is there already."""
    given = _object(part.get("logprobs"))
    if given:
        logprobs = choice.setdefault("logprobs", {})
        for name in ("content", *_COLUMNS):
            if isinstance(given.get(name), list):
                logprobs[name] = logprobs.get(name, []) + given[name]
    for source in (part, _object(part.get("delta"))):
        for name in _IDS:
            if isinstance(source.get(name), list):
                choice[name] = choice.get(name, []) + source[name]
    count = _count_tokens(given)
    if count:
        choice["steps"].append(count)
    for name in ("finish_reason", "speculate_metrics", "index", "meta_info"):
        if part.get(name) is not None:
            choice[name] = part[name]


def _count_tokens(logprobs: Mapping[str, Any]) -> int:
    """How many tokens the logprobs of a chunk are of, in chat's form or in completions'."""
    for name in ("content", "tokens"):
        if isinstance(logprobs.get(name), list):
            return len(logprobs[name])
    return 0
