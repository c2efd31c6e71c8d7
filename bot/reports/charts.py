"""Pictures as SVG, the same bytes for the same numbers. The numbers always stand in a table beside them."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by people who see fewer.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")


def stacked_bars(labels: Sequence[str], series: Sequence[tuple[str, Sequence[float]]], most: float) -> str:
    """Horizontal bars, one a label from the top, each made of the series' values; the axis ends at `most`."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.hashsalt": "specbot", "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure = Figure(figsize=(9, 0.9 + 0.34 * len(labels)), layout="constrained")
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
        return svg(figure)


def svg(figure: Figure) -> str:
    """A figure of matplotlib as an SVG element without date, generator or document type."""
    out = io.StringIO()
    with warnings.catch_warnings():
        # The text stays text in the file; whoever shows it has the font.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = re.sub(r"<metadata>.*?</metadata>", "", out.getvalue(), flags=re.S)
    return text[text.index("<svg") :].strip()
