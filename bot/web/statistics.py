"""What the page of statistics shows, from what the service keeps: how often it was right, how fast,
and at what price."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median, quantiles

from bot.ci.history import History
from bot.db.commands import Records
from bot.web.page_store import PageStore
from bot.web.rule_stats import FindingOutcomes, RuleStats
from checks.ci.precision import Precision


@dataclass(frozen=True, slots=True)
class ReportTiming:
    """Reports of one kind: how many, and the seconds until they were there; None where that is not
    known."""

    kind: str
    count: int
    middle: float | None
    slowest: float | None


@dataclass(frozen=True, slots=True)
class Statistics:
    """`verdicts`: reviews by verdict. `gpu`: (month as 2026-05, runs, minutes), the last month
    first."""

    made: tuple[ReportTiming, ...]
    verdicts: tuple[tuple[str, int], ...]
    rules: tuple[RuleStats, ...]
    ci: tuple[Precision, ...]
    gpu: tuple[tuple[str, int, int], ...]


class StatisticsReader:
    """All of them, out of the service's database."""

    def __init__(self, archive: PageStore) -> None:
        self._archive = archive
        self._outcomes = FindingOutcomes(archive.engine)
        self._history = History(archive.engine)
        self._records = Records(archive.engine)

    def statistics(self) -> Statistics:
        """As they are now."""
        times = self._archive.times()
        return Statistics(
            made=tuple(_timing(kind, seconds) for kind, seconds in times.items()),
            verdicts=self._archive.verdicts(),
            rules=self._outcomes.by_rule(),
            ci=self._history.precisions(),
            gpu=self._records.gpu_months(),
        )


def _timing(kind: str, seconds: list[float | None]) -> ReportTiming:
    known = [value for value in seconds if value is not None]
    if not known:
        return ReportTiming(kind, len(seconds), None, None)
    slowest = known[0]
    if len(known) > 1:
        # Nineteen of twenty reports were there within so many seconds.
        slowest = quantiles(known, n=20, method="inclusive")[-1]
    return ReportTiming(kind, len(seconds), median(known), slowest)
