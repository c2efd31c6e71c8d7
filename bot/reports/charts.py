"""Pictures as SVG, the same bytes for the same numbers.

The numbers always stand in a table beside them.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Series = Sequence[tuple[str, Sequence[float]]]
# What draws as `stacked_bars` does.
Draw = Callable[[list[str], Series, float], str]

# Okabe and Ito's colours, told apart by people who see fewer.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")

# In points: an inch, the sizes of texts, what is left free around all and between labels and axes.
_POINTS, _MEDIUM, _SMALL, _MARGIN, _GAP = 72.0, 10.0, 8.33, 3.0, 7.0
# Names of a legend in one row.
_ACROSS = 4

# Text stays text, so that no font is needed to draw Chinese: whoever shows it has one.
_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "specbot",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
}
# To set one, be it to the same, has the whole of what draws in windows read.
_WINDOWS = "backend"


def stacked_bars(labels: list[str], series: Series, most: float) -> str:
    """An SVG element: horizontal bars, one a label from the top, each made of the series' values,
    to `most`.
    """
    from matplotlib.collections import PolyCollection

    size = 9.0, 0.9 + 0.34 * len(labels)
    with drawing(size) as figure:
        place = _place(labels, len(series), f"{most:g}", size)
        axes = figure.add_axes(place)
        left = [0.0] * len(labels)
        for (name, values), colour in zip(series, COLOURS, strict=False):
            right = [a + b for a, b in zip(left, values, strict=True)]
            # One thing to draw instead of one a bar, which take three times as long.
            boxes = [
                _box(n, *ends)
                for n, ends in enumerate(zip(left, right, strict=True))
                if ends[0] < ends[1]
            ]
            axes.add_collection(PolyCollection(boxes, facecolors=colour, label=name), autolim=False)
            left = right
        _named(axes, labels, -_GAP / (_POINTS * size[0] * place[2]))
        axes.set_ylim(len(labels) - 0.5, -0.5)
        axes.set_xlim(0, most)
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="upper center", ncols=_ACROSS, frameon=False, fontsize="small")
        return element(figure)


def _named(axes: Axes, labels: list[str], at: float) -> None:
    """The labels beside their rows, to end `at` this part of the width.

    A tick would be five things to draw.
    """
    axes.set_yticks([])
    across = axes.get_yaxis_transform()
    for row, label in enumerate(labels):
        axes.text(
            at, row, label, ha="right", va="center_baseline", transform=across, parse_math=False
        )


def _place(
    labels: list[str], kinds: int, last: str, size: tuple[float, float]
) -> tuple[float, float, float, float]:
    """Left, bottom, width and height of the axes in a figure of `size` inches, as parts of it.

    Around them there is room for the labels, for half of the `last` number under them and for a
    legend of so many `kinds`; to have that found out by drawing takes half as long as the whole
    picture.
    """
    wide, high = (_POINTS * inches for inches in size)
    widths = _widths(set(last).union(*labels))
    left = _MARGIN + max((sum(widths[c] for c in label) for label in labels), default=0.0) + _GAP
    right = sum(widths[c] for c in last) / 2 + _MARGIN
    top = 3 * _MARGIN + (0.3 + 1.5 * ceil(kinds / _ACROSS)) * _SMALL
    bottom = _MARGIN + _GAP + _MEDIUM
    return left / wide, bottom / high, 1 - (left + right) / wide, 1 - (top + bottom) / high


def _widths(letters: Iterable[str]) -> dict[str, float]:
    """Of letters of medium size in a `drawing`, in points.

    Those of each text would be looked up again for each.
    """
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=_MEDIUM)
    return {
        c: text_to_path.get_text_width_height_descent(c, font, ismath=False)[0] for c in letters
    }


def _box(row: int, left: float, right: float) -> list[tuple[float, float]]:
    above, below = row - 0.35, row + 0.35
    return [(left, above), (right, above), (right, below), (left, below)]


@contextmanager
def drawing(size: tuple[float, float], **given: Any) -> Iterator[Figure]:
    """A figure of `size` inches, to be drawn and written inside the context; `given` is for
    `Figure`. It looks as it does everywhere: a `matplotlibrc`, be it in the folder at hand, changes
    nothing.
    """
    import matplotlib
    from matplotlib.figure import Figure

    plain = {name: value for name, value in matplotlib.rcParamsDefault.items() if name != _WINDOWS}
    with matplotlib.rc_context(plain | _STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        yield Figure(figsize=size, **given)


def svg(figure: Figure) -> str:
    """The whole SVG file of a figure, without a date or generator."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    out, canvas = io.StringIO(), cast(Any, FigureCanvasSVG(figure))
    # `Figure.savefig` draws everything once more before.
    canvas.print_svg(out, metadata={"Date": None, "Creator": None})
    return out.getvalue()


def element(figure: Figure) -> str:
    """The SVG element of a figure, on whatever it is laid."""
    for patch in (figure.patch, *(axes.patch for axes in figure.axes)):
        patch.set_visible(False)
    bare = re.sub(r"<metadata>.*?</metadata>", "", svg(figure), flags=re.S)
    return bare[bare.index("<svg") :].strip()
