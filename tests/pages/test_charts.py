"""Pictures look the same for everybody."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from bot.reports.charts import stacked_bars

ROOT = Path(__file__).resolve().parents[2]
DRAW = "from bot.reports.charts import stacked_bars; print(stacked_bars(['a.py'], [('size', [2.0])], 10))"


def test_nobodys_settings_change_a_picture(tmp_path: Path):
    """Matplotlib reads the `matplotlibrc` of the folder that it is started in, which may be a stranger's."""
    (tmp_path / "matplotlibrc").write_text("xtick.color: red\naxes.linewidth: 9\nfont.size: 30\n")
    command = [sys.executable, "-c", DRAW]
    drawn = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert drawn.stdout.strip() == stacked_bars(["a.py"], [("size", [2.0])], 10), drawn.stderr


def test_bars_stand_one_after_another_and_an_empty_one_is_none():
    drawn = stacked_bars(["a.py", "b.py"], [("size", [2.0, 0.0]), ("callers", [3.0, 4.0])], 10)
    parts = drawn.split('id="matplotlib.axis')[0].split('id="PolyCollection')[1:]
    boxes = [re.findall(r"<path d=\"M ([\d.]+) [\d.]+ \nL ([\d.]+)", part) for part in parts]
    assert [len(b) for b in boxes] == [1, 2]
    ((start, end),), ((after, _), (first, _)) = boxes
    assert start == first and end == after
