"""Modules that a repository's C++ binds by pybind: who belongs to them, and their tests unmodified."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from bot.device.build import build_side
from bot.device.siblings import with_base
from bot.device.tests import TestPlan, run_files
from bot.device.workspace import Workspace, cache_folder
from kernels.emulator import importers
from kernels.emulator.extensions import (
    Extension,
    bind_by_given_name,
    built_modules,
    extensions_of,
)
from tests.device.test_command import needs_compiler

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="modules are compiled with torch's headers"
)

_HEADER = """
#pragma once
#define RUN(...) launch_scale(__VA_ARGS__)
template <typename T> void launch_scale(T* values, int n, float factor);
bool is_whole(float factor);
"""
_KERNEL = """
#include "scale.h"

template <typename T>
__global__ void scale_kernel(T* values, int n, float factor) {
  int place = blockIdx.x * blockDim.x + threadIdx.x;
  if (place < n) values[place] *= factor;
}

template <typename T>
void launch_scale(T* values, int n, float factor) {
  scale_kernel<<<(n + 31) / 32, 32>>>(values, n, factor);
}

template void launch_scale<float>(float*, int, float);
"""
_HOST = """
#include "scale.h"
bool is_whole(float factor) { return factor == static_cast<int>(factor); }
"""
_BINDING = """
// `torch/extension.h` has all of PyTorch, and costs a compiler half a minute.
#include <torch/csrc/utils/pybind.h>
#include "scale.h"

at::Tensor scaled(at::Tensor values, double factor) {
  TORCH_CHECK(values.is_cuda(), "not on the GPU");
  TORCH_CHECK(is_whole(factor), "a part of one");
  auto result = values.clone();
  RUN(result.data_ptr<float>(), result.numel(), factor);
  return result;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("scaled", &scaled, "each value times a factor");
}
"""
_SETUP = """
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

sources = ["csrc/binding.cpp", "csrc/check.cpp", "csrc/scale.cu"]
setup(
    name="engine",
    ext_modules=[CUDAExtension(name="engine._C", sources=sources)],
    cmdclass={"build_ext": BuildExtension},
)
"""
_ALONE = """
#include <torch/extension.h>

__global__ void last_kernel(const int* values, int n, int* last) {
  last[0] = values[n - 1];
}

torch::Tensor last(torch::Tensor values) {
  auto result = torch::empty({1}, values.options());
  last_kernel<<<1, 1>>>(values.data_ptr<int>(), values.numel(), result.data_ptr<int>());
  return result;
}

PYBIND11_MODULE(alone, m) {
  m.def("last", [](torch::Tensor values) { return last(values); });
}
"""
_ENGINE = """
import torch
from engine import _C


def scaled(values, factor):
    return _C.scaled(values, factor)
"""
_TEST = """
import pytest
import torch
from torch.utils.cpp_extension import load

from engine import scaled

# The same sources as those of `setup.py`: it is the same module.
loaded = load(name="anything", sources=["csrc/binding.cpp", "csrc/scale.cu"])


def test_scaled():
    values = torch.arange(40.0, device="cuda")
    assert torch.equal(scaled(values, 2.0), values + values)
    assert scaled(values, 3.0).shape == values.shape


def test_parts():
    with pytest.raises(RuntimeError, match="a part of one"):
        scaled(torch.zeros(3).cuda(), 0.5)


def test_loaded():
    assert loaded.scaled(torch.ones(2, device="cuda"), 4.0).tolist() == [4.0, 4.0]
"""
_TEST_ALONE = """
from pathlib import Path

import torch
from torch.utils.cpp_extension import load

alone = load(name="alone", sources=[str(Path(__file__).parent / "alone.cu")])


def test_last():
    assert alone.last(torch.arange(5, dtype=torch.int32, device="cuda")).item() == 4
