"""Pictures as SVG, the same bytes for the same numbers. The numbers always stand in a table beside them."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Series = Sequence[tuple[str, Sequence[float]]]
# What draws as `stacked_bars` does.
Draw = Callable[[list[str], Series, float], str]

# Okabe and Ito's colours, told apart by people who see fewer.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")


# Text stays text, so that no font is needed to draw Chinese: whoever shows it has one.
_STYLE: dict[Any, Any] = {"svg.hashsalt": "specbot", "svg.fonttype": "none", "font.family": "sans-serif"}
# To set one, be it to the same, has the whole of what draws in windows read.
_WINDOWS = "backend"


def stacked_bars(labels: list[str], series: Series, most: float) -> str:
    """An SVG element: horizontal bars, one a label from the top, each made of the series' values, to `most`."""
    from matplotlib.collections import PolyCollection

    with drawing((9, 0.9 + 0.34 * len(labels)), layout="constrained") as figure:
        axes = figure.subplots()
        left = [0.0] * len(labels)
        for (name, values), colour in zip(series, COLOURS, strict=False):
            right = [a + b for a, b in zip(left, values, strict=True)]
            # One thing to draw instead of one a bar, which take three times as long.
            boxes = [_box(n, *ends) for n, ends in enumerate(zip(left, right, strict=True)) if ends[0] < ends[1]]
            axes.add_collection(PolyCollection(boxes, facecolors=colour, label=name), autolim=False)
            left = right
        axes.set_yticks(range(len(labels)), labels)
        axes.set_ylim(len(labels) - 0.5, -0.5)
        axes.set_xlim(0, most)
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside upper center", ncols=4, frameon=False, fontsize="small")
        return element(figure)


def _box(row: int, left: float, right: float) -> list[tuple[float, float]]:
    above, below = row - 0.35, row + 0.35
    return [(left, above), (right, above), (right, below), (left, below)]


@contextmanager
def drawing(size: tuple[float, float], **given: Any) -> Iterator[Figure]:
    """A figure of `size` inches, to be drawn and written inside the context; `given` is for `Figure`. It looks as it
    does everywhere: a `matplotlibrc`, be it in the folder at hand, changes nothing."""
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
