"""The template language of our sentences: Jinja2, with filters that escape foreign text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jinja2 import StrictUndefined, Template, UndefinedError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from bot.i18n.escape import Style
from checks.core.finding import Location


class Escaped(str):
    """Text that is already written for the output at hand."""

    __slots__ = ()


class TemplateRenderer:
    """Fills templates for one style of output and one language's list separator.

    Every value that a template prints is escaped by the style, unless it is `Escaped` already.
    A template is compiled when it is first used, and kept.
    """

    def __init__(self, style: Style, comma: str) -> None:
        self._style = style
        self._comma = comma
        self._compiled: dict[str, Template] = {}
        self.environment = ImmutableSandboxedEnvironment(
            undefined=StrictUndefined,
            finalize=self._prose,
            autoescape=False,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.environment.filters.update(
            code=self._code,
            codes=self._codes,
            items=self._items,
            hex=self._hex,
            plural=_plural,
            strong=self._strong,
        )

    def render(self, source: str, args: Mapping[str, Any]) -> str:
        """The sentence of template `source`. Raises `KeyError` where an argument is missing."""
        if "{" not in source:
            # Half of the sentences are plain text, and compiling one takes half a millisecond.
            return source.removesuffix("\n")
        template = self.compile(source)
        try:
            return template.render(args)
        except UndefinedError as error:
            raise KeyError(str(error)) from error

    def compile(self, source: str) -> Template:
        """The compiled template of `source`."""
        template = self._compiled.get(source)
        if template is None:
            template = self.environment.from_string(source)
            self._compiled[source] = template
        return template

    def _prose(self, value: Any) -> Escaped:
        return _escape(self._style.prose, value)

    def _code(self, value: Any) -> Escaped:
        return _escape(self._style.code, value)

    def _strong(self, text: str) -> Escaped:
        return Escaped(self._style.strong(text))

    def _codes(self, values: Iterable[Any]) -> Escaped:
        return Escaped(self._comma.join(self._code(value) for value in values))

    def _items(self, values: Iterable[Any]) -> Escaped:
        return Escaped(self._comma.join(self._prose(value) for value in values))

    def _hex(self, value: int) -> Escaped:
        # `int` first: of an argument that is missing it raises Jinja2's own error.
        return Escaped(self._style.code(hex(int(value))))


def _plural(count: int, singular: str, plural: str) -> Escaped:
    return Escaped(singular if count == 1 else plural)


def _escape(write: Callable[[str], str], value: Any) -> Escaped:
    if isinstance(value, Escaped):
        return value
    text = place(value) if isinstance(value, Location) else str(value)
    return Escaped(write(text))


def place(location: Location) -> str:
    """`path:12`, `path:12-14`, or the path alone for a whole file."""
    if not location.start_line:
        return location.path
    if location.end_line > location.start_line:
        return f"{location.path}:{location.start_line}-{location.end_line}"
    return f"{location.path}:{location.start_line}"