"""


def write_repo(folder: Path) -> None:
    """A package whose module is built by `setup.py`, and its tests."""
    files = {
        "csrc/scale.h": _HEADER,
        "csrc/scale.cu": _KERNEL,
        "csrc/check.cpp": _HOST,
        "csrc/binding.cpp": _BINDING,
        "csrc/unused.cpp": "void unused() {}\n",
        "setup.py": _SETUP,
        "engine/__init__.py": _ENGINE,
        "tests/test_scaled.py": _TEST,
    }
    write_files(folder, files)


def write_alone(folder: Path) -> None:
    """A file that a test has built, beside it."""
    write_files(folder, {"jit/alone.cu": _ALONE, "jit/test_alone.py": _TEST_ALONE})


def write_files(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def extensions_by_name(folder: Path) -> dict[str, Extension]:
    return {extension.name: extension for extension in extensions_of(folder)}


def test_what_a_module_is_built_of(tmp_path: Path) -> None:
    write_repo(tmp_path)
    # A function of the same name, further away.
    write_files(tmp_path, {"other/check.cpp": _HOST})
    own = extensions_by_name(tmp_path)["_C"]
    assert own.members == ("csrc/binding.cpp", "csrc/check.cpp", "csrc/scale.cu")
    assert own.modules == ("engine._C",)
    assert own.ops_of("csrc/scale.cu") == ("_C.scaled",)


def test_a_source_that_binds_itself(tmp_path: Path) -> None:
    write_alone(tmp_path)
    own = extensions_by_name(tmp_path)["alone"]
    assert own.members == ("jit/alone.cu",)
    assert own.modules == ("alone",)
    assert own.ops_of("jit/alone.cu") == ("alone.last",)
    assert "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m)" in bind_by_given_name(_ALONE)
    assert bind_by_given_name(_KERNEL) == _KERNEL


def test_an_instance_in_another_file(tmp_path: Path) -> None:
    write_repo(tmp_path)
    template, _, instance = _KERNEL.partition("template void")
    (tmp_path / "csrc/scale.h").write_text(_HEADER + template.replace('#include "scale.h"', ""))
    (tmp_path / "csrc/scale.cu").write_text(f'#include "scale.h"\ntemplate void{instance}')
    assert "csrc/scale.cu" in extensions_by_name(tmp_path)["_C"].members


def test_functions_are_bound_in_another_file(tmp_path: Path) -> None:
    write_repo(tmp_path)
    binds = "#include <torch/extension.h>\nvoid bind_last(pybind11::module& m)"
    files = {
        "csrc/binding.cpp": f"{binds};\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{ bind_last(m); }}",
        "csrc/last.cpp": f'{binds} {{\n  m.def("whole", &is_whole);\n}}',
    }
    write_files(tmp_path, files)
    own = extensions_by_name(tmp_path)["_C"]
    assert own.members == ("csrc/binding.cpp", "csrc/check.cpp", "csrc/last.cpp")
    assert own.ops_of("csrc/check.cpp") == ("_C.whole",)


def test_the_names_that_a_build_file_gives() -> None:
    text = """
PACKAGE = "engine"
sources = ["./csrc/binding.cpp", "csrc/scale.cu"]
setup(ext_modules=[CUDAExtension(f"{PACKAGE}._C", sources), CppExtension(unknown, sources)])
"""
    assert list(built_modules(text)) == [("engine._C", ["csrc/binding.cpp", "csrc/scale.cu"])]


def test_a_test_comes_to_a_module_by_other_files(tmp_path: Path) -> None:
    write_repo(tmp_path)
    write_alone(tmp_path)
    files = {
        "tests/helpers.py": "from engine import scaled as scale\n",
        "tests/test_helped.py": "from tests.helpers import scale\n",
        # All of its functions, where none is named.
        "tests/test_all.py": "import engine._C as ops\nfor name in dir(ops): ...\n",
        "tests/test_far.py": 'from torch.utils import cpp_extension\ncpp_extension.load("alone.cu")\n',
    }
    write_files(tmp_path, files)
    found = importers.tests_of_extensions(tmp_path, extensions_of(tmp_path))
    assert found["tests/test_helped.py"] == {"_C.scaled"}
    assert found["tests/test_all.py"] == {"_C.scaled"}
    assert found["tests/test_far.py"] == {"alone.last"}


def test_which_tests_come_to_a_module(tmp_path: Path) -> None:
    write_repo(tmp_path)
    write_alone(tmp_path)
    (tmp_path / "tests/test_other.py").write_text("import torch\nscaled = last = 1\n")
    assert importers.tests_of_extensions(tmp_path, extensions_of(tmp_path)) == {
        "tests/test_scaled.py": {"_C.scaled"},
        "jit/test_alone.py": {"alone.last"},
    }


def test_paddles_modules_are_paddles(tmp_path: Path) -> None:
    (tmp_path / "ops.cc").write_text(_ALONE.replace("torch/extension.h", "paddle/extension.h"))
    assert extensions_of(tmp_path) == []


@needs_compiler
@needs_torch
def test_a_module_is_built_tested_and_compared(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one test, and with the parts of `compare` alone: PyTorch is dear to compile and import."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    workspace = Workspace(tmp_path, cache_folder())
    for side in ("base", "head"):
        write_repo(workspace.side(side))
    other = _KERNEL.replace("*= factor", "= values[place] * factor + (factor == 3)")
    (workspace.side("head") / "csrc/scale.cu").write_text(other)
    base, head = (build_side(workspace, side, ["csrc/scale.cu"]) for side in ("base", "head"))
    assert set(base.modules) == {"engine._C", "csrc/binding.cpp"}

    plan = TestPlan(workspace, base, base, "base", record=True)
    [tested] = run_files(plan, base.tests, lambda _: None)
    outcomes = {case.name: (case.outcome, case.ops) for case in tested.cases}
    assert outcomes == {
        "test_scaled": ("passed", ("_C.scaled",)),
        "test_parts": ("passed", ("_C.scaled",)),
        "test_loaded": ("passed", ("_C.scaled",)),
    }

    calls = workspace.folder / "jobs/base-0-tests-test_scaled-py/out/calls"
    [compared] = with_base(workspace, head, base, calls, lambda _: None)
    [difference] = compared.differences
    assert [value for _, value in difference["inputs"]][1] == "3.0"
    assert len(compared.agreed) == 2
