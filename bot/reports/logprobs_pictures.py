"""The two pictures of `specbot logprobs diff`, as SVG: the same bytes for the same outcome.

Their numbers stand in the report as tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bot.errors import UserError
from bot.files import write_output
from bot.i18n.catalog import Catalog
from bot.reports.blocks import Block, Picture
from bot.reports.charts import drawing, element, svg
from checks.logprobs.compare import ComparisonOutcome
from checks.logprobs.compare.tally import MOST_ULPS, place_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES = ("difference.svg", "acceptance.svg")
# Ulps from which on a logarithmic axis shows more.
_LINEAR = 32
_LEGEND: dict[str, Any] = {
    "loc": "lower right",
    "bbox_to_anchor": (1.0, 1.0),
    "ncols": 3,
    "frameon": False,
}
_BASE, _HEAD, _LINE = "#8c959f", "#1f6feb", "#cf222e"


def draw(outcome: ComparisonOutcome, folder: Path, language: str) -> None:
    """Write the pictures into `folder`, which is made where it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError("unwritable", path=str(folder), reason=error.strerror) from error
    words = Catalog(language)
    for name, paint in zip(NAMES, (_difference, _acceptance), strict=True):
        with drawing((7.5, 3.6)) as figure:
            paint(figure.add_axes((0.1, 0.18, 0.87, 0.7)), outcome, words)
            write_output(svg(figure), str(folder / name))


def pictures(outcome: ComparisonOutcome, words: Catalog) -> Iterator[Block]:
    """The same for a page, each where it has something to show."""
    shown = (
        ("picture-places", _difference, outcome.tally.counts["rows"]),
        ("picture-acceptance", _acceptance, len(outcome.acceptance) > 1),
    )
    plain = Catalog(words.language)
    for title, paint, full in shown:
        if full:
            with drawing((9, 3.6)) as figure:
                paint(figure.add_axes((0.08, 0.2, 0.9, 0.66)), outcome, plain)
                drawn = element(figure)
            yield Picture(drawn, plain(f"comparison.{title}"))


def _difference(axes: Axes, outcome: ComparisonOutcome, words: Catalog) -> None:
    places = outcome.tally.places
    used = [n for n in range(len(places.rows)) if places.rows[n]]
    axes.set_title(words("comparison.picture-places"), loc="left")
    axes.set_xlabel(words("comparison.position"))
    if not used:
        axes.text(0.5, 0.5, words("comparison.picture-none"), ha="center", transform=axes.transAxes)
        return
    at = range(len(used))
    most, mean = np.minimum((places.most[used], places.mean[used]), MOST_ULPS)
    axes.bar(at, most, color=_BASE, label=words("comparison.picture-most"))
    axes.bar(at, mean, color=_HEAD, label=words("comparison.picture-mean"))
    label = f"{words('comparison.picture-tolerance')} {outcome.tolerance:.3g}"
    axes.axhline(outcome.tolerance, color=_LINE, linestyle="--", linewidth=1, label=label)
    if most.max() > _LINEAR:
        axes.set_yscale("symlog", linthresh=1)
    names = place_names()
    axes.set_xticks(list(at), [names[n] for n in used], rotation=60, fontsize=7)
    axes.legend(**_LEGEND)


def _acceptance(axes: Axes, outcome: ComparisonOutcome, words: Catalog) -> None:
    places = outcome.acceptance[1:]
    axes.set_title(words("comparison.picture-acceptance"), loc="left")
    axes.set_xlabel(words("comparison.picture-place"))
    if not places:
        axes.text(0.5, 0.5, words("comparison.picture-none"), ha="center", transform=axes.transAxes)
        return
    at = range(1, len(places) + 1)
    axes.bar(
        [n - 0.2 for n in at],
        [d.base for d in places],
        0.4,
        color=_BASE,
        label=words("comparison.base"),
    )
    axes.bar(
        [n + 0.2 for n in at],
        [d.head for d in places],
        0.4,
        color=_HEAD,
        label=words("comparison.head"),
    )
    axes.set_xticks(list(at))
    axes.set_ylim(0, 1)
    axes.legend(**_LEGEND)
