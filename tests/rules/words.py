"""The English sentence of a message as plain text, for expectations about its words."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined
from jinja2.sandbox import SandboxedEnvironment

from checks.finding import Location, Message

RULES = Path(__file__).resolve().parents[2] / "templates" / "rules"


@cache
def _texts(name: str) -> dict[str, Any]:
    path = RULES / f"{name}.toml"
    return tomllib.loads(path.read_text("utf-8")).get("message", {}) if path.exists() else {}


def sentence(rule_id: str, message: Message) -> str:
    """What `message` says in English. Raises KeyError for an unknown key and jinja2's
    UndefinedError for an argument that the sentence needs and the rule did not give."""
    family = rule_id.partition(".")[0]
    entry = _texts(rule_id).get(message.key) or _texts(family).get(message.key)
    if entry is None:
        raise KeyError(f"templates/rules/{rule_id}.toml has no [message.{message.key}]")
    return _environment(rule_id).from_string(entry["en"]).render(**message.args)


@cache
def _environment(rule_id: str) -> SandboxedEnvironment:
    def show(value: object) -> object:
        if isinstance(value, Message):
            return sentence(rule_id, value)
        if isinstance(value, Location):
            return f"{value.path}:{value.start_line}" if value.start_line else value.path
        return value

    def code(value: object) -> str:
        return f"`{show(value)}`"

    def codes(values: Iterable[object]) -> str:
        return ", ".join(code(v) for v in values)

    made = SandboxedEnvironment(undefined=StrictUndefined, finalize=show)
    made.filters |= {
        "code": code,
        "codes": codes,
        "items": lambda values: ", ".join(str(show(v)) for v in values),
        "hex": lambda n: f"0x{n:X}",
        "plural": lambda n, one, many: one if n == 1 else many,
    }
    return made
