"""The roofline on the tab of kernels: drawn from what a run measured, left out where it did not."""

from __future__ import annotations

import re

from bot.reports import html
from bot.reports.blocks import Picture
from bot.reports.roofline import roofline
from bot.web import tab_html
from tests.web import reports


def test_each_right_case_stands_under_the_time_of_a_copy():
    """40 MB take 13.33 us at 3 TB/s; the case that crashes has no point."""
    made = tab_html.kernels_tab(reports.kernels("a word"))
    shown = made["en"][made["en"].index("How near to the memory") :]
    assert "3.00 TB/s" in shown and "<img" in shown
    rows = re.findall(r"<tr>.*?</tr>", shown, re.S)[1:]
    cells = [re.sub(r"<[^>]+>", " ", row).split() for row in rows]
    assert [row[-5:-3] for row in cells] == [["40,000,000", "13.33"]] * 3
    shares = [int(row[-1].rstrip("%")) for row in cells]
    assert shares[1] < shares[0] < shares[2] and "mixed" not in shown
    assert "离显存带宽有多远" in made["zh"] and "拷贝" in made["zh"]


def test_a_run_that_did_not_measure_it_has_a_sentence_instead():
    shown = tab_html.kernels_tab(reports.kernels("a word", bandwidth=None))["en"]
    assert "so there is no roofline." in shown and "TB/s" not in shown


def test_its_axes_have_plain_numbers():
    """Matplotlib writes 2 × 10⁷ and 2 × 10¹."""
    (picture, *_) = [
        b
        for b in roofline(reports.kernels("a word"), html.words_for("en"))
        if isinstance(b, Picture)
    ]
    written = re.findall(r"<text[^>]*>([^<]+)</text>", picture.svg)
    assert {"20\N{NO-BREAK SPACE}M", "50\N{NO-BREAK SPACE}M", "10", "20"} <= set(written)
    assert not any("10^" in text or "mathdefault" in text for text in written)
