"""Templates of sentences: Jinja2, with a short way for most of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from bot.i18n.escape import Style
from bot.i18n.short import short
from checks.core.finding import Location

if TYPE_CHECKING:
    from jinja2.sandbox import ImmutableSandboxedEnvironment

Phrase = Callable[[Mapping[str, Any]], str]


class Escaped(str):
    """Text that is already written for the output at hand."""

    __slots__ = ()


class Phrases:
    """Compiles templates for one style and one language's list separator. A compiled phrase raises KeyError where
    an argument is missing."""

    def __init__(self, style: Style, comma: str) -> None:
        self.filters: dict[str | None, Callable[..., Escaped]] = {
            None: partial(_written, style.prose),
            "code": partial(_written, style.code),
            "codes": lambda values: Escaped(comma.join(_written(style.code, v) for v in values)),
            "items": lambda values: Escaped(comma.join(_written(style.prose, v) for v in values)),
            "hex": lambda value: Escaped(style.code(f"{value:#x}")),
            "plural": lambda count, one, many: Escaped(one if count == 1 else many),
        }
        self._environment: ImmutableSandboxedEnvironment | None = None
        self._compiled: dict[str, Phrase] = {}

    def render(self, source: str, args: Mapping[str, Any]) -> str:
        """The sentence of template `source`."""
        self.prepare(source)
        return self._compiled[source](args)

    def prepare(self, source: str) -> None:
        """Compile template `source`."""
        if source not in self._compiled:
            self._compiled[source] = short(source, self.filters) or self._jinja(source)

    def _jinja(self, source: str) -> Phrase:
        from jinja2 import UndefinedError

        template = self.environment.from_string(source)

        def phrase(args: Mapping[str, Any]) -> str:
            try:
                return template.render(args)
            except UndefinedError as error:
                raise KeyError(str(error)) from error

        return phrase

    @property
    def environment(self) -> ImmutableSandboxedEnvironment:
        """The Jinja2 environment, made when the first template needs it."""
        if self._environment is None:
            from jinja2 import StrictUndefined
            from jinja2.sandbox import ImmutableSandboxedEnvironment

            self._environment = ImmutableSandboxedEnvironment(
                undefined=StrictUndefined,
                finalize=self.filters[None],
                autoescape=False,
                trim_blocks=True,
                lstrip_blocks=True,
            )
            self._environment.filters.update((name, f) for name, f in self.filters.items() if name)
        return self._environment


def _written(write: Callable[[str], str], value: Any) -> Escaped:
    if isinstance(value, Escaped):
        return value
    return Escaped(write(place(value) if isinstance(value, Location) else str(value)))


def place(location: Location) -> str:
    """`path:12`, `path:12-14`, or the path alone for a whole file."""
    if not location.start_line:
        return location.path
    end = f"-{location.end_line}" if location.end_line > location.start_line else ""
    return f"{location.path}:{location.start_line}{end}"
