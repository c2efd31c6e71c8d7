"""Records out of what an OpenAI-compatible server answered: chat or completions, streamed or not.

Tokens have no ids in that API. Where they come from, by engine:
vLLM        `return_token_ids` puts `token_ids` into each choice, `return_tokens_as_token_ids` names every token
            "token_id:123"; a logprob below -9999 is sent as -9999.
SGLang      `return_token_ids` likewise; `return_meta_info` puts `meta_info.output_token_logprobs` and
            `output_top_logprobs` into each choice, as [logprob, id, text]. Its own /generate answers have the same.
FastDeploy  `return_token_ids` puts `completion_token_ids` into the message, the delta or the choice; the top tokens
            have texts alone.
Without any, ids are made of the texts (`checks.logprobs.cells`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from checks.logprobs.cells import Cell, ResponseError, Token, arrays
from checks.logprobs.record import UNKNOWN, Origin, Record, Scalar, prompt_hash

_NAMED = "token_id:"
_FLOOR = -9999.0
_IDS = ("token_ids", "completion_token_ids")
_COLUMNS = ("tokens", "token_logprobs", "top_logprobs")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is known about a request beside its answer. `steps`: each chunk of a stream is one step of the engine."""

    id: str = ""
    prompt: str | None = None
    origin: Origin = field(default_factory=Origin)
    sampling: Mapping[str, Scalar] = field(default_factory=dict)
    speculative: Mapping[str, Scalar] = field(default_factory=dict)
    steps: bool = False


def records(body: Mapping[str, Any], asked: Asked) -> list[Record]:
    """One record a choice; of several, those after the first get "#1", "#2"... after their id.

    body: an answer as its JSON says it, or merged chunks (`merged`). Raises `ResponseError`.
    """
    choices = [body] if "meta_info" in body else _choices(body)
    if not choices:
        raise ResponseError("not-a-response", said="")
    return [_record(body, choice, number, asked) for number, choice in enumerate(choices)]


