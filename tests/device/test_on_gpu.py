"""The comparison of the emulator with a GPU, as far as it goes without one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from kernels.emulator.library import HostTensor
from kernels.emulator.replaying import Outcome, load_outcome, save_outcome
from tests.device.fixture_repo import OPS, commit, write_ops
from tests.device.on_gpu import compare, record
from tests.device.on_gpu.compare import BOTH_FAIL, BY_ORDER, DIFFERS, ROUNDED, SAME, judge


def gave(*numbers: float) -> Outcome:
    return Outcome([HostTensor(np.array(numbers, np.float32), "float32")])


FAILED = Outcome([], "an error")
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="no compiler")


@pytest.mark.parametrize(
    ("gpu", "emulated", "kind"),
    [
        (gave(1.0, np.nan), [gave(1.0, np.nan)], SAME),
        (gave(1.0), [gave(1.0000001)], ROUNDED),
        (gave(2.0), [gave(1.0), gave(2.0)], BY_ORDER),
        (gave(3.0), [gave(1.0), gave(2.0)], BY_ORDER),
        (gave(2.0), [gave(1.0), gave(1.0)], DIFFERS),
        (gave(1.0, 2.0), [gave(1.0)], DIFFERS),
        (FAILED, [FAILED], BOTH_FAIL),
        (FAILED, [gave(1.0)], DIFFERS),
        (gave(1.0), [FAILED], DIFFERS),
    ],
)
def test_how_both_agree(gpu: Outcome, emulated: list[Outcome], kind: str) -> None:
    assert judge(gpu, emulated)[0] == kind


@pytest.fixture
def recorded(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the first step writes of a repository with two ops."""
    write_ops(tmp_path / "repo", 0, ["add_one", "neighbours"])
    commit(tmp_path / "repo", "ops")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    record.main([str(tmp_path / "out"), "--repo", str(tmp_path / "repo"), "--varied", "40"])
    return tmp_path / "out"


@needs_compiler
def test_each_call_is_compared(recorded: Path) -> None:
    """A GPU that gives what the emulator gives, but for one call."""
    assert list((recorded / "calls" / "varied").glob("neighbours-*.npz"))
    shutil.copytree(recorded / "emulated-0", recorded / "gpu-0")
    calls = sorted((recorded / "gpu-0").iterdir())
    other = load_outcome(calls[0])
    assert other is not None
    other.tensors[0].array[...] += 1
    save_outcome(calls[0], other)
    compare.main([str(recorded), "--device", "none", "-o", str(recorded / "result.json")])
    result = json.loads((recorded / "result.json").read_text())
    # Of the inputs that are made some end the process, on both sides.
    counts = result["calls"]
    assert counts[DIFFERS] == 1 and counts[SAME] > 2
    assert counts[DIFFERS] + counts[SAME] + counts[BOTH_FAIL] == len(calls)
    assert calls[0].name in result["ops"]["add_one"]["told"][0]


@needs_compiler
def test_sources_are_as_they_are_in_the_repository(recorded: Path) -> None:
    """With what they include, and what registers their ops."""
    described = json.loads((recorded / "sources" / "sources.json").read_text())
    assert described == {
        str(number): {"source": f"{OPS}/deep/{op}.cu", "ops": [op], "switches": []}
        for number, op in enumerate(("add_one", "neighbours"))
    }
    written = recorded / "sources" / "0" / OPS
    assert (
        "add_one_kernel<<<1, 64, 0, values.stream()>>>" in (written / "deep/add_one.cu").read_text()
    )
    assert (written / "helper.h").is_file()
