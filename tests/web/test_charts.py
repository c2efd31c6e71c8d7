"""Pictures look the same for everybody."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from bot.reports.charts import stacked_bars
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


def test_bars_stand_one_after_another_and_an_empty_one_is_none():
    drawn = stacked_bars(["a.py", "b.py"], [("size", [2.0, 0.0]), ("callers", [3.0, 4.0])], 10)
    parts = drawn.split('id="matplotlib.axis')[0].split('id="PolyCollection')[1:]
    boxes = [re.findall(r"<path d=\"M ([\d.]+) [\d.]+ \nL ([\d.]+)", part) for part in parts]
    assert [len(b) for b in boxes] == [1, 2]
    ((start, end),), ((after, _), (first, _)) = boxes
    assert start == first and end == after


def test_a_strangers_dollars_are_no_formula():
    """Between two of them the plotting library reads one, and fails where it knows no such sign."""
    name = "a$\\unheard$b"
    assert name in stacked_bars([name], [("size", [2.0])], 10)
    for bodies, _ in reports.made(name).values():
        assert all(bodies.values())


def test_there_is_room_for_the_longest_label():
    for label, width in (("W" * 52, 514), ("i" * 52, 144), ("i", 24)):
        drawn = stacked_bars([label, "a.py"], [("size", [2.0, 1.0])], 10)
        bars = re.search(r'd="M ([\d.]+) ', drawn.split('id="PolyCollection')[1])
        end = re.search(r'text-anchor: end" x="([\d.]+)"', drawn)
        assert bars and end and 5 < float(bars[1]) - float(end[1]) < 9
        assert width < float(end[1]) < width + 6
