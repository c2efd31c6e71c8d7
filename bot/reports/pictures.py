"""The pictures of a pull request's tabs, each with its numbers as a table where the report has none
of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from bot.i18n.catalog import Catalog
from bot.reports.blocks import Block, Folded, Heading, Picture, Table
from bot.reports.charts import COLOURS, drawing, element
from bot.reports.ci.phrasing import duration, name, state
from bot.reports.kernelpairs import KernelReport
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


# The severities of `Push`, each with the colour and the marker of its line.
_KINDS = {"bugs": (_BAD, "o"), "suggestions": (COLOURS[1], "s"), "questions": (COLOURS[3], "D")}


@dataclass(frozen=True, slots=True)
class Push:
    """What the review of one head found."""

    head: str
    bugs: int
    suggestions: int
    questions: int


def ci_timeline(run: CIRun, words: Catalog) -> Iterator[Block]:
    """When each job waited and ran, in minutes since the first was asked for.

    Jobs that never began are left out.
    """
    started = [job for job in run.jobs if job.started is not None]
    jobs = sorted(started, key=lambda job: (_asked_for(job), job.name))[:_MOST_ROWS]
    if not jobs:
        return
    first = _asked_for(jobs[0])
    plain = Catalog(words.language)
    asked_at = [_minutes(_asked_for(job), first) for job in jobs]
    began_at = [_minutes(job.started, first) for job in jobs]
    ended_at = [_minutes(_ended(job, run), first) for job in jobs]
    waited = [begun - asked for asked, begun in zip(asked_at, began_at, strict=True)]
    ran = [ended - begun for begun, ended in zip(began_at, ended_at, strict=True)]
    rows = range(len(jobs))
    yield Heading(2, words("pages.heading-timeline"))
    with drawing((9, 1.0 + 0.28 * len(jobs)), layout="constrained") as figure:
        axes = figure.subplots()
        axes.barh(rows, waited, left=asked_at, color=_WAITED, height=0.35)
        axes.barh(rows, ran, left=began_at, color=[_colour(job) for job in jobs], height=0.7)
        _label_rows(axes, [name(job) for job in jobs])
        axes.set_xlabel(plain("pages.picture-minutes"))
        svg = element(figure)
    yield Picture(svg, plain("pages.picture-timeline"))
    header = tuple(words(f"pages.timeline-{key}") for key in ("task", "waited", "ran", "state"))
    table = Table(header, tuple(_job_row(job, run, words) for job in jobs))
    yield Folded(words("pages.picture-numbers"), (table,))


def _asked_for(job: Job) -> datetime:
    """When it was asked for, as far as that is known."""
    assert job.started is not None
    return min(job.queued or job.started, job.started)


def _ended(job: Job, run: CIRun) -> datetime:
    return max(job.completed or run.collected, job.started or run.collected)


def _minutes(moment: datetime | None, first: datetime) -> float:
    return (moment - first).total_seconds() / 60 if moment is not None else 0.0


def _colour(job: Job) -> str:
    if job.failed:
        return _BAD
    return _FINE if job.passed else _OTHER


def _job_row(job: Job, run: CIRun, words: Catalog) -> tuple[str, ...]:
    assert job.started is not None
    waited, ran = job.started - _asked_for(job), _ended(job, run) - job.started
    times = (duration(int(t.total_seconds()), words) for t in (waited, ran))
    return (words.style.code(name(job)), *times, state(job, words))


def _label_rows(axes: Axes, labels: Sequence[str]) -> None:
    """A label for each row, from the top. Of a long one the end is shown."""
    shown = []
    for label in labels:
        is_long = len(label) > _LONGEST_LABEL
        shown.append("…" + label[1 - _LONGEST_LABEL :] if is_long else label)
    axes.set_yticks(range(len(labels)), shown, parse_math=False)
    axes.tick_params(axis="y", labelsize="small")
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.spines[["top", "right"]].set_visible(False)


def kernel_ratios(report: KernelReport, words: Catalog) -> Iterator[Block]:
    """Head's time over base's for each case that has one, with its interval; the numbers stand in
    the report.
    """
    timed = []
    for pair in report.judged[0].comparison.pairs:
        if pair.ratio is not None:
            timed.append((case_name(pair), pair.ratio))
    timed = timed[:_MOST_ROWS]
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
        _label_rows(axes, [label for label, _ in timed])
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
    yield Heading(2, words("pages.heading-pushes"))
    if len(pushes) > 1:
        plain = Catalog(words.language)
        yield Picture(_draw_pushes(pushes, plain), plain("pages.picture-pushes"))
    header = (words("pages.commit"), *(words(f"pages.{kind}") for kind in _KINDS))
    rows = []
    for push in pushes:
        counts = [str(getattr(push, kind)) for kind in _KINDS]
        rows.append((words.style.code(push.head[:12]), *counts))
    yield Table(header, tuple(rows))


def _draw_pushes(pushes: Sequence[Push], plain: Catalog) -> str:
    """A line for each severity over the pushes, as an SVG element."""
    # matplotlib takes long to import, and few pages have a picture.
    from matplotlib.ticker import MaxNLocator

    numbers = range(1, len(pushes) + 1)
    heads = [push.head[:7] for push in pushes]
    with drawing((9, 2.6), layout="constrained") as figure:
        axes = figure.subplots()
        for kind, (colour, marker) in _KINDS.items():
            counts = [getattr(push, kind) for push in pushes]
            label = plain(f"pages.{kind}")
            axes.plot(numbers, counts, marker=marker, color=colour, label=label)
        axes.set_xticks(numbers, heads, fontsize="small", rotation=30)
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside upper center", ncols=3, frameon=False, fontsize="small")
        return element(figure)
