"""The pages of the reference, made from the code: commands, configuration, settings, JSON.

The sentences are in `templates/site/reference.toml`, in both languages.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args, get_type_hints
from unittest.mock import patch

from pydantic import AliasChoices
from pydantic.fields import FieldInfo

from bot.cli.main import make_parser
from bot.settings import Settings
from checks.core import config

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "bot/reports/schema"
PROFILES = ROOT / "checks/profiles"
WORDS = ROOT / "templates/site/reference.toml"
_JSON_TABLE = ("field", "type", "meaning")


class Words:
    """The sentences of `reference.toml` in one language; `asked` are those that a page had."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.asked: set[tuple[str, ...]] = set()
        self._sentences = tomllib.loads(WORDS.read_text("utf-8"))

    def __call__(self, *names: str) -> str:
        """The sentence below these names. Raises KeyError where there is none."""
        found: Any = self._sentences
        for name in names:
            found = found[name]
        self.asked.add(names)
        sentence: str = found[self.language]
        return sentence

    def of_field(self, owner: str, field: str) -> str:
        """What a field of the JSON means: of this object, else wherever it stands."""
        if field in self._sentences["json"][owner]:
            return self("json", owner, field)
        return self("json", "any", field.rpartition(".")[2])

    def all(self) -> set[tuple[str, ...]]:
        """The names of every sentence."""
        return set(_names(self._sentences))