def merged(chunks: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The answer that the chunks of one stream make up, as it would have come unstreamed, with `steps` in each choice:
    the number of tokens of each chunk that brought any."""
    body: dict[str, Any] = {}
    choices: dict[int, dict[str, Any]] = {}
    for chunk in chunks:
        parts = _choices(chunk)
        body = {**chunk, **body}
        for part in parts:
            index = part.get("index", 0)
            _add(choices.setdefault(index if isinstance(index, int) else 0, {"steps": []}), part)
    return {**body, "choices": [choices[index] for index in sorted(choices)]}


def _choices(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    choices = body.get("choices")
    if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
        raise ResponseError("error" if "error" in body else "not-a-response", said=_error(body))
    return choices


def _record(
    body: Mapping[str, Any], choice: Mapping[str, Any], number: int, asked: Asked
) -> Record:
    given = choice.get("meta_info")
    meta = given if isinstance(given, dict) else {}
    if isinstance(meta.get("output_token_logprobs"), list):
        tokens = _sglang(meta)
    else:
        tokens = _tokens(choice.get("logprobs"), _ids(choice))
    name = asked.id or str(body.get("id") or meta.get("id") or "response")
    model = (
        asked.origin.model if asked.origin.model != UNKNOWN else str(body.get("model") or UNKNOWN)
    )
    steps = choice.get("steps") if asked.steps else None
    if steps is not None and sum(steps) != len(tokens):
        raise ResponseError("unequal")
    reason = choice.get("finish_reason") or meta.get("finish_reason") or ""
    return Record(
        id=f"{name}#{number}" if number else name,
        prompt=asked.prompt,
        prompt_sha256=UNKNOWN if asked.prompt is None else prompt_hash(asked.prompt),
        origin=replace(asked.origin, model=model),
        sampling=asked.sampling,
        speculative={**asked.speculative, **_metrics(choice)},
        accept_num=None if steps is None else np.array(steps, np.int64),
        finish_reason=str(reason.get("type", "") if isinstance(reason, dict) else reason),
        **arrays(tokens),
    )


def _tokens(logprobs: Any, ids: Sequence[int] | None) -> list[Token]:
    """The tokens of an answer's `logprobs`, of chat's form or of completions'. `ids` of the generated ones, if known.

    Raises `ResponseError` for what has neither form.
    """
    if isinstance(logprobs, dict) and isinstance(logprobs.get("content"), list):
        return [
            _chat(entry, _at(ids, i, len(logprobs["content"])))
            for i, entry in enumerate(logprobs["content"])
        ]
    if isinstance(logprobs, dict) and isinstance(logprobs.get("tokens"), list):
        return _completion(logprobs, ids)
    raise ResponseError("no-logprobs")


def _chat(entry: Any, known: int | None) -> Token:
    if not isinstance(entry, dict):
        raise ResponseError("no-logprobs")
    top = entry.get("top_logprobs") or []
    if not isinstance(top, list) or not all(isinstance(cell, dict) for cell in top):
        raise ResponseError("no-logprobs")
    return Token(_cell(entry, known), tuple(_cell(cell, None) for cell in top))


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


def _completion(logprobs: Mapping[str, Any], ids: Sequence[int] | None) -> list[Token]:
    texts, scores = logprobs["tokens"], logprobs.get("token_logprobs")
    tops = logprobs.get("top_logprobs") or [None] * len(texts)
    if (
        not isinstance(scores, list)
        or not isinstance(tops, list)
        or not len(texts) == len(scores) == len(tops)
    ):
        raise ResponseError("unequal")
    made = []
    for i, (text, score, top) in enumerate(zip(texts, scores, tops, strict=True)):
        if not isinstance(text, str) or not isinstance(top, dict | None):
            raise ResponseError("no-logprobs")
        best = tuple(_named(name, value, None) for name, value in (top or {}).items())
        made.append(Token(_named(text, score, _at(ids, i, len(texts))), best))
    return made


def _named(token: str, logprob: Any, known: int | None) -> Cell:
    return _cell({"token": token, "logprob": logprob}, known)


def _sglang(meta: Mapping[str, Any]) -> list[Token]:
    sampled = meta["output_token_logprobs"]
    tops = meta.get("output_top_logprobs") or [None] * len(sampled)
    if not isinstance(tops, list) or len(tops) != len(sampled):
        raise ResponseError("unequal")
    if not all(isinstance(top, list | None) for top in tops):
        raise ResponseError("no-logprobs")
    return [
        Token(_triple(own), tuple(map(_triple, top or ())))
        for own, top in zip(sampled, tops, strict=True)
    ]


def _triple(value: Any) -> Cell:
    match value:
        case [logprob, token, *rest] if _is_id(token):
            text = rest[0] if rest else None
            return Cell(
                _number(logprob),
                token,
                text.encode("utf-8", "replace") if isinstance(text, str) else None,
            )
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
    """Ids of another number of tokens (without the last one, say) belong to no place for certain."""
    return ids[i] if ids is not None and len(ids) == n else None


def _ids(choice: Mapping[str, Any]) -> list[int] | None:
    for place in (choice, choice.get("message")):
        for name in _IDS:
            found = place.get(name) if isinstance(place, dict) else None
            if isinstance(found, list) and all(map(_is_id, found)):
                return found
    return None


def _metrics(choice: Mapping[str, Any]) -> dict[str, Scalar]:
    """FastDeploy's counts of accepted and rejected tokens, and the like."""
    given = choice.get("speculate_metrics")
    given = given if isinstance(given, dict) else {}
    return {
        name: value for name, value in given.items() if isinstance(value, str | int | float | bool)
    }


def _error(body: Mapping[str, Any]) -> str:
    error = body.get("error")
    return str(
        error.get("message", error) if isinstance(error, dict) else error or body.get("object", "")
    )


def _add(choice: dict[str, Any], part: Mapping[str, Any]) -> None:
    """Put a chunk's part of a choice behind what is there already."""
    delta = part["delta"] if isinstance(part.get("delta"), dict) else {}
    given = part["logprobs"] if isinstance(part.get("logprobs"), dict) else {}
    logprobs = choice.setdefault("logprobs", {}) if given else {}
    for name in ("content", *_COLUMNS):
        if isinstance(given.get(name), list):
            logprobs[name] = logprobs.get(name, []) + given[name]
    for source in (part, delta):
        for name in _IDS:
            if isinstance(source.get(name), list):
                choice[name] = choice.get(name, []) + source[name]
    count = next(
        (len(given[name]) for name in ("content", "tokens") if isinstance(given.get(name), list)), 0
    )
    choice["steps"] += [count] if count else []
    for name in ("finish_reason", "speculate_metrics", "index", "meta_info"):
        if part.get(name) is not None:
            choice[name] = part[name]
