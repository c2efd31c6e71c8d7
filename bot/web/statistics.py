"""What the page of statistics shows, from what the service keeps: how often it was right, how fast, at what price."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median, quantiles

from bot.ci.history import History
from bot.db.commands import Records
from bot.web.page_store import Archive
from bot.web.rule_stats import Kept, Outcomes
from checks.ci.precision import Precision


@dataclass(frozen=True, slots=True)
class Made:
    """Reports of one kind: how many, and the seconds until they were there; None where that is not known."""

    kind: str
    count: int
    middle: float | None
    slowest: float | None


@dataclass(frozen=True, slots=True)
class Statistics:
    """`verdicts`: reviews by verdict. `gpu`: (month as 2026-05, runs, minutes), the last month first."""

    made: tuple[Made, ...]
    verdicts: tuple[tuple[str, int], ...]
    rules: tuple[Kept, ...]
    ci: tuple[Precision, ...]
    gpu: tuple[tuple[str, int, int], ...]


class Numbers:
    """All of them, out of the service's database."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._outcomes = Outcomes(archive.engine)
        self._history = History(archive.engine)
        self._records = Records(archive.engine)

    def statistics(self) -> Statistics:
        """As they are now."""
        times = self._archive.times()
        return Statistics(
            made=tuple(_made(kind, told) for kind, told in times.items()),
            verdicts=self._archive.verdicts(),
            rules=self._outcomes.by_rule(),
            ci=self._history.precisions(),
            gpu=self._records.gpu_months(),
        )


def _made(kind: str, told: list[float | None]) -> Made:
    known = [t for t in told if t is not None]
    slowest = (
        quantiles(known, n=20, method="inclusive")[-1]
        if len(known) > 1
        else max(known, default=None)
    )
    return Made(kind, len(told), median(known) if known else None, slowest)
