"""The pages of the reference, made from the code: rules, commands, configuration, JSON."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bot.cli.main import make_parser
from bot.i18n.catalog import Catalog
from bot.i18n.rule_pages import page_with_note
from checks.core import config
from checks.core.check import Check
from checks.registry import RULES

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "templates/site"
SCHEMAS = ROOT / "bot/reports/schema"


def write_site(folder: Path) -> None:
    """The site's sources in `folder`, as MkDocs takes them."""
    shutil.copytree(SOURCES, folder, dirs_exist_ok=True)
    reference = folder / "pages/reference"
    (reference / "rules").mkdir(parents=True, exist_ok=True)
    for language, ending in (("en", "md"), ("zh", "zh.md")):
        words = Catalog(language)
        (reference / f"rules.{ending}").write_text(rules_page(words), "utf-8")
        for rule in RULES:
            page = documented_rule(rule, words)
            (reference / "rules" / f"{rule.ID}.{ending}").write_text(page, "utf-8")
    (reference / "command-line.md").write_text(command_page(), "utf-8")
    (reference / "configuration.md").write_text(configuration_page(), "utf-8")
    (reference / "json.md").write_text(json_page(), "utf-8")


def rules_page(words: Catalog) -> str:
    """The list of rules."""
    title, rule, finds = words("pages.rules"), words("pages.rule"), words("pages.finds")
    rows = [f"| [`{rule.ID}`](rules/{rule.ID}.md) | {words.summary(rule.ID)} |" for rule in RULES]
    return "\n".join([f"# {title}", "", f"| {rule} | {finds} |", "|---|---|", *rows]) + "\n"


def documented_rule(rule: Check, words: Catalog) -> str:
    """A rule's page; its first sentence stands under the title already."""
    return f"# {rule.ID}\n\n{page_with_note(rule, words)}\n"


def command_page() -> str:
    """What `--help` says of every command, in English and 80 columns."""
    parts = ["# Commands", ""]
    with patch.dict(os.environ, {"COLUMNS": "80"}):
        for parser in parsers(make_parser("en")):
            parts += [f"## {parser.prog}", "", "```text", parser.format_help().rstrip(), "```", ""]
    return "\n".join(parts)


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """The parser, and those of its commands and of their actions."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from parsers(below)


def configuration_page() -> str:
    """Every table of `.specbot.toml`, with its keys and their defaults."""
    parts = [
        "# Configuration",
        "",
        "`.specbot.toml`, in the root of the repository, read from the base of a pull request. "
        "A key that is not known is an error.",
        "Profiles: `fastdeploy`, `vllm`, `sglang`, `generic`; without `profile` it is found by the tree.",
        "",
    ]
    for field in dataclasses.fields(config.Config):
        table = _table_of(field)
        if table is None:
            continue
        double = field.name in ("family", "hardware", "gpu_job")
        title = f"[[{field.name}]]" if double else f"[{field.name}]"
        parts += [f"## `{title}`", "", inspect.cleandoc(table.__doc__ or ""), ""]
        parts += ["| key | default |", "|---|---|"]
        parts += [f"| `{key.name}` | {_default(key)} |" for key in dataclasses.fields(table)]
        parts.append("")
    return "\n".join(parts)


def _table_of(field: dataclasses.Field[Any]) -> Any:
    """The dataclass that a field of `Config` holds, one or many of it."""
    for value in vars(config).values():
        if dataclasses.is_dataclass(value) and isinstance(value, type):
            if value.__name__ in str(field.type).replace("[", " ").replace(",", " ").split():
                return value
            if str(field.type).startswith(f"tuple[{value.__name__},"):
                return value
    return None


def _default(key: dataclasses.Field[Any]) -> str:
    if key.default is not dataclasses.MISSING:
        value: Any = key.default
    elif key.default_factory is not dataclasses.MISSING:
        value = key.default_factory()
    else:
        return "must be given"
    if isinstance(value, tuple):
        value = list(value)
    return f"`{json.dumps(value, ensure_ascii=False)}`"


def json_page() -> str:
    """The JSON Schemas of what `--format json` writes."""
    promise = "`--format json` keeps to these schemas; what breaks a reader gets a new number."
    parts = ["# JSON", "", promise, ""]
    for path in sorted(SCHEMAS.glob("*.json")):
        parts += [f"## {path.stem}", "", "```json", path.read_text("utf-8").rstrip(), "```", ""]
    return "\n".join(parts)
