"""PyTorch's ops: who registers what, and an op with its test, on PyTorch's own CPU headers."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from kernels.emulator.registrations import Bindings
from kernels.emulator.rewrite import rewrite
from kernels.emulator.torch_bindings import ops_near, torch_ops_of
from kernels.emulator.torch_tests import uses_torch
from kernels.emulator.triton_kernels import kernels_of, launchers_of
from tests.device.fixture_repo import commit
from tests.device.test_command import needs_compiler, report_of, run_device

_SOURCE = """
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/tensor.h>

__global__ void scale_kernel(float* values, int n, float factor) {
  if (threadIdx.x < n) values[threadIdx.x] *= factor;
}

void scale(torch::stable::Tensor& values, double factor) {
  auto* data = static_cast<float*>(values.data_ptr());
  scale_kernel<<<1, 64>>>(data, static_cast<int>(values.numel()), static_cast<float>(factor));
}
"""
_BINDINGS = """
STABLE_TORCH_LIBRARY_FRAGMENT(example, ops) {
  // The schema in two parts.
  ops.def("scale(Tensor! values, "
          "float factor) -> ()");
}
STABLE_TORCH_LIBRARY_IMPL(example, CUDA, ops) {
  ops.impl("scale", TORCH_BOX(&scale));
}
"""
_OWN = """
#include <ATen/core/Tensor.h>
#include <torch/library.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

__global__ void bump_kernel(float* values, int n) {
  CUDA_KERNEL_ASSERT(n < 4);
  if (threadIdx.x < n) values[threadIdx.x] += 1;
}

void bump(at::Tensor& values) {
  auto stream = at::cuda::getCurrentCUDAStream();
  if (values.numel() == 2) {
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {2, 1, 1};
    cudaLaunchConfig_t config;
    config.attrs = &attribute;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, bump_kernel, values.data_ptr<float>(), 2);
  }
  bump_kernel<<<1, 64, 0, stream>>>(values.data_ptr<float>(), values.numel());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

TORCH_LIBRARY(own, ops) {
  ops.def("bump(Tensor! values) -> ()");
  ops.impl("bump", at::kCUDA, &bump);
}
"""
_OWN_TEST = """
import torch


def test_bump():
    values = torch.zeros(3, device="cuda")
    torch.ops.own.bump(values)
    assert values.tolist() == [1.0] * 3


def test_a_cluster():
    torch.ops.own.bump(torch.zeros(2, device="cuda"))


def test_too_many():
    torch.ops.own.bump(torch.zeros(5, device="cuda"))
"""
_PYBIND = """
#include <torch/extension.h>

void bump(torch::Tensor values) {
  values.add_(1);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("bump", &bump); }
"""
_CPU_BINDINGS = """
TORCH_LIBRARY_EXPAND(CONCAT(TORCH_EXTENSION_NAME, _math), ops) {
  ops.def("scale(Tensor! values, float factor) -> ()", &scale_on_cpu);
}
"""
_TEST = """
import torch


def test_scale():
    values = torch.ones(8, device="cuda")
    torch.ops.example.scale(values, 2.0)
    assert values.tolist() == [2.0] * 8


def test_wrong():
    values = torch.arange(3.0).cuda()
    torch.ops.example.scale(values, 3.0)
    assert values.tolist() == [0.0, 1.0, 2.0]
"""

_WRAPPERS = """
import torch


def scale_in_place(values, factor):
    torch.ops.example.scale(values, factor)
    return values
"""
_BROKEN_PACKAGE = """
from .wrappers import scale_in_place
from engine.never_built import everything
"""
_KERNELS = """
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def plus_one(value):
    return value + 1


@triton.jit
def _add_one_kernel(values, n, SIZE: tl.constexpr):
    places = tl.arange(0, SIZE)
    value = tl.load(values + places, mask=places < n)
    value = libdevice.expm1(libdevice.log1p(value + 0.0))
    tl.store(values + places, plus_one(value), mask=places < n)


def add_one(values):
    _add_one_kernel[(1,)](values, values.numel(), SIZE=16)
"""
_WRAPPED_TEST = """
import pytest
import torch
from engine import scale_in_place, wrappers as ops
from engine.kernels import add_one


def test_wrapped():
    assert ops.scale_in_place(torch.ones(3).cuda(), 2.0).tolist() == [2.0] * 3
    assert scale_in_place is ops.scale_in_place


@pytest.mark.parametrize("n", range(5, 15))
def test_triton(n):
    torch.set_default_device("cuda")
    values = torch.zeros(n)
    add_one(values)
    assert values.is_cuda and values.tolist() == [1.0] * n


def test_what_no_source_registers():
    assert not hasattr(torch.ops.example, "unheard_of")
    torch.ops.example.unheard_of(torch.ones(1))
