"""The typed view of a review that every format is written from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from checks.core.finding import Message
from checks.domain.change_facts import Facts
from checks.review import Review


@dataclass(frozen=True, slots=True)
class Report:
    """A review with the facts of its change.

    `rules` are the ids of the rules that ran. `notes` are remarks on the run; their keys are in
    `templates/words/notes.toml`.
    """

    review: Review
    facts: Facts
    rules: tuple[str, ...] = ()
    notes: tuple[Message, ...] = ()


class Format(Protocol):
    """A format module."""

    def render(self, report: Report, language: str) -> str:
        """The whole document, ending in a newline: the same bytes for the same report."""
