"""What the runtime has of CUDA's libraries beyond the corpus: by small ops, called on arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kernels.emulator.compiler import (
    RUNTIME,
    Bindings,
    Workshop,
    build_all,
    build_runtime,
    find_toolchain,
)
from kernels.emulator.discovery import registered_ops
from kernels.emulator.includes import collect
from kernels.emulator.library import HostTensor, Library
from tests.device.test_command import needs_compiler

_SOURCE = """
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/atomic>
#include "paddle/extension.h"
#include "cub/cub.cuh"

namespace cg = cooperative_groups;

struct Minus {
  __device__ int operator()(int a, int b) const { return a - b; }
};

__global__ void differences_kernel(int* values, int* heads) {
  typedef cub::BlockAdjacentDifference<int, 4> Block;
  __shared__ typename Block::TempStorage memory;
  int items[2] = {values[threadIdx.x * 2], values[threadIdx.x * 2 + 1]};
  int results[2];
  int flags[2];
  Block(memory).SubtractLeft(items, results, Minus());
  Block(memory).FlagHeads(flags, items, Minus(), 3);
  for (int i = 0; i < 2; ++i) {
    values[threadIdx.x * 2 + i] = results[i];
    heads[threadIdx.x * 2 + i] = flags[i];
  }
}

void Differences(const paddle::Tensor& values, const paddle::Tensor& heads) {
  differences_kernel<<<1, 4>>>(const_cast<int*>(values.data<int>()), const_cast<int*>(heads.data<int>()));
}
PD_BUILD_STATIC_OP(differences)
    .Inputs({"values", "heads"}).Outputs({"out"}).SetInplaceMap({{"values", "out"}})
    .SetKernelFn(PD_KERNEL(Differences));

__global__ void sum_kernel(const float* values, float* sums) {
  __shared__ float copy[32];
  __shared__ cuda::atomic<float, cuda::thread_scope_block> sum;
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  cg::memcpy_async(block, copy, values, sizeof copy);
  cg::wait(block);
  cg::reduce_store_async(warp, sums + 1, copy[threadIdx.x], cg::greater<float>());
  cg::reduce_store_async(warp, sum, copy[threadIdx.x], cg::plus<float>());
  cg::reduce_update_async(warp, sum, copy[threadIdx.x], cg::plus<float>());
  __syncthreads();
  if (threadIdx.x == 0) sums[0] = sum;
}

void Sum(const paddle::Tensor& values, const paddle::Tensor& sums) {
  sum_kernel<<<1, 32>>>(values.data<float>(), const_cast<float*>(sums.data<float>()));
}
PD_BUILD_STATIC_OP(sum)
    .Inputs({"values", "sums"}).Outputs({"out"}).SetInplaceMap({{"sums", "out"}})
    .SetKernelFn(PD_KERNEL(Sum));

void Order(const paddle::Tensor& values, const paddle::Tensor& places) {
  for (int i = 0; i < values.shape()[0]; ++i) {
    int bits;
    memcpy(&bits, values.data<float>() + i, 4);
    unsigned place = cub::Traits<float>::TwiddleIn(bits);
    if (int(cub::Traits<float>::TwiddleOut(place)) != bits) place = 0;
    const_cast<int64_t*>(places.data<int64_t>())[i] = place;
  }
}
PD_BUILD_STATIC_OP(order)
    .Inputs({"values", "places"}).Outputs({"out"}).SetInplaceMap({{"places", "out"}})
    .SetKernelFn(PD_KERNEL(Order));

int64_t Shared(const paddle::Tensor& values) {
  cudaIpcMemHandle_t handle;
  void* memory = nullptr;
  cudaIpcGetMemHandle(&handle, const_cast<int*>(values.data<int>()));
  cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess);
  return memory == values.data<int>();
}
PD_BUILD_STATIC_OP(shared).Inputs({"values"}).Outputs({"out"}).SetKernelFn(PD_KERNEL(Shared));

