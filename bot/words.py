"""Sentences for people, from `templates/`, in one language and for one kind of output."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, Template, UndefinedError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from bot.style import Plain, Style
from checks.finding import Location, Message

LANGUAGES = ("zh", "en")
TEMPLATES = Path(__file__).resolve().parent.parent / "templates"
_COMMA = {"zh": "、", "en": ", "}


class _Ready(str):
    """Text that is already written for the output at hand."""

    __slots__ = ()


class Words:
    """The words in `language` (`zh` or `en`), with every argument escaped by `style`."""

    def __init__(self, language: str, style: Style | None = None) -> None:
        self.language = language
        self.style: Style = style or Plain()
        self._environment = _environment(self.style, _COMMA[language])
        self._templates: dict[str, Template] = {}

    def __call__(self, key: str, /, **args: Any) -> str:
        """The general word `<file>.<name>` of `templates/words/`. Raises KeyError where there is none."""
        file, name = key.split(".", 1)
        return self._render(_words(file)[name][self.language], args)

    def message(self, rule: str, message: Message) -> str:
        """A rule's sentence."""
        return self._of_rule(rule, "message", message) or self._bare(rule, message)

    def detail(self, rule: str, message: Message) -> str:
        """The paragraphs under it, empty where the rule has none."""
        return self._of_rule(rule, "detail", message)

    def advice(self, rule: str, message: Message) -> str:
        """What to do about it, empty where the rule says nothing."""
        return self._of_rule(rule, "advice", message)

    def summary(self, rule: str) -> str:
        """What the rule finds, in one line."""
        found = _rule_words(rule).get("summary", {}).get(self.language)
        return self._render(found, {}) if found else rule

    def _of_rule(self, rule: str, table: str, message: Message) -> str:
        found = _rule_words(rule).get(table, {}).get(message.key)
        if found is None:
            return ""
        args = {name: self._argument(rule, value) for name, value in message.args.items()}
        try:
            return self._render(found[self.language], args)
        except UndefinedError:
            return self._bare(rule, message)

    def _bare(self, rule: str, message: Message) -> str:
        """A missing word must not lose the finding: its key and arguments still say what was seen."""
        shown = ", ".join(f"{name}={value}" for name, value in message.args.items())
        return self.style.code(f"{rule}/{message.key}: {shown}" if shown else f"{rule}/{message.key}")

    def _argument(self, rule: str, value: Any) -> Any:
        if isinstance(value, Message):
            return _Ready(self.message(rule, value))
        if isinstance(value, list | tuple) and not is_dataclass(value):
            return [self._argument(rule, item) for item in value]
        return value

    def _render(self, source: str, args: Mapping[str, Any]) -> str:
        if "{" not in source:
            return source
        if source not in self._templates:
            self._templates[source] = self._environment.from_string(source)
        return self._templates[source].render(args)


def _environment(style: Style, comma: str) -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        finalize=partial(_written, style.prose),
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters = {
        **environment.filters,
        "code": lambda value: _written(style.code, value),
        "codes": lambda values: _Ready(comma.join(_written(style.code, v) for v in values)),
        "items": lambda values: _Ready(comma.join(_written(style.prose, v) for v in values)),
        "hex": lambda value: _Ready(style.code(f"{value:#x}")),
        "plural": lambda count, one, many: _Ready(one if count == 1 else many),
    }
    return environment


def _written(write: Callable[[str], str], value: Any) -> _Ready:
    if isinstance(value, _Ready):
        return value
    if isinstance(value, Location):
        return _Ready(write(place(value)))
    return _Ready(write(str(value)))


def place(location: Location) -> str:
    """`path:12`, `path:12-14`, or the path alone for a whole file."""
    if not location.start_line:
        return location.path
    end = f"-{location.end_line}" if location.end_line > location.start_line else ""
    return f"{location.path}:{location.start_line}{end}"


@cache
def _words(file: str) -> dict[str, dict[str, str]]:
    return _read(TEMPLATES / "words" / f"{file}.toml")


@cache
def _rule_words(rule: str) -> dict[str, dict[str, Any]]:
    """The rule's own file over the one of its family."""
    merged: dict[str, dict[str, Any]] = {}
    for name in (rule.split(".")[0], rule):
        for table, entries in _read(TEMPLATES / "rules" / f"{name}.toml").items():
            merged[table] = {**merged.get(table, {}), **entries}
    return merged


def _read(path: Path) -> dict[str, dict[str, Any]]:
    return tomllib.loads(path.read_text("utf-8")) if path.is_file() else {}


def known_files(folder: str) -> Iterable[Path]:
    """The word files of `words` or `rules`, for the test that both languages are whole."""
    return sorted((TEMPLATES / folder).glob("*.toml"))