"""


def write_repo(folder: Path) -> None:
    files = {
        "csrc/scale.cu": _SOURCE,
        "csrc/bindings.cpp": _BINDINGS,
        "csrc/cpu_ops/bindings.cpp": _CPU_BINDINGS,
        "tests/test_scale.py": _TEST,
        "tests/test_wrapped.py": _WRAPPED_TEST,
        "engine/__init__.py": _BROKEN_PACKAGE,
        "engine/wrappers.py": _WRAPPERS,
        "engine/kernels.py": _KERNELS,
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def test_who_registers_an_op(tmp_path: Path) -> None:
    write_repo(tmp_path)
    ops = {op.path: op for op in torch_ops_of(tmp_path)}
    own = ops["csrc/bindings.cpp"]
    assert (own.library, own.name, own.function) == ("example", "scale", "scale")
    assert own.schema == "scale(Tensor! values, float factor) -> ()"
    assert ops["csrc/cpu_ops/bindings.cpp"].library == "_C_math"
    # Another hardware's function is not the one of this source.
    assert ops_near("csrc/scale.cu", list(ops.values())) == [own]


def test_a_source_gets_its_own_registrations(tmp_path: Path) -> None:
    write_repo(tmp_path)
    text = Bindings.of(tmp_path).text_for("csrc/scale.cu", _SOURCE)
    assert 'emulator_ops.impl("scale", TORCH_BOX(&scale));' in text
    assert "STABLE_TORCH_LIBRARY_IMPL(example, CPU, emulator_ops)" in text
    assert Bindings.of(tmp_path).text_for("csrc/other.cu", "void other() {}") == ""


def test_a_source_that_registers_its_own_ops(tmp_path: Path) -> None:
    (tmp_path / "own.cu").write_text(_OWN)
    bindings = Bindings.of(tmp_path)
    assert bindings.text_for("own.cu", _OWN) == ""
    assert bindings.ops_of("own.cu", _OWN) == ("bump",)
    (tmp_path / "own.cu").write_text(_PYBIND)
    assert Bindings.of(tmp_path).text_for("own.cu", _PYBIND) == ""


def test_names_of_cuda() -> None:
    out = rewrite("#include <torch/all.h>\nbool f() { return x.is_cuda() && d == at::kCUDA; }")
    assert "x.is_cpu() && d == at::kCPU" in out


def test_which_framework_a_test_uses() -> None:
    assert uses_torch("import torch\n")
    assert not uses_torch("import paddle\n")
    assert not uses_torch("import torch\nimport paddle\n")


@needs_compiler
@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="the ops are compiled with torch's headers"
)
def test_an_op_and_its_test(tmp_path: Path, cache: Path) -> None:
    write_repo(tmp_path)
    commit(tmp_path, "head")
    report = report_of(run_device(cache, "test", "--repo", str(tmp_path), "--format", "json"))
    assert "csrc/scale.cu" in report["sources"]["compiled"]
    cases = {case["test"].rpartition("::")[2]: case for case in report["tests"]["cases"]}
    assert cases["test_scale"]["outcome"] == "passed"
    assert cases["test_wrong"]["outcome"] == "failed"
    assert "[0.0, 3.0, 6.0]" in cases["test_wrong"]["why"]


@needs_compiler
@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="the ops are compiled with torch's headers"
)
def test_one_file_with_an_op_and_its_registration(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "own.cu").write_text(_OWN)
    (tmp_path / "test_own.py").write_text(_OWN_TEST)
    commit(tmp_path, "head")
    report = report_of(run_device(cache, "test", "--repo", str(tmp_path), "--format", "json"))
    cases = {case["test"].rpartition("::")[2]: case for case in report["tests"]["cases"]}
    assert cases["test_bump"]["outcome"] == "passed"
    assert cases["test_bump"]["ops"] == ["bump"]
    assert cases["test_too_many"]["outcome"] == "failed"
    assert "assertion failed: n < 4 in kernel bump_kernel" in cases["test_too_many"]["why"]
    assert cases["test_a_cluster"]["outcome"] == "not_run"
    assert cases["test_a_cluster"]["why"] == "NotEmulated: thread block clusters"


def test_who_launches_a_kernel() -> None:
    assert kernels_of(_KERNELS) == ["_add_one_kernel"]
    assert "_add_one_kernel" in launchers_of(_KERNELS)["add_one"]


@needs_compiler
@pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("torch", "triton")),
    reason="the kernels are run by Triton's interpreter on PyTorch's tensors",
)
def test_ops_behind_python(tmp_path: Path, cache: Path) -> None:
    write_repo(tmp_path)
    commit(tmp_path, "head")
    arguments = ("--repo", str(tmp_path), "--format", "json", "--cases", "4")
    report = report_of(run_device(cache, "test", *arguments))
    assert report["sources"]["compiled"] == ["csrc/scale.cu", "engine/kernels.py"]
    cases = {case["test"].rpartition("::")[2]: case for case in report["tests"]["cases"]}
    assert cases["test_wrapped"]["outcome"] == "passed"
    assert cases["test_wrapped"]["ops"] == ["scale"]
    assert cases["test_what_no_source_registers"]["outcome"] == "not_run"
    assert "no source that was built registers it" in cases["test_what_no_source_registers"]["why"]
    triton = {name: case for name, case in cases.items() if name.startswith("test_triton")}
    assert [case["outcome"] for case in triton.values()].count("passed") == 4
    assert cases["test_triton[6 others]"]["why"] == "left out by --cases"
    assert cases["test_triton[5]"]["ops"] == ["kernels._add_one_kernel"]
