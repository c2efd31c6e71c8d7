"""The pictures of a pull request's tabs, each with its numbers as a table where the report has none of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from bot.i18n.catalog import Catalog
from bot.reports.blocks import Block, Folded, Heading, Picture, Table
from bot.reports.charts import COLOURS, drawing, element
from bot.reports.ci.phrasing import duration, name, state
from bot.reports.kernelpairs import Report
from bot.reports.kernelrun import name as case_name
from checks.ci.model import CIRun, Job
from checks.kernelrun.speed import MARGIN, Ratio, Speedup

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_ROWS = 40
_LONGEST_LABEL = 48
_WAITED, _FINE, _BAD, _OTHER = "#8c959f", COLOURS[2], COLOURS[5], COLOURS[4]
_PACE = {
    Speedup.SLOWER: _BAD,
    Speedup.FASTER: _FINE,
    Speedup.SAME: _WAITED,
    Speedup.OPEN: COLOURS[1],
}


@dataclass(frozen=True, slots=True)
class Push:
    """What the review of one head found."""

    head: str
    bugs: int
    suggestions: int
    questions: int


def ci_timeline(run: CIRun, words: Catalog) -> Iterator[Block]:
    """When each task waited and ran, in minutes since the first was asked for. Tasks that never began are left out."""
    jobs = sorted(
        (j for j in run.jobs if j.started is not None), key=lambda j: (_begun(j), j.name)
    )[:_MOST_ROWS]
    if not jobs:
        return
    first, plain = _begun(jobs[0]), Catalog(words.language)
    spans = [
        (_minutes(_begun(j), first), _minutes(j.started, first), _minutes(_ended(j, run), first))
        for j in jobs
    ]
    yield Heading(2, words("pages.heading-timeline"))
    with drawing((9, 1.0 + 0.28 * len(jobs)), layout="constrained") as figure:
        axes = figure.subplots()
        rows = range(len(jobs))
        waited = [begun - asked for asked, begun, _ in spans]
        axes.barh(rows, waited, left=[s[0] for s in spans], color=_WAITED, height=0.35)
        ran = [ended - begun for _, begun, ended in spans]
        axes.barh(
            rows, ran, left=[s[1] for s in spans], color=[_colour(j) for j in jobs], height=0.7
        )
        _labelled(axes, [name(j) for j in jobs])
        axes.set_xlabel(plain("pages.picture-minutes"))
        svg = element(figure)
    yield Picture(svg, plain("pages.picture-timeline"))
    header = tuple(words(f"pages.timeline-{key}") for key in ("task", "waited", "ran", "state"))
    table = Table(header, tuple(_task(j, run, words) for j in jobs))
    yield Folded(words("pages.picture-numbers"), (table,))


def _begun(job: Job) -> datetime:
    """When it was asked for, as far as that is known."""
    assert job.started is not None
    return min(job.queued or job.started, job.started)


def _ended(job: Job, run: CIRun) -> datetime:
    return max(job.completed or run.collected, job.started or run.collected)


def _minutes(moment: datetime | None, first: datetime) -> float:
    return (moment - first).total_seconds() / 60 if moment is not None else 0.0


def _colour(job: Job) -> str:
    return _BAD if job.failed else _FINE if job.passed else _OTHER


def _task(job: Job, run: CIRun, words: Catalog) -> tuple[str, ...]:
    assert job.started is not None
    waited, ran = job.started - _begun(job), _ended(job, run) - job.started
    times = (duration(int(t.total_seconds()), words) for t in (waited, ran))
    return (words.style.code(name(job)), *times, state(job, words))


def _labelled(axes: Axes, labels: Sequence[str]) -> None:
    """One row a label, from the top."""
    most = _LONGEST_LABEL
    axes.set_yticks(
        range(len(labels)),
        [t if len(t) <= most else "…" + t[1 - most :] for t in labels],
        parse_math=False,
    )
    axes.tick_params(axis="y", labelsize="small")
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.spines[["top", "right"]].set_visible(False)


def kernel_ratios(report: Report, words: Catalog) -> Iterator[Block]:
    """Head's time over base's for each case that has one, with its interval; the numbers stand in the report."""
    timed = [
        (case_name(p), p.ratio) for p in report.judged[0].comparison.pairs if p.ratio is not None
    ][:_MOST_ROWS]
    if not timed:
        return
    plain = Catalog(words.language)
    yield Heading(2, words("pages.heading-ratios"))
    with drawing((9, 1.2 + 0.28 * len(timed)), layout="constrained") as figure:
        axes = figure.subplots()
        axes.axvspan(1 - MARGIN, 1 + MARGIN, color=_WAITED, alpha=0.2, linewidth=0)
        axes.axvline(1, color=_WAITED, linewidth=1)
        for row, (_, ratio) in enumerate(timed):
            _interval(axes, row, ratio)
        _labelled(axes, [label for label, _ in timed])
        axes.set_xlabel(plain("pages.picture-ratio"))
        svg = element(figure)
    yield Picture(svg, plain("pages.picture-ratios", margin=f"{MARGIN:.0%}"))


def _interval(axes: Axes, row: int, ratio: Ratio) -> None:
    reach = [[max(0.0, ratio.value - ratio.low)], [max(0.0, ratio.high - ratio.value)]]
    axes.errorbar(
        [ratio.value], [row], xerr=reach, fmt="o", color=_PACE[ratio.pace], capsize=3, markersize=5
    )


def findings_over_pushes(pushes: Sequence[Push], words: Catalog) -> Iterator[Block]:
    """How many findings of each severity every reviewed push had, the first push first."""
    from matplotlib.ticker import MaxNLocator

    plain = Catalog(words.language)
    kinds = ("bugs", "suggestions", "questions")
    yield Heading(2, words("pages.heading-pushes"))
    if len(pushes) > 1:
        with drawing((9, 2.6), layout="constrained") as figure:
            axes = figure.subplots()
            for kind, colour, mark in zip(
                kinds, (_BAD, COLOURS[1], COLOURS[3]), "osD", strict=True
            ):
                counts = [getattr(p, kind) for p in pushes]
                axes.plot(
                    range(1, len(pushes) + 1),
                    counts,
                    marker=mark,
                    color=colour,
                    label=plain(f"pages.{kind}"),
                )
            axes.set_xticks(
                range(1, len(pushes) + 1),
                [p.head[:7] for p in pushes],
                fontsize="small",
                rotation=30,
            )
            axes.yaxis.set_major_locator(MaxNLocator(integer=True))
            axes.set_ylim(bottom=0)
            axes.spines[["top", "right"]].set_visible(False)
            figure.legend(loc="outside upper center", ncols=3, frameon=False, fontsize="small")
            svg = element(figure)
        yield Picture(svg, plain("pages.picture-pushes"))
    header = (words("pages.commit"), *(words(f"pages.{kind}") for kind in kinds))
    yield Table(
        header,
        tuple(
            (words.style.code(p.head[:12]), *(str(getattr(p, k)) for k in kinds)) for p in pushes
        ),
    )
