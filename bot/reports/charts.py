"""Pictures as SVG, the same bytes for the same numbers.

The numbers always stand in a table beside them.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Series = Sequence[tuple[str, Sequence[float]]]

# Okabe and Ito's colours, told apart by people who see fewer.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")

# Names of a legend in one row.
_ACROSS = 4

# Text stays text, so that no font is needed to draw Chinese: whoever shows it has one.
_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "specbot",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
}
# Setting it, even to what it is, imports everything that draws in windows.
_WINDOWS = "backend"


def stacked_bars(labels: list[str], series: Series, most: float) -> str:
    """Horizontal bars as an SVG element: one for each label, from the top.

    A bar is made of one value of each series, one after another; the axis ends at `most`.
    """
    rows = range(len(labels))
    with drawing((9.0, 0.9 + 0.34 * len(labels)), layout="constrained") as figure:
        axes = figure.subplots()
        left = [0.0] * len(labels)
        for (name, values), colour in zip(series, COLOURS, strict=False):
            axes.barh(rows, values, left=left, height=0.7, color=colour, label=name)
            left = [start + value for start, value in zip(left, values, strict=True)]
        axes.set_yticks(rows, labels, parse_math=False)
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(len(labels) - 0.5, -0.5)
        axes.set_xlim(0, most)
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside upper center", ncols=_ACROSS, frameon=False, fontsize="small")
        return element(figure)


def arrows(left: list[str], right: list[str], pairs: Sequence[tuple[int, int]]) -> str:
    """Two columns of labels as an SVG element, and an arrow for each pair of places in them."""
    rows = max(len(left), len(right))
    with drawing((9.0, 0.3 + 0.3 * rows), layout="constrained") as figure:
        axes = figure.subplots()
        axes.set_axis_off()
        axes.set_xlim(0, 1)
        axes.set_ylim(rows - 0.5, -0.5)
        heights = _spread(len(left), rows), _spread(len(right), rows)
        for label, height in zip(left, heights[0], strict=True):
            axes.text(
                0.4, height, label, ha="right", va="center", fontsize="small", parse_math=False
            )
        for label, height in zip(right, heights[1], strict=True):
            axes.text(
                0.6, height, label, ha="left", va="center", fontsize="small", parse_math=False
            )
        for start, end in pairs:
            colour = COLOURS[end % len(COLOURS)]
            axes.annotate(
                "",
                xy=(0.595, heights[1][end]),
                xytext=(0.405, heights[0][start]),
                arrowprops={"arrowstyle": "->", "color": colour, "linewidth": 1.0},
            )
        return element(figure)


def path_label(path: str, longest: int = 52) -> str:
    """The end of a path that is too long for a picture."""
    return path if len(path) < longest else "…" + path[1 - longest :]


def _spread(count: int, rows: int) -> list[float]:
    """The heights of `count` labels over so many rows, evenly."""
    return [(place + 0.5) * rows / count - 0.5 for place in range(count)]


@contextmanager
def drawing(size: tuple[float, float], **given: Any) -> Iterator[Figure]:
    """A figure of `size` inches, to be drawn and written inside the context.

    `given` is for `Figure`. A `matplotlibrc` changes nothing, not even one in the current folder:
    that may be a stranger's.
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
    # `Figure.savefig` would draw everything twice.
    canvas.print_svg(out, metadata={"Date": None, "Creator": None})
    return out.getvalue()


def element(figure: Figure) -> str:
    """The SVG element of a figure, on whatever it is laid."""
    for patch in (figure.patch, *(axes.patch for axes in figure.axes)):
        patch.set_visible(False)
    bare = re.sub(r"<metadata>.*?</metadata>", "", svg(figure), flags=re.S)
    return bare[bare.index("<svg") :].strip()
