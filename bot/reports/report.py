"""The typed view of a review that every format is written from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from checks.core.finding import Message, Severity
from checks.domain.change_facts import Facts
from checks.review import Review


@dataclass(frozen=True, slots=True)
class Report:
    """A review with the facts of its change.

    `rules` are the ids of the rules that ran. `notes` are remarks on the run; their keys are in
    `templates/words/notes.toml`. `headline` is what the change makes different, weightiest first,
    in sentences of `templates/words/analysis.toml`; `agreements` is what was found consistent, in
    sentences of `templates/words/report.toml`. `page` is the address of the whole report,
    empty where it has none.
    """

    review: Review
    facts: Facts
    rules: tuple[str, ...] = ()
    notes: tuple[Message, ...] = ()
    headline: tuple[Message, ...] = ()
    page: str = ""
    agreements: tuple[Message, ...] = ()


def bugs_alone(report: Report) -> Report:
    """The report with the findings that are proved to be bugs, for who wants to hear nothing
    else yet."""
    bugs = tuple(f for f in report.review.findings if f.severity is Severity.BUG)
    return replace(report, review=replace(report.review, findings=bugs))


class Format(Protocol):
    """A format module."""

    def render(self, report: Report, language: str) -> str:
        """The whole document, ending in a newline: the same bytes for the same report."""
