"""Tests that import ops of several sources: what else is built for them, and what is said if not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernels.emulator.needs import needs_of
from tests.device import fixture_repo
from tests.device.test_command import needs_compiler, report_of, run_device

_TEST = """
import numpy as np
import paddle

from engine.ops.gpu import add_one, OTHER


def test_both():
    values = paddle.to_tensor(np.arange(8, dtype="int32"))
    add_one(values)
    OTHER(values)
    assert values.tolist() == np.arange(1, 9)[::STEP].tolist()
"""
_DECLARED = "void elsewhere(int n);\n"


def write_both(folder: Path, other: str, step: int = 1) -> None:
    """A test of `add_one` and of another op in a source of its own."""
    (folder / "tests").mkdir(exist_ok=True)
    text = _TEST.replace("OTHER", other).replace("STEP", str(step))
    (folder / "tests/test_both.py").write_text(text)


def case_of_both(report: dict[str, Any]) -> dict[str, Any]:
    [case] = [case for case in report["tests"]["cases"] if "test_both.py" in case["test"]]
    return dict(case)


@needs_compiler
def test_what_a_test_imports_besides_is_built_once(cache: Path, tmp_path: Path) -> None:
    fixture_repo.write_ops(tmp_path, 0, ["add_one", "mirror", "keep"])
    write_both(tmp_path, "mirror", -1)
    base = fixture_repo.commit(tmp_path, "base")
    # The head's own test needs nothing: base's judges it nevertheless.
    fixture_repo.write_ops(tmp_path, 1, ["add_one"])
    (tmp_path / "tests/test_both.py").unlink()
    head = fixture_repo.commit(tmp_path, "head")
    arguments = ("--repo", str(tmp_path), "--base", base, "--head", head, "--format", "json")
    report = report_of(run_device(cache, "test", *arguments))
    assert [Path(path).name for path in report["sources"]["compiled"]] == ["add_one.cu"]
    assert [Path(path).name for path in report["sources"]["for_tests"]] == ["mirror.cu"]
    case = case_of_both(report)
    assert (case["base"], case["outcome"]) == ("passed", "failed")
    assert "device.test-fails" in {finding["rule"] for finding in report["findings"]}
    again = report_of(run_device(cache, "test", *arguments))
    assert again["sources"]["compiled_now"] == []


@needs_compiler
def test_why_what_a_test_imports_besides_is_not_there(cache: Path, tmp_path: Path) -> None:
    fixture_repo.write_ops(tmp_path, 0, ["add_one"])
    fixture_repo.write_ops(tmp_path, 1, ["tensor_core"])
    body = "if (threadIdx.x == 0) elsewhere(n);"
    unlinked = tmp_path / fixture_repo.OPS / "unlinked.cu"
    fixture_repo.write_op(tmp_path, unlinked, "unlinked", body, prefix=_DECLARED)
    reasons = {
        "tensor_core": "PTX: wgmma.fence",
        "unlinked": "not loaded: undefined symbol: ",
        "nowhere": "no source that was built registers it",
    }
    for other, why in reasons.items():
        write_both(tmp_path, other)
        fixture_repo.commit(tmp_path, other)
        arguments = ("--repo", str(tmp_path), "--paths", "*/add_one.cu", "--format", "json")
        report = report_of(run_device(cache, "test", *arguments))
        case = case_of_both(report)
        assert case["outcome"] == "not_run"
        assert f"op {other}: " in case["why"]
        assert why in case["why"]
        assert case["seconds"] < 60


@needs_compiler
def test_an_op_that_cannot_be_loaded_fails_by_that(cache: Path, tmp_path: Path) -> None:
    fixture_repo.write_ops(tmp_path, 0, [])
    unlinked = tmp_path / fixture_repo.OPS / "unlinked.cu"
    body = "if (threadIdx.x == 0) elsewhere(n);"
    fixture_repo.write_op(tmp_path, unlinked, "unlinked", body, prefix=_DECLARED)
    fixture_repo.commit(tmp_path, "head")
    report = report_of(run_device(cache, "test", "--repo", str(tmp_path), "--format", "json"))
    [case] = report["tests"]["cases"]
    assert case["outcome"] == "failed"
    assert case["why"].startswith("not loaded: undefined symbol: ")


def test_which_source_a_name_is_from(tmp_path: Path) -> None:
    fixture_repo.write_ops(tmp_path, 0, ["mirror", "keep"])
    gpu = tmp_path / fixture_repo.OPS
    other = tmp_path / "custom_ops/a_xpu_ops/mirror.cu"
    other.parent.mkdir()
    other.write_text((gpu / "deep/mirror.cu").read_text())
    (gpu / "count.cu").write_text("int CountTokens(int n) {\n  return n;\n}\n")
    binding = 'PYBIND11_MODULE(ops, m) {\n  m.def("count", &CountTokens);\n}\n'
    (gpu / "bind.cc").write_text(binding)
    (tmp_path / "tests").mkdir(exist_ok=True)
    text = "from engine.ops.gpu import add_one, mirror, count, unknown\nfrom numpy import keep\n"
    (tmp_path / "tests/test_all.py").write_text(text)
    (tmp_path / "tests/test_one.py").write_text("from engine.ops.gpu import add_one\n")
    needs = needs_of(tmp_path, {f"tests/test_{name}.py": ["add_one"] for name in ("all", "one")})
    places = {
        "mirror": f"{fixture_repo.OPS}/deep/mirror.cu",
        "count": f"{fixture_repo.OPS}/count.cu",
    }
    assert needs == {"tests/test_all.py": places}


@needs_compiler
def test_what_the_linker_alone_needs_is_built_too(cache: Path, tmp_path: Path) -> None:
    fixture_repo.write_ops(tmp_path, 0, ["add_one", "mirror"])
    [source] = tmp_path.rglob("add_one.cu")
    size = "  int n = static_cast<int>(values.shape()[0]);\n"
    text = source.read_text().replace(size, size + "  elsewhere(n);\n")
    source.write_text(text.replace("__global__", f"{_DECLARED}__global__", 1))
    defined = "void further(int);\nvoid elsewhere(int n) { further(n); }\n"
    (source.parent / "elsewhere.cu").write_text(defined)
    (source.parent / "further.cu").write_text("void further(int) {}\n")
    other = tmp_path / "ops/other_gpu_ops"
    other.mkdir(parents=True)
    (other / "elsewhere.cu").write_text("void elsewhere(int n) { int no; }\n")
    head = fixture_repo.commit(tmp_path, "head")
    arguments = ("--repo", str(tmp_path), "--head", head, "--format", "json")
    report = report_of(run_device(cache, "test", *arguments, "--paths", "*add_one.cu"))
    for_tests = report["sources"]["for_tests"]
    assert [Path(path).name for path in for_tests] == ["elsewhere.cu", "further.cu"]
    assert all(Path(path).parent == source.relative_to(tmp_path).parent for path in for_tests)
    [case] = [case for case in report["tests"]["cases"] if "test_add_one" in case["test"]]
    assert case["outcome"] == "passed"
