"""The case behind all this: a baseline that is no longer equal after the top-k width changed."""

from __future__ import annotations

import json

import pytest

from bot.cli.main import main
from checks.logprobs.compare import ComparisonVerdict
from tests.logprobs.widths import write


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write(tmp_path_factory.mktemp("widths"))


def verdict(base, head, folder) -> tuple[int, str]:
    out = folder / "verdict.json"
    code = main(["logprobs", "diff", str(base), str(head), "--format", "json", "-o", str(out)])
    return code, json.loads(out.read_text())["verdict"]


def test_another_width_is_told_from_a_broken_one(files, tmp_path):
    base, head, broken = files
    assert verdict(base, head, tmp_path) == (0, ComparisonVerdict.COLUMNS_ONLY)
    assert verdict(head, base, tmp_path) == (0, ComparisonVerdict.COLUMNS_ONLY)
    assert verdict(base, broken, tmp_path)[0] == 1
    assert verdict(base, base, tmp_path) == (0, ComparisonVerdict.IDENTICAL)


def test_the_broken_one_is_a_regression_with_or_without_the_change_of_width(files, tmp_path):
    base, head, broken = files
    assert verdict(base, broken, tmp_path) == (1, ComparisonVerdict.REGRESSION)
    assert verdict(head, broken, tmp_path) == (1, ComparisonVerdict.REGRESSION)
