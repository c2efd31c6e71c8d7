"""Who calls what a change touched: a picture, and its arrows in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.i18n.catalog import Catalog, place
from bot.reports.blocks import Block, Heading, Picture, Table
from bot.reports.charts import arrows, path_label
from checks.summary import Analysis
from checks.summary.model import Dependent

# Arrows, those that stand for the most functions first.
_MOST = 24
_MOST_NAMES = 6
_LONGEST_LABEL = 44


def dependents(analysis: Analysis, words: Catalog, *, pictures: bool) -> Iterator[Block]:
    """Nothing where no other file calls what changed."""
    shown = analysis.dependents[:_MOST]
    if not shown:
        return
    yield Heading(3, words("analysis.heading-dependents"))
    if pictures:
        yield _picture(shown, words)
    keys = ("dependent-on", "dependent-place", "dependent-names")
    rows = tuple(_row(dependent, words) for dependent in shown)
    yield Table(tuple(words(f"analysis.{key}") for key in keys), rows)


def _picture(shown: Sequence[Dependent], words: Catalog) -> Picture:
    callers = list(dict.fromkeys(dependent.place.path for dependent in shown))
    changed = list(dict.fromkeys(dependent.on for dependent in shown))
    pairs = [(callers.index(one.place.path), changed.index(one.on)) for one in shown]
    svg = arrows(_labels(callers), _labels(changed), pairs)
    return Picture(svg, Catalog(words.language)("analysis.picture-dependents"))


def _labels(paths: Sequence[str]) -> list[str]:
    return [path_label(path, _LONGEST_LABEL) for path in paths]


def _row(dependent: Dependent, words: Catalog) -> tuple[str, ...]:
    names = [words.style.code(name) for name in dependent.names[:_MOST_NAMES]]
    return (
        words.style.code(dependent.on),
        words.style.code(place(dependent.place)),
        words("report.comma").join(names),
    )