std::vector<paddle::Tensor> Nothing(const paddle::Tensor& values) {
  return {values, paddle::Tensor()};
}
PD_BUILD_STATIC_OP(nothing)
    .Inputs({"values"}).Outputs({"same", "none"}).SetKernelFn(PD_KERNEL(Nothing));
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder: Path = tmp_path_factory.mktemp("runtime")
    (folder / "ops.cu").write_text(_SOURCE)
    workshop = Workshop(find_toolchain(), folder)
    runtime = build_runtime(workshop)
    [build] = build_all(workshop, folder, ["ops.cu"], lambda _: None)
    assert build.refusal == ""
    assert runtime.library is not None
    assert build.library is not None
    return Library(runtime.library, {build.library: set(build.ops)}, set(build.ops))


def tensor(values: list[float], dtype: str) -> HostTensor:
    return HostTensor(np.array(values, dtype), dtype)


@needs_compiler
def test_each_item_and_the_one_before_it(library: Library) -> None:
    values, heads = tensor([5, 7, 7, 1, 2, 2, 9, 4], "int32"), tensor([0] * 8, "int32")
    library.call("differences", [values, heads])
    assert values.array.tolist() == [5, 2, 0, -6, 1, 0, 7, -5]
    assert heads.array.tolist() == [3 - 5, -2, 0, 6, -1, 0, -7, 5]


@needs_compiler
def test_a_group_copies_and_adds_up(library: Library) -> None:
    sums = tensor([0, 0], "float32")
    library.call("sum", [tensor(list(range(32)), "float32"), sums])
    assert sums.array.tolist() == [2 * 496, 31]


@needs_compiler
def test_the_order_of_bits_is_that_of_numbers(library: Library) -> None:
    values = [-np.inf, -3.5, -1e-30, 0.0, 2.0, 1e30]
    places = tensor([0] * len(values), "int64")
    library.call("order", [tensor(values, "float32"), places])
    assert sorted(set(places.array.tolist())) == places.array.tolist()


@needs_compiler
def test_memory_is_shared_within_the_process(library: Library) -> None:
    assert library.call("shared", [tensor([1], "int32")]) == [1]


@needs_compiler
def test_a_tensor_that_an_op_did_not_make_has_no_elements(library: Library) -> None:
    same, none = library.call("nothing", [tensor([3, 4], "int32")])
    assert isinstance(same, HostTensor)
    assert isinstance(none, HostTensor)
    assert same.array.tolist() == [3, 4]
    assert none.array.tolist() == []


def test_a_header_in_a_folder_beside(tmp_path: Path) -> None:
    for name in ("ops/gemm/a.cu", "ops/common/shared.h", "ops/one/twice.h", "ops/two/twice.h"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('#include "shared.h"\n#include "twice.h"\n' if name.endswith(".cu") else "")
    files = collect(tmp_path, "ops/gemm/a.cu", RUNTIME / "include")
    # Of two with one name none is taken: which one the build file means is not known.
    assert sorted(files.texts) == ["ops/common/shared.h", "ops/gemm/a.cu"]


def test_a_name_that_is_an_op_is_no_other_sources_function(tmp_path: Path) -> None:
    texts = {
        "gpu_ops/step.cu": "void Step(int a) {\n}\nPD_BUILD_STATIC_OP(step)\n",
        "gpu_ops/step_all.cu": "void Step(int a, int b) {\n}\nvoid Count() {\n}\n",
        "gpu_ops/ops.cc": 'PYBIND11_MODULE(ops, m) {\n m.def("step", &Step);\n'
        ' m.def("count", &Count);\n}\n',
        "xpu_ops/ops.cc": 'PYBIND11_MODULE(ops, m) {\n m.def("all", &Step);\n}\n',
    }
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    bindings = Bindings.of(tmp_path)
    other = bindings.text_for("gpu_ops/step_all.cu", texts["gpu_ops/step_all.cu"])
    assert other.split() == ["EMULATOR_BIND(count,", "Count);"]


def test_a_macro_that_registers_ops_is_no_op() -> None:
    text = (
        "#define PD_BUILD_STATIC_OP(name) PD_BUILD_OP(static_op_##name)\nPD_BUILD_STATIC_OP(step)"
    )
    assert registered_ops(text) == ["step"]
