"""Records out of a file that holds answers of an engine, or a baseline of logprobs as an e2e test
stores it.

Read are: server-sent events as `curl` saves them; JSON lines of answers, of stream chunks, or of a
batch's results (`custom_id` and `response.body`); one JSON document that is an answer, a list of
answers or chunks, or the plain logprobs of one request: a `logprobs` object of either API, a list
of them (one a chunk of the stream, as FastDeploy's e2e tests store it), or the list of one's
`content`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import orjson

from checks.logprobs.cells import ResponseError
from checks.logprobs.openai import KnownRequest, merge_chunks, records
from checks.logprobs.record import Record
from checks.logprobs.sse import events, lines


def convert(data: bytes, asked: KnownRequest) -> Iterator[Record]:
    """The records of a file's bytes, in its order. Raises `ResponseError`.

    A request is called by its `custom_id`, else `asked.id` and its place in the file ("request-0"):
    what servers call an answer is drawn anew each time, and would pair with nothing.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ResponseError("not-utf8") from error
    for number, (name, body) in enumerate(_answers(text)):
        yield from records(body, replace(asked, id=name or f"{asked.id}-{number}"))


def _answers(text: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(custom id or "", answer) of each request."""
    if text.lstrip().startswith(("data:", "event:", "id:", ":")):
        for stream in _streams(lines(text)):
            yield "", merge_chunks(events(stream))
        return
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        value = list(_json_lines(text))
    if _is_answer(value):
        value = [value]
    if _is_full_list(value) and all(_is_answer(item) for item in value):
        yield from _whole(value)
    else:
        yield "", {"choices": [_plain(value)]}


def _streams(text: list[str]) -> Iterator[list[str]]:
    """The lines of each stream, its [DONE] included."""
    stream: list[str] = []
    for line in text:
        stream.append(line)
        if line.replace(" ", "") == "data:[DONE]":
            yield stream
            stream = []
    if any(line.strip() for line in stream):
        yield stream


def _json_lines(text: str) -> Iterator[Any]:
    """The value of each line that is not blank."""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise ResponseError("not-json", line=number) from error


def _is_answer(value: Any) -> bool:
    """Whether a JSON value is an object with one of the fields that an answer has."""
    if not isinstance(value, dict):
        return False
    return any(name in value for name in ("choices", "meta_info", "response", "error"))


def _is_full_list(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0


def _whole(answers: list[dict[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Answers as they are, chunks put together with the others of their id, batch results
    unwrapped.
    """
    streams: dict[str, list[dict[str, Any]]] = {}
    for number, answer in enumerate(answers):
        streams.setdefault(str(answer.get("id") or f"#{number}"), []).append(answer)
    for parts in streams.values():
        are_chunks = len(parts) > 1 or str(parts[0].get("object")).endswith(".chunk")
        answer = merge_chunks(parts) if are_chunks else parts[0]
        body: Any = answer
        response = answer.get("response")
        if isinstance(response, dict):
            body = response.get("body")
        if not isinstance(body, dict):
            body = {}
        yield str(answer.get("custom_id", "")), body


def _plain(value: Any) -> dict[str, Any]:
    """One choice of a plain JSON of logprobs, with its `steps` where it holds several `logprobs`
    objects.
    """
    if isinstance(value, dict):
        return {"logprobs": value}
    if not _is_full_list(value) or not all(isinstance(item, dict) for item in value):
        raise ResponseError("not-a-response", said="")
    if "token" in value[0]:
        return {"logprobs": {"content": value}}
    (choice,) = merge_chunks({"choices": [{"logprobs": item}]} for item in value)["choices"]
    return dict(choice)
