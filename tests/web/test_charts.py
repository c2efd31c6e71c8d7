"""Pictures look the same for everybody."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bot.reports.charts import COLOURS, stacked_bars
from tests.web import reports

ROOT = Path(__file__).resolve().parents[2]
DRAW = "from bot.reports.charts import stacked_bars; print(stacked_bars(['a.py'], [('size', [2.0])], 10))"


def test_nobodys_settings_change_a_picture(tmp_path: Path):
    """Matplotlib reads the `matplotlibrc` of the folder that it is started in, which may be a
    stranger's."""
    (tmp_path / "matplotlibrc").write_text("xtick.color: red\naxes.linewidth: 9\nfont.size: 30\n")
    command = [sys.executable, "-c", DRAW]
    drawn = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert drawn.stdout.strip() == stacked_bars(["a.py"], [("size", [2.0])], 10), drawn.stderr


def test_bars_stand_one_after_another():
    drawn = stacked_bars(["a.py", "b.py"], [("size", [2.0, 0.0]), ("callers", [3.0, 4.0])], 10)
    size_a, size_b = bars(drawn, COLOURS[0])
    callers_a, callers_b = bars(drawn, COLOURS[1])
    assert size_a[0] < size_a[1] == callers_a[0] < callers_a[1]
    assert size_b[0] == size_b[1] == callers_b[0] == size_a[0]


def test_a_strangers_dollars_are_no_formula():
    """Between two of them the plotting library reads one, and fails where it knows no such sign."""
    name = "a$\\unheard$b"
    assert name in stacked_bars([name], [("size", [2.0])], 10)
    for bodies, _ in reports.made(name).values():
        assert all(bodies.values())


@pytest.mark.parametrize("label", ["W" * 52, "i" * 52, "i"])
def test_there_is_room_for_the_longest_label(label: str):
    drawn = stacked_bars([label, "a.py"], [("size", [2.0, 1.0])], 10)
    first = bars(drawn, COLOURS[0])[0]
    end = re.search(r'text-anchor: end" x="([\d.]+)"', drawn)
    assert end and 2 < first[0] - float(end[1]) < 12


def bars(drawn: str, colour: str) -> list[tuple[float, float]]:
    """Left and right end of each bar of one colour, from the top; the last is the legend's."""
    shape = re.compile(r'<path d="M ([\d.]+) [\d.]+ \nL ([\d.]+) [^"]*" [^>]*fill: (#\w+)')
    ends = [(float(m[1]), float(m[2])) for m in shape.finditer(drawn) if m[3] == colour.lower()]
    return ends[:-1]
