"""Pictures as SVG, the same bytes for the same numbers. The numbers always stand in a table beside them."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by people who see fewer.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")


# Text stays text, so that no font is needed to draw Chinese: whoever shows it has one.
_STYLE: dict[Any, Any] = {"svg.hashsalt": "specbot", "svg.fonttype": "none", "font.family": "sans-serif"}


def stacked_bars(labels: Sequence[str], series: Sequence[tuple[str, Sequence[float]]], most: float) -> str:
    """An SVG element: horizontal bars, one a label from the top, each made of the series' values, to `most`."""
    with drawing((9, 0.9 + 0.34 * len(labels)), layout="constrained") as figure:
        axes = figure.subplots()
        left = [0.0] * len(labels)
        for (name, values), colour in zip(series, COLOURS, strict=False):
            axes.barh(range(len(labels)), values, left=left, label=name, color=colour, height=0.7)
            left = [a + b for a, b in zip(left, values, strict=True)]
        axes.set_yticks(range(len(labels)), labels)
        axes.invert_yaxis()
        axes.set_xlim(0, most)
        axes.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside upper center", ncols=4, frameon=False, fontsize="small")
        return element(figure)


@contextmanager
def drawing(size: tuple[float, float], **given: Any) -> Iterator[Figure]:
    """A figure of `size` inches, to be drawn and saved inside the context; `given` is for `Figure`."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        yield Figure(figsize=size, **given)


def svg(figure: Figure, **given: Any) -> str:
    """The whole SVG file of a figure, without a date or generator; `given` is for `Figure.savefig`."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None}, **given)
    return out.getvalue()


def element(figure: Figure) -> str:
    """The SVG element of a figure, on whatever it is laid."""
    bare = re.sub(r"<metadata>.*?</metadata>", "", svg(figure, transparent=True), flags=re.S)
    return bare[bare.index("<svg") :].strip()
