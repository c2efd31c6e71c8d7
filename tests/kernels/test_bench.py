"""The bench prints no speed of an op whose tests were not green in the same run."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernels.bench import gate, report, run
from kernels.bench.gate import Outcome, run_tests
from kernels.bench.workload import Call, Workload

DEVICE_KEY = {"gpu": "a GPU", "torch": "2", "triton": "3", "cuda": "13"}


def never(_set: int) -> dict[str, Call]:
    raise AssertionError("a refused workload was built")


def test_a_workload_of_an_op_that_is_not_green_is_neither_built_nor_timed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run, "copy_bandwidth", lambda: 4e12)
    monkeypatch.setattr(run, "device_key", lambda: DEVICE_KEY)
    red = Outcome("accept", False, 3, 1, 0, 1.0, "test_rows: assert 1 == 2")
    chosen = [Workload("rows", "accept", 8, never), Workload("tokens", "ngram", 8, never)]
    results = run.run_bench(chosen, {"accept": red}, compiled=True)
    assert results["workloads"] == [
        {"name": "rows", "op": "accept", "refused": "tests not green: test_rows: assert 1 == 2"},
        {"name": "tokens", "op": "ngram", "refused": "tests not green: its tests were not run"},
    ]
    assert "| rows | refused: tests not green: test_rows: assert 1 == 2 |" in report.table(results)
    assert "| accept | 3 | 1 | 0 |" in report.tests_table(results, 300)


def test_the_gate_runs_the_tests_and_says_what_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "tests" / "kernels"
    folder.mkdir(parents=True)
    (folder / "test_accept.py").write_text(
        "def test_rows():\n    assert 1 == 2, 'rows'\n\ndef test_ids():\n    pass\n"
    )
    (folder / "test_ngram.py").write_text(
        "import os\n\ndef test_budget():\n    assert os.environ['KERNEL_EXAMPLES'] == '7'\n"
    )
    (folder / "test_message.py").write_text(
        "import pytest\n\n@pytest.mark.skip\ndef test_pack():\n    pass\n"
    )
    monkeypatch.setattr(gate, "ROOT", tmp_path)
    found = run_tests(["accept", "ngram", "message", "schedule"], examples=7, jobs=1)
    assert {op: (o.green, o.passed, o.failed, o.skipped) for op, o in found.items()} == {
        "accept": (False, 1, 1, 0),
        "ngram": (True, 1, 0, 0),
        "message": (False, 0, 0, 1),  # nothing ran
        "schedule": (False, 0, 0, 0),
    }
    assert found["accept"].said.startswith("test_rows: AssertionError: rows")
