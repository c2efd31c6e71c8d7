"""Reports: one typed view of a review, and a module per format that writes it.

Each format module has `render(report, language) -> str`; they are imported when asked for, because the shell command
must start fast.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    # The command line asks this package for the names of the formats alone, and `specbot --help` must not load rules.
    from checks.core.finding import Message
    from checks.domain.change_facts import Facts
    from checks.review import Review

FORMATS = ("terminal", "markdown", "json", "sarif", "rdjson", "github")
_MODULES = {"json": "json_v1"}


@dataclass(frozen=True, slots=True)
class Report:
    """What every format is written from. `rules` are the ids that ran; `notes` are remarks on the run, keys of
    `templates/words/notes.toml`."""

    review: Review
    facts: Facts
    rules: tuple[str, ...] = ()
    notes: tuple[Message, ...] = ()


class Format(Protocol):
    """A format module."""

    def render(self, report: Report, language: str) -> str:
        """The whole document, ending in a newline, the same bytes for the same report."""


def format_named(name: str) -> Format:
    """The module of one of `FORMATS`."""
    return cast(Format, importlib.import_module(f"bot.reports.{_MODULES.get(name, name)}"))
