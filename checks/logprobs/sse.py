"""Server-sent events of a streamed answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from checks.logprobs.cells import ResponseError

_END = re.compile(r"\r\n|\r|\n")


def lines(text: str) -> list[str]:
    """The lines of a stream, without their ends. Not `splitlines`, which also parts at U+2028 and
    U+0085: a token's text may be one of these.
    """
    return _END.split(text)


def events(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The JSON objects of a stream's events, `lines` without their ends, up to its [DONE].

    Raises `ResponseError` for an event that is no JSON object and for a stream without [DONE]: it
    was cut off.
    """
    for data in _data(lines):
        if data == "[DONE]":
            return
        try:
            value = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise ResponseError("bad-event") from error
        if not isinstance(value, dict):
            raise ResponseError("bad-event")
        yield value
    raise ResponseError("cut-off")


def _data(lines: Iterable[str]) -> Iterator[str]:
    """The data of each event: its `data:` lines joined, without comments and other fields."""
    parts: list[str] = []
    for line in lines:
        if line.startswith("data:"):
            parts.append(line[5:].removeprefix(" "))
        elif not line and parts:
            yield "\n".join(parts)
            parts = []
    if parts:
        yield "\n".join(parts)
