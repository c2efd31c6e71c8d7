"""What a change is, on top of its review; a review alone does not load this."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bot.git import Git, Range, history_prefetch
from bot.git.history import history
from bot.reports import Report
from bot.reports.analysis import AnalysisReport, PullActivity
from checks.core.change import ChangeSet
from checks.summary import analyse
from checks.summary.discussion import Thread


def run_analysis(
    git: Git,
    compared: Range,
    change: ChangeSet,
    review_change: Callable[[], Report],
    threads: Sequence[Thread] | None = None,
    activity: PullActivity | None = None,
) -> AnalysisReport:
    """The analysis of the change and the review that it stands on, which `review_change` makes.

    Git looks into the past meanwhile. `threads` is what people said and `activity` what GitHub
    counts, None where nobody was asked.
    """
    with history_prefetch.prefetch(git, compared, change) as queries:
        report = review_change()
        past = history(queries, change)
    analysis = analyse(report.review, report.facts, past, threads)
    return AnalysisReport(report, analysis, activity)
