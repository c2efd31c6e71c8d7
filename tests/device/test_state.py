"""Ops that keep something from call to call, as the state of random numbers."""

from __future__ import annotations

from pathlib import Path

from tests.device import fixture_repo
from tests.device.test_command import needs_compiler, report_of, run_device

_SIZE = "  int n = static_cast<int>(values.shape()[0]);\n"
_COUNTS = "  static int calls = 0;\n  ++calls;\n"
_LAUNCH = "(const_cast<int*>(values.data<int>()), n);"
_PARAMETERS = "(int* values, int n)"
# The last number has what is counted; where two neighbours are equal, the head's has one more.
_ADDS = "if (threadIdx.x == 0) values[n - 1] += calls{};"
_TEST = """
import numpy as np
import paddle

from engine.ops.gpu import counts


def test_counts():
    numbers = np.array([0, 2, 0, 3, 4, 5, 6, 7], "int32")
    for call in (1, 2):
        values = paddle.to_tensor(numbers)
        counts(values)
        assert values.tolist() == [*numbers[:7].tolist(), 7 + call]
"""


def write_counting(folder: Path, more: str) -> None:
    """An op that adds how often it was called, and its test."""
    source = folder / fixture_repo.OPS / "counts.cu"
    fixture_repo.write_op(folder, source, "counts", _ADDS.format(more))
    text = source.read_text().replace(_SIZE, _SIZE + _COUNTS)
    text = text.replace(_LAUNCH, _LAUNCH.replace("n)", "n, calls)"))
    source.write_text(text.replace(_PARAMETERS, _PARAMETERS.replace("n)", "n, int calls)")))
    (folder / "tests/test_counts.py").write_text(_TEST)


@needs_compiler
def test_what_is_kept_is_no_race_and_hides_nothing(cache: Path, tmp_path: Path) -> None:
    fixture_repo.write_ops(tmp_path, 0, [])
    write_counting(tmp_path, "")
    base = fixture_repo.commit(tmp_path, "base")
    write_counting(tmp_path, " + (values[1] == values[2])")
    head = fixture_repo.commit(tmp_path, "head")
    arguments = ["--repo", str(tmp_path), "--head", head, "--format", "json"]
    alone = report_of(run_device(cache, "compare", *arguments))
    assert alone["findings"] == []
    sides = ("--base", base, "--title", "Refactor counts")
    report = report_of(run_device(cache, "compare", *arguments, *sides))
    [finding] = report["findings"]
    assert (finding["rule"], finding["severity"]) == ("device.changed-result", "question")
