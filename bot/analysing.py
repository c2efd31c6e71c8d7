"""From a change to its review and analysis, with two processes where the machine has two cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bot.git import Git, Range, past
from bot.git.history import history
from bot.reports import Report
from bot.reports.analysis import AnalysisReport
from checks.analysis import BESIDE, analyse
from checks.analysis.discussion import Thread
from checks.change import ChangeSet


def analysed(
    git: Git,
    compared: Range,
    change: ChangeSet,
    review: Callable[..., Report],
    threads: Sequence[Thread] | None = None,
) -> AnalysisReport:
    """The analysis of the change and the review that it stands on: `review` is `bot.reviewing.reviewed` but for what is
    made `beside` it.

    Git looks into the past while `review` runs.
    """
    with past.asked(git, compared, change) as looking:
        report = review(beside=BESIDE)
        made = analyse(report.review, report.facts, history(looking, change), threads)
    return AnalysisReport(report, made)
