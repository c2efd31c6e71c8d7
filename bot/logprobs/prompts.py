"""The prompts of a recording: lines of text, or JSON lines with `prompt` or `messages` and perhaps
an `id`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from bot.errors import UserError
from bot.files import read_text


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request's.

    `field` is `prompt` or `messages`, as the API calls it; `value` its JSON value.
    """

    id: str
    field: str
    value: Any

    @property
    def text(self) -> str:
        """What a record calls the prompt: a text itself, anything else as compact JSON with sorted
        keys.
        """
        if isinstance(self.value, str):
            return self.value
        return orjson.dumps(self.value, option=orjson.OPT_SORT_KEYS).decode("utf-8")


def read_prompts(name: str, api: str) -> list[Prompt]:
    """The prompts of a file, for the `chat` or the `completions` API. Raises `UserError`.

    One without an id is called by its line ("line-1"). For chat a text is the message of a user.
    """
    text = read_text(name)
    if not text.strip():
        raise UserError("prompts-none", path=name)
    is_json = text.lstrip().startswith("{")
    prompts: dict[str, Prompt] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        if is_json:
            prompt = _parse_line(name, number, line, api)
        else:
            prompt = _prompt(f"line-{number}", line, api)
        if prompt.id in prompts:
            raise UserError("prompts-twice", path=name, id=prompt.id)
        prompts[prompt.id] = prompt
    return list(prompts.values())


def _prompt(id: str, value: Any, api: str) -> Prompt:
    if api == "chat":
        return Prompt(id, "messages", [{"role": "user", "content": value}])
    return Prompt(id, "prompt", value)


def _parse_line(name: str, number: int, line: str, api: str) -> Prompt:
    try:
        data = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise UserError("prompts-line", path=name, line=number) from error
    match data:
        case {"messages": [*messages]} if api == "chat" and "prompt" not in data:
            return Prompt(_id(data, number), "messages", messages)
        case {"prompt": str(value)} if "messages" not in data:
            return _prompt(_id(data, number), value, api)
        case {"prompt": [*values]} if api == "completions" and _are_token_ids(values):
            return Prompt(_id(data, number), "prompt", values)
        case {"messages": _} if api != "chat":
            raise UserError("prompts-messages", path=name, line=number)
    raise UserError("prompts-line", path=name, line=number)


def _id(data: dict[str, Any], number: int) -> str:
    id = data.get("id")
    return str(id) if isinstance(id, str | int) else f"line-{number}"


def _are_token_ids(values: list[Any]) -> bool:
    # `isinstance` would let `true` pass.
    return all(type(value) is int for value in values)
