"""Sentences for people, from `templates/`, in one language and for one kind of output."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from bot.i18n.escape import Plain, Style
from bot.i18n.templates import Escaped, TemplateRenderer, place
from checks.core.finding import Message

__all__ = ["LANGUAGES", "TEMPLATES", "Catalog", "place"]

LANGUAGES = ("zh", "en")
TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
_COMMA = {"zh": "、", "en": ", "}
# The template of one sentence, by language.
Sentence = Mapping[str, str]


class Catalog:
    """The words in `language` (`zh` or `en`), with every argument escaped by `style`."""

    def __init__(self, language: str, style: Style | None = None) -> None:
        self.language = language
        self.style: Style = style or Plain()
        self.renderer = _renderer(type(self.style), language)

    def __call__(self, key: str, /, **args: Any) -> str:
        """The general word `<file>.<name>` of `templates/words/`. Raises KeyError where there is
        none."""
        file, name = key.split(".", 1)
        sentence = _sentences(TEMPLATES / "words" / f"{file}.toml").get(name)
        if sentence is None:
            raise KeyError(key)
        return self.renderer.render(sentence[self.language], args)

    def knows(self, key: str) -> bool:
        """Whether there is a general word `<file>.<name>`."""
        file, name = key.split(".", 1)
        return name in _sentences(TEMPLATES / "words" / f"{file}.toml")

    def prepare(self, files: str) -> None:
        """Compile the words of these `files` of `templates/`, a pattern, before somebody waits for
        it."""
        for path in sorted(TEMPLATES.glob(files)):
            for sentence in _sentences(path).values():
                self.renderer.compile(self._translated(sentence))

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
        sentence = _rule_sentence(rule, "summary")
        if sentence is None:
            return rule
        return self.renderer.render(self._translated(sentence), {})

    def _translated(self, sentence: Sentence) -> str:
        """The template of a rule's sentence; a new rule may have English alone."""
        return sentence.get(self.language) or sentence["en"]

    def _of_rule(self, rule: str, table: str, message: Message) -> str:
        sentence = _rule_sentence(rule, f"{table}.{message.key}")
        if sentence is None:
            return ""
        args = {name: self._argument(rule, value) for name, value in message.args.items()}
        try:
            return self.renderer.render(self._translated(sentence), args).strip()
        except KeyError:
            return self._bare(rule, message)

    def _bare(self, rule: str, message: Message) -> str:
        """A missing word must not lose the finding: its key and arguments still say what was
        seen."""
        shown = ", ".join(f"{name}={value}" for name, value in message.args.items())
        name = f"{rule}/{message.key}"
        return self.style.code(f"{name}: {shown}" if shown else name)

    def _argument(self, rule: str, value: Any) -> Any:
        if isinstance(value, Message):
            return Escaped(self.message(rule, value))
        if isinstance(value, list | tuple):
            return [self._argument(rule, item) for item in value]
        return value


# The file of the sentences that do not depend on the rule.
_EVERY_RULE = "every"


@cache
def _renderer(style: type[Style], language: str) -> TemplateRenderer:
    """One for all catalogs of a style and a language, so that a template is compiled once a
    process."""
    return TemplateRenderer(style(), _COMMA[language])


def _rule_sentence(rule: str, name: str) -> Sentence | None:
    """Of the rule's own file, else of the one of its family, else of what any rule may say."""
    family = rule.split(".")[0]
    for owner in (rule, family, _EVERY_RULE):
        sentence = _sentences(TEMPLATES / "rules" / f"{owner}.toml").get(name)
        if sentence is not None:
            return sentence
    return None


@cache
def _sentences(path: Path) -> dict[str, Sentence]:
    """Every sentence of a file by its dotted name, such as `message.lost`; none where there is no
    file."""
    if not path.is_file():
        return {}
    data = tomllib.loads(path.read_text("utf-8"))
    return dict(_flattened(data, ""))


def _flattened(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Sentence]]:
    """The sentences in a TOML table. A sentence is a table of strings by language."""
    for name, value in table.items():
        if set(value) <= set(LANGUAGES):
            yield prefix + name, value
        else:
            yield from _flattened(value, f"{prefix}{name}.")
