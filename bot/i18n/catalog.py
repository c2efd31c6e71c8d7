"""Sentences for people, from `templates/`, in one language and for one kind of output."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from bot.i18n.escape import Plain, Style
from bot.i18n.templates import Escaped, Phrases, place
from checks.core.finding import Message

__all__ = ["LANGUAGES", "TEMPLATES", "Catalog", "place"]

LANGUAGES = ("zh", "en")
TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
_TABLE = re.compile(r"^\[([\w.-]+)\]$", re.MULTILINE)
_COMMA = {"zh": "、", "en": ", "}


class Catalog:
    """The words in `language` (`zh` or `en`), with every argument escaped by `style`."""

    def __init__(self, language: str, style: Style | None = None) -> None:
        self.language = language
        self.style: Style = style or Plain()
        self.phrases = _phrases(type(self.style), language)

    def __call__(self, key: str, /, **args: Any) -> str:
        """The general word `<file>.<name>` of `templates/words/`. Raises KeyError where there is none."""
        found = _word(key)
        if found is None:
            raise KeyError(key)
        return self.phrases.render(found[self.language], args)

    def prepare(self, files: str) -> None:
        """Compile the words of these `files` of `templates/`, a pattern, before somebody waits for it."""
        for path in sorted(TEMPLATES.glob(files)):
            found = (_table(path, name) or {} for name in _tables(path))
            for words in found:
                if self.language in words:
                    self.phrases.prepare(words[self.language])

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
        found = _rule_word(rule, "summary")
        return self.phrases.render(found[self.language], {}) if found else rule

    def _of_rule(self, rule: str, table: str, message: Message) -> str:
        found = _rule_word(rule, f"{table}.{message.key}")
        if found is None:
            return ""
        args = {name: self._argument(rule, value) for name, value in message.args.items()}
        try:
            return self.phrases.render(found[self.language], args).strip()
        except KeyError:
            return self._bare(rule, message)

    def _bare(self, rule: str, message: Message) -> str:
        """A missing word must not lose the finding: its key and arguments still say what was seen."""
        shown = ", ".join(f"{name}={value}" for name, value in message.args.items())
        return self.style.code(
            f"{rule}/{message.key}: {shown}" if shown else f"{rule}/{message.key}"
        )

    def _argument(self, rule: str, value: Any) -> Any:
        if isinstance(value, Message):
            return Escaped(self.message(rule, value))
        if isinstance(value, list | tuple):
            return [self._argument(rule, item) for item in value]
        return value


@cache
def _phrases(style: type[Style], language: str) -> Phrases:
    """One for all who write the same: what was compiled is not compiled again."""
    return Phrases(style(), _COMMA[language])


@cache
def _word(key: str) -> dict[str, str] | None:
    file, name = key.split(".", 1)
    return _table(TEMPLATES / "words" / f"{file}.toml", name)


@cache
def _rule_word(rule: str, name: str) -> dict[str, str] | None:
    """Of the rule's own file, else of the one of its family."""
    own = _table(TEMPLATES / "rules" / f"{rule}.toml", name)
    return own or _table(TEMPLATES / "rules" / f"{rule.split('.')[0]}.toml", name)


@cache
def _table(path: Path, name: str) -> dict[str, str] | None:
    text = _tables(path).get(name)
    return None if text is None else tomllib.loads(text)


@cache
def _tables(path: Path) -> dict[str, str]:
    """The text of each table in a file. Each is read as TOML when it is asked for: most of them are not, and all of
    them take longer than the rest of a report."""
    parts = _TABLE.split(path.read_text("utf-8")) if path.is_file() else [""]
    return dict(zip(parts[1::2], parts[2::2], strict=True))
