"""Cases that end their process: what is said of those behind them in the same file."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.device.tests import SanitizerError, sanitizer_error
from tests.device import fixture_repo
from tests.device.test_command import needs_compiler, report_of, run_device

_TEST = """
import numpy as np
import paddle
import pytest

from engine.ops.gpu import fragile


@pytest.mark.parametrize("size", [8, 3, 9, 3, 10])
def test_size(size):
    values = paddle.to_tensor(np.arange(size, dtype="int32"))
    fragile(values)
    assert values.tolist() == np.arange(size).tolist()
"""
_DIES_OF_3 = "if (n == 3) *(volatile int*)8 = 1;"


def write_fragile(folder: Path, comparison: str) -> None:
    """An op that no process survives with three values, and its test; what it does beside that is
    up to `comparison`."""
    body = f"{_DIES_OF_3} if (threadIdx.x {comparison} n) values[threadIdx.x] += n / 11;"
    source = folder / fixture_repo.OPS / "fragile.cu"
    fixture_repo.write_op(folder, source, "fragile", body)
    (folder / "tests/test_fragile.py").write_text(_TEST)


@needs_compiler
def test_what_stands_behind_a_case_that_dies(cache: Path, tmp_path: Path) -> None:
    fixture_repo.write_ops(tmp_path, 0, [])
    write_fragile(tmp_path, "<")
    base = fixture_repo.commit(tmp_path, "base")
    write_fragile(tmp_path, "<=")
    head = fixture_repo.commit(tmp_path, "head")
    arguments = ("--repo", str(tmp_path), "--base", base, "--head", head, "--format", "json")
    report = report_of(run_device(cache, "compare", *arguments))
    cases = {case["test"].rpartition("::")[2]: case for case in report["tests"]["cases"]}
    assert {name: (case["base"], case["outcome"]) for name, case in cases.items()} == {
        "test_size[8]": ("passed", "passed"),
        "test_size[3_0]": ("failed", "failed"),
        "test_size[9]": ("passed", "passed"),
        "test_size[3_1]": ("failed", "failed"),
        "test_size[10]": ("passed", "passed"),
    }
    # What both die of is known; the error behind it is the change's.
    [finding] = report["findings"]
    assert finding["rule"] == "device.sanitizer"
    assert "heap-buffer-overflow" in finding["message"]["en"]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "SEGV on unknown address 0x000000000002 (pc 0x7f81 bp 0x7f81 sp 0x6290 T0)\n"
            "    #0 0x7f81 in void add<int, 4>(int*, int) ops/add.cu:7",
            SanitizerError("SEGV in void add<int, 4>", "ops/add.cu", 7),
        ),
        (
            "heap-buffer-overflow on address 0x6020 at pc 0x7f3c\n"
            "    #0 0x7f81 in emulator::run(int) /home/emulator/run.h:3\n"
            "    #1 0x7f81 in main ops/add.cu:9:5",
            SanitizerError("heap-buffer-overflow in main", "ops/add.cu", 9),
        ),
        ("stack-overflow on address 0x7ffc (pc 0x1)", SanitizerError("stack-overflow", "", 0)),
    ],
)
def test_what_a_sanitizer_saw_is_the_same_each_time(said: str, told: SanitizerError) -> None:
    assert sanitizer_error(f"noise\n==12==ERROR: AddressSanitizer: {said}\n") == told
