"""How near each case of a kernel run comes to what the device's memory allows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.i18n.catalog import Catalog
from bot.reports.blocks import Block, Folded, Heading, Picture, Table, Text
from bot.reports.charts import COLOURS, drawing, element
from bot.reports.kernelpairs import KernelReport
from bot.reports.kernelrun import name as case_name
from checks.kernelrun.model import CaseStatus, KernelCase

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.ticker import Formatter

_COLUMNS = ("case", "bytes", "floor", "base", "head", "share")
_ROOF = "#8c959f"


@dataclass(frozen=True, slots=True)
class _Point:
    """A case: `bytes` of its inputs and outputs, seconds on both sides."""

    name: str
    bytes: int
    base: float
    head: float


def roofline(report: KernelReport, words: Catalog) -> Iterator[Block]:
    """Each right case's time over the bytes of its inputs and outputs, under the time that a copy
    of as many takes; a sentence where the run does not say them, nothing where times mean nothing.
    """
    comparison = report.judged[0].comparison
    if comparison.apart or not comparison.timed:
        return
    yield Heading(2, words("pages.heading-roofline"))
    roof, points = comparison.head.bandwidth, [*_points(report)]
    if roof is None or not points:
        yield Text(words("pages.no-roofline"))
        return
    plain = Catalog(words.language)
    with drawing((9, 4), layout="constrained") as figure:
        axes = figure.subplots()
        _draw(axes, points, roof, plain)
        svg = element(figure)
    yield Picture(svg, plain("pages.picture-roofline", roof=f"{roof / 1e12:.2f}"))
    header = tuple(words(f"pages.roofline-{c}") for c in _COLUMNS)
    yield Folded(
        words("pages.picture-numbers"),
        (Table(header, tuple(_row(p, roof, words) for p in points)),),
    )


def _points(report: KernelReport) -> Iterator[_Point]:
    """The cases that are right on both sides: the speed of a wrong answer is not worth a word."""
    for pair in report.judged[0].comparison.pairs:
        if pair.head is None or not pair.head.bytes:
            continue
        before, after = _seconds(pair.base), _seconds(pair.head)
        if before and after:
            yield _Point(case_name(pair), pair.head.bytes, before, after)


def _seconds(case: KernelCase | None) -> float | None:
    """The median time of a right case."""
    if case is None or case.status is not CaseStatus.OK or case.times is None:
        return None
    return case.times.median


def _draw(axes: Axes, points: list[_Point], roof: float, plain: Catalog) -> None:
    from matplotlib.ticker import EngFormatter, FuncFormatter

    sizes = [p.bytes for p in points]
    ends = [min(sizes) / 2, max(sizes) * 2]
    axes.plot(ends, [1e6 * n / roof for n in ends], color=_ROOF, label=plain("pages.roofline-roof"))
    # Head is drawn inside of base, so that both show where they are equal.
    base = [1e6 * point.base for point in points]
    head = [1e6 * point.head for point in points]
    axes.scatter(sizes, base, s=70, color=COLOURS[4], label="base", zorder=3)
    axes.scatter(sizes, head, s=18, color=COLOURS[0], label="head", zorder=3)
    axes.set_xscale("log")
    axes.set_yscale("log")
    # `20 M` and `0.5`, where Matplotlib writes 2 × 10⁷ and 5 × 10⁻¹.
    _ticks(axes.xaxis, axes.get_xlim(), EngFormatter(sep="\N{NO-BREAK SPACE}"))
    _ticks(axes.yaxis, axes.get_ylim(), FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel(plain("pages.roofline-bytes"))
    axes.set_ylabel(plain("pages.roofline-time"))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize="small")


def _ticks(axis: Axis, ends: tuple[float, float], written: Formatter) -> None:
    """Numbers at 1, 2, 5 of each power of ten; at the powers alone where there are many."""
    from matplotlib.ticker import LogLocator, NullFormatter

    is_short = ends[1] < 200 * ends[0]
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if is_short else (1.0,)))
    axis.set_major_formatter(written)
    axis.set_minor_formatter(NullFormatter())


def _row(point: _Point, roof: float, words: Catalog) -> tuple[str, ...]:
    floor = point.bytes / roof
    times = (f"{1e6 * t:.2f}" for t in (floor, point.base, point.head))
    return (words.style.code(point.name), f"{point.bytes:,}", *times, f"{floor / point.head:.0%}")
