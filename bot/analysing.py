"""From a change to its review and analysis, with two processes where the machine has two cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bot.git import Git, Range, history_prefetch
from bot.git.history import history
from bot.reports import Report
from bot.reports.analysis import AnalysisReport
from checks.core.change import ChangeSet
from checks.summary import BESIDE, analyse
from checks.summary.discussion import Thread


def analysed(
    git: Git,
    compared: Range,
    change: ChangeSet,
    review: Callable[..., Report],
    threads: Sequence[Thread] | None = None,
) -> AnalysisReport:
    """The analysis of the change and the review that it stands on: `review` is `bot.pipeline.reviewed` but for what is
    made `beside` it.

    Git looks into the past while `review` runs.
    """
    with history_prefetch.asked(git, compared, change) as looking:
        report = review(beside=BESIDE)
        made = analyse(report.review, report.facts, history(looking, change), threads)
    return AnalysisReport(report, made)