def _names(table: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, value in table.items():
        if all(isinstance(part, str) for part in value.values()) and value:
            yield (name,)
        else:
            yield from ((name, *rest) for rest in _names(value))


def pages(words: Words) -> dict[str, str]:
    """The text of each page by its name."""
    return {
        "command-line": command_page(words),
        "configuration": configuration_page(words),
        "service": service_page(words),
        "json": json_page(words),
    }


def command_page(words: Words) -> str:
    """What `--help` says of every command, in 80 columns."""
    parts = [f"# {words('text', 'commands')}", "", words("text", "commands-intro"), ""]
    codes = [(f"`{code}`", words("exit-code", code)) for code in ("0", "1", "2", "3", "130")]
    parts += [f"## {words('text', 'exit-codes')} {{ #exit-codes }}", ""]
    parts += _table(words, ("code", "meaning"), codes)
    variables = ("GITHUB_TOKEN", "GITHUB_API_URL", "GITHUB_SERVER_URL", "XDG_CACHE_HOME")
    meanings = [(f"`{name}`", words("environment", name)) for name in variables]
    parts += [f"## {words('text', 'environment')} {{ #environment }}", ""]
    parts += _table(words, ("variable", "meaning"), meanings)
    with patch.dict(os.environ, {"COLUMNS": "80"}):
        for parser in parsers(make_parser(words.language)):
            parts += [f"## {parser.prog}", "", "```text", parser.format_help().rstrip(), "```", ""]
    return "\n".join(parts)


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parser, and those of its commands and of their actions."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from parsers(below)


def configuration_page(words: Words) -> str:
    """Every table of `.specbot.toml`, with its keys, their defaults and what they mean."""
    parts = [f"# {words('text', 'configuration')}", "", words("text", "configuration-intro"), ""]
    parts += [words("text", "globs"), "", f"## {words('text', 'top-level')}", ""]
    own = [("`profile`", "", words("configuration", "profile"))]
    parts += _table(words, ("key", "default", "meaning"), own)
    for name, hint in get_type_hints(config.Config).items():
        is_repeated = not isinstance(hint, type)
        table = get_args(hint)[0] if is_repeated else hint
        if not dataclasses.is_dataclass(table):
            continue
        title = f"[[{name}]]" if is_repeated else f"[{name}]"
        parts += [f"## `{title}`", "", words("configuration", name), ""]
        keys = []
        for key in dataclasses.fields(table):
            meaning = words("configuration", f"{name}.{key.name}")
            keys.append((f"`{key.name}`", _default_of(words, key), meaning))
        parts += _table(words, ("key", "default", "meaning"), keys)
    parts += [f"## {words('text', 'profiles')}", "", words("text", "profiles-intro"), ""]
    for name in config.PROFILES:
        text = (PROFILES / f"{name}.toml").read_text("utf-8").strip()
        if name != "generic":
            parts += [f"### {name}", "", "```toml", text, "```", ""]
    return "\n".join(parts)


def service_page(words: Words) -> str:
    """Every setting of the service, with its name in the environment."""
    parts = [f"# {words('text', 'service')}", "", words("text", "service-intro"), ""]
    settings = []
    for name, setting in Settings.model_fields.items():
        default = _default_setting(words, setting)
        settings.append(
            (f"`{name}`", f"`{_variable(name, setting)}`", default, words("service", name))
        )
    parts += _table(words, ("key", "variable", "default", "meaning"), settings)
    return "\n".join(parts)


def _variable(name: str, setting: FieldInfo) -> str:
    """A setting's name in the environment."""
    if isinstance(setting.validation_alias, AliasChoices):
        return str(setting.validation_alias.choices[0])
    return f"{Settings.model_config['env_prefix']}{name}".upper()


def _default_of(words: Words, key: dataclasses.Field[Any]) -> str:
    if key.default_factory is not dataclasses.MISSING:
        return _as_value(words, key.default_factory())
    if key.default is dataclasses.MISSING:
        return words("text", "must-be-given")
    return _as_value(words, key.default)


def _default_setting(words: Words, setting: FieldInfo) -> str:
    if setting.is_required():
        return words("text", "must-be-given")
    return _as_value(words, setting.get_default(call_default_factory=True))


def _as_value(words: Words, value: Any) -> str:
    """A default as TOML or JSON would write it."""
    if value is None:
        return words("text", "none")
    return f"`{json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)}`"


def json_page(words: Words) -> str:
    """The JSON Schemas of what `--format json` writes, as tables, with the files themselves."""
    parts = [f"# {words('text', 'json')}", "", words("text", "json-intro"), ""]
    for path in sorted(SCHEMAS.glob("*.json"), reverse=True):
        schema = json.loads(path.read_text("utf-8"))
        parts += [f"## {path.stem}", ""]
        parts += [f"{words('text', 'schema')}: [`{path.name}`](schema/{path.name})", ""]
        parts += _object(words, path.stem, schema)
        for name, definition in schema["$defs"].items():
            parts += [f"### {name}", ""]
            if "oneOf" not in definition:
                parts += _object(words, name, definition)
                continue
            for kind in definition["oneOf"]:
                title = kind["properties"]["type"]["const"]
                parts += [f"#### {title}", "", *_object(words, title, kind)]
    return "\n".join(parts)


def _object(words: Words, name: str, schema: Mapping[str, Any]) -> list[str]:
    rows = []
    for field, node in _fields(schema, ""):
        meaning = words.of_field(name, field.replace("[]", ""))
        rows.append((f"`{field}`", _type(words, node), meaning))
    return _table(words, _JSON_TABLE, rows)


def _fields(schema: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The fields of an object and of those in it that have no name of their own."""
    for name, node in schema.get("properties", {}).items():
        yield prefix + name, node
        yield from _fields(node, f"{prefix}{name}.")
        yield from _fields(node.get("items", {}), f"{prefix}{name}[].")


def _type(words: Words, node: Mapping[str, Any]) -> str:
    """The type in a few signs: a link to an object of this page, values, or JSON's own name."""
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in node:
        return f" {words('text', 'or')} ".join(_type(words, part) for part in node["anyOf"])
    if "enum" in node:
        return ", ".join(f"`{value}`" for value in node["enum"])
    if "const" in node:
        return f"`{json.dumps(node['const'])}`"
    if "items" in node:
        return f"{_type(words, node['items'])} [ ]"
    names = [node["type"]] if isinstance(node["type"], str) else node["type"]
    return f" {words('text', 'or')} ".join(names)


def _table(words: Words, heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    titles = [words("text", head) for head in heads]
    lines = [titles, ["---"] * len(heads), *rows]
    return [*(f"| {' | '.join(line)} |" for line in lines), ""]
