"""From a change to its review and analysis, with two processes where the machine has two cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from bot.git import Git, Range, past
from bot.git.history import history
from bot.reports import Report
from bot.reports.analysis import AnalysisReport
from bot.spread import spread
from checks.analysis import Analysis, analyse
from checks.analysis.discussion import Thread
from checks.analysis.risks import reached
from checks.change import ChangeSet


def analysed(
    git: Git,
    compared: Range,
    change: ChangeSet,
    review: Callable[[], Report],
    threads: Sequence[Thread] | None = None,
) -> AnalysisReport:
    """The analysis of the change and the review that it stands on.

    Git looks into the past while `review` runs, and code that the change newly calls is read beside the rest.
    """
    with past.asked(git, compared, change) as looking:
        report = review()

        def rest() -> Analysis:
            return analyse(report.review, report.facts, history(looking, change), threads)

        made, more = _both(rest, lambda: reached(report.review))
    return AnalysisReport(report, replace(made, risks=(*made.risks, *more)))


def _both(first: Callable[[], Any], second: Callable[[], Any]) -> list[Any]:
    """What both give; the second in a process of its own."""
    return spread(lambda part: part(), (first, second))
