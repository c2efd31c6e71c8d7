"""What the runtime has of CUDA's libraries beyond the corpus: by small ops, called on arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kernels.emulator.build_files import type_switches
from kernels.emulator.builds import build_all
from kernels.emulator.compiler import RUNTIME, Workshop, build_runtime
from kernels.emulator.discovery import registered_ops
from kernels.emulator.includes import collect
from kernels.emulator.library import HostTensor, Library, MissingPart, OpError
from kernels.emulator.registrations import Bindings
from kernels.emulator.toolchain import find_toolchain
from tests.device.test_command import needs_compiler

_SOURCE = """
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/scan.h>
#include <cassert>
#include <cuda/atomic>
#include <cuda/barrier>
#include <curand_kernel.h>
#include "paddle/extension.h"
#include "cub/cub.cuh"

namespace cg = cooperative_groups;
#define BUFFER(T, name, n) __shared__ T name[n]

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

__global__ void architecture_kernel(int* values) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  values[0] = __CUDA_ARCH__;
#endif
  BUFFER(int, one, 4);
  BUFFER(int, two, 4);
  one[threadIdx.x] = two[threadIdx.x] = threadIdx.x;
  __syncthreads();
  values[1 + threadIdx.x] = one[3 - threadIdx.x] * 10 + two[threadIdx.x];
}
void Architecture(const paddle::Tensor& values) {
  void (*table[])(int*) = {nullptr, architecture_kernel};
  table[1]<<<1, 4>>>(const_cast<int*>(values.data<int>()));
}
PD_BUILD_STATIC_OP(architecture)
    .Inputs({"values"}).Outputs({"out"}).SetInplaceMap({{"values", "out"}})
    .SetKernelFn(PD_KERNEL(Architecture));

extern __shared__ int of_the_file[];
__global__ void tiles_kernel(int* values) {
  of_the_file[threadIdx.x] = threadIdx.x;
  auto eight = cg::tiled_partition<8>(cg::this_thread_block());
  cg::thread_block_tile<4> four = cg::tiled_partition<4>(eight);
  int sum = 0;
  typedef cub::WarpScan<int, 8> Scan;
  __shared__ Scan::TempStorage memory;
  // Only some lanes of the warp come here.
  if (threadIdx.x < 8) Scan(memory).InclusiveSum(int(threadIdx.x), sum);
  int* mine = of_the_file + threadIdx.x;
  values[threadIdx.x] = sum * 1000 + four.meta_group_size() * 100 + four.meta_group_rank() * 10 + *mine % 10;
}
void Tiles(const paddle::Tensor& values) {
  tiles_kernel<<<1, 32, 32 * sizeof(int)>>>(const_cast<int*>(values.data<int>()));
}
PD_BUILD_STATIC_OP(tiles)
    .Inputs({"values"}).Outputs({"out"}).SetInplaceMap({{"values", "out"}})
    .SetKernelFn(PD_KERNEL(Tiles));

struct Pair { int first; int second; };
__global__ void viewed_kernel(int* values) {
  extern __shared__ __align__(alignof(Pair)) unsigned char memory[];
  auto& pair = reinterpret_cast<Pair&>(memory);
  if (threadIdx.x == 1) pair.second = 7;
  __syncthreads();
  if (threadIdx.x == 0) values[0] = pair.second;
}
void Viewed(const paddle::Tensor& values) {
  viewed_kernel<<<1, 2, sizeof(Pair)>>>(const_cast<int*>(values.data<int>()));
}
PD_BUILD_STATIC_OP(viewed)
    .Inputs({"values"}).Outputs({"out"}).SetInplaceMap({{"values", "out"}})
    .SetKernelFn(PD_KERNEL(Viewed));

__global__ void checked_kernel(const int* values) {
  assert(values[threadIdx.x] == 0 && "is zero");
}
void Checked(const paddle::Tensor& values) { checked_kernel<<<1, 2>>>(values.data<int>()); }
PD_BUILD_STATIC_OP(checked).Inputs({"values"}).Outputs({"out"}).SetKernelFn(PD_KERNEL(Checked));

void Shaped(const paddle::Tensor& values, int64_t rows, int64_t depth) {
  checked_kernel<<<dim3(1, rows), dim3(1, 1, depth)>>>(values.data<int>());
}
PD_BUILD_STATIC_OP(shaped)
    .Inputs({"values"}).Outputs({"out"}).Attrs({"rows: int64_t", "depth: int64_t"})
    .SetKernelFn(PD_KERNEL(Shaped));

struct IsOdd {
  __host__ __device__ bool operator()(int value) const { return value % 2; }
};
// Those with a flag, the odd ones, the first of equal ones: each with its number before it.
void Selected(const paddle::Tensor& values, const paddle::Tensor& flags, const paddle::Tensor& kept) {
  int count = values.shape()[0];
  const int* in = values.data<int>();
  int* out = const_cast<int*>(kept.data<int>());
  size_t bytes = 0;
  cub::DeviceSelect::Flagged(nullptr, bytes, in, flags.data<int>(), out + 1, out, count);
  std::vector<char> memory(bytes);
  cub::DeviceSelect::Flagged(memory.data(), bytes, in, flags.data<int>(), out + 1, out, count);
  out += count + 1;
  cub::DeviceSelect::If(memory.data(), bytes, in, out + 1, out, count, IsOdd());
  out += count + 1;
  cub::DeviceSelect::Unique(memory.data(), bytes, in, out + 1, out, count);
}
PD_BUILD_STATIC_OP(selected)
    .Inputs({"values", "flags", "kept"}).Outputs({"out"}).SetInplaceMap({{"kept", "out"}})
    .SetKernelFn(PD_KERNEL(Selected));

__global__ void scans_kernel(const int* values, int* sums) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int value = values[threadIdx.x];
  sums[threadIdx.x] = cg::inclusive_scan(tile, value);
  sums[16 + threadIdx.x] = cg::exclusive_scan(tile, value, cg::plus<int>());
  sums[32 + threadIdx.x] = cg::inclusive_scan(tile, value, cg::greater<int>());
  if (threadIdx.x % 2) sums[48 + threadIdx.x] = cg::exclusive_scan(cg::coalesced_threads(), value);
}
void Scans(const paddle::Tensor& values, const paddle::Tensor& sums) {
  scans_kernel<<<1, 16>>>(values.data<int>(), const_cast<int*>(sums.data<int>()));
}
PD_BUILD_STATIC_OP(scans)
    .Inputs({"values", "sums"}).Outputs({"out"}).SetInplaceMap({{"sums", "out"}})
    .SetKernelFn(PD_KERNEL(Scans));

__global__ void log_normal_kernel(float* values) {
  curandStatePhilox4_32_10_t one, other;
  curand_init(5, threadIdx.x, 0, &one);
  curand_init(5, threadIdx.x, 0, &other);
  for (int i = 0; i < 3; ++i) {
    values[threadIdx.x * 6 + i * 2] = curand_log_normal(&one, 0.5f, 2.0f);
    values[threadIdx.x * 6 + i * 2 + 1] = curand_normal(&other);
  }
}
void LogNormal(const paddle::Tensor& values) {
  log_normal_kernel<<<1, 4>>>(const_cast<float*>(values.data<float>()));
}
PD_BUILD_STATIC_OP(log_normal)
    .Inputs({"values"}).Outputs({"out"}).SetInplaceMap({{"values", "out"}})
    .SetKernelFn(PD_KERNEL(LogNormal));

int64_t Large(const paddle::Tensor& values, int64_t bytes, int64_t allowed) {
  cudaError_t error = cudaSuccess;
  if (allowed) {
    error = cudaFuncSetAttribute(checked_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, allowed);
  }
  checked_kernel<<<1, 1, bytes>>>(values.data<int>());
  return error;
}
PD_BUILD_STATIC_OP(large)
    .Inputs({"values"}).Outputs({"out"}).Attrs({"bytes: int64_t", "allowed: int64_t"})
    .SetKernelFn(PD_KERNEL(Large));

// The next number of a column lies `row` behind, and of a row `step`.
std::vector<paddle::Tensor> Columns(const paddle::Tensor& values, int64_t row, int64_t step) {
  phi::DenseTensor dense;
  dense.Resize({2, 3});
  dense.AllocateFrom(nullptr, values.dtype());
  dense.set_strides({row, step});
  paddle::Tensor columns(std::make_shared<phi::DenseTensor>(dense));
  if (columns.is_contiguous() || columns.strides()[1] != step) throw std::runtime_error("not its strides");
  std::memcpy(columns.data(), values.data(), values.bytes());
  return {columns};
}
PD_BUILD_STATIC_OP(columns)
    .Inputs({"values"}).Outputs({"out"})
    .Attrs({"row: int64_t", "step: int64_t"}).SetKernelFn(PD_KERNEL(Columns));

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


@needs_compiler
def test_a_tensor_with_strides_of_its_own(library: Library) -> None:
    values = tensor([1, 2, 3, 4, 5, 6], "int32")
    [columns] = library.call("columns", [values, 1, 2])
    assert isinstance(columns, HostTensor)
    assert columns.array.tolist() == [[1, 3, 5], [2, 4, 6]]
    assert not columns.array.flags.c_contiguous
    with pytest.raises(MissingPart, match="leave a tensor's own memory"):
        library.call("columns", [values, 2, 2])
    # The next error is its own.
    with pytest.raises(OpError, match="takes 3 arguments") as raised:
        library.call("columns", [values])
    assert not isinstance(raised.value, MissingPart)


@needs_compiler
def test_device_code_is_compiled_for_an_h100(library: Library) -> None:
    values = tensor([0] * 5, "int32")
    library.call("architecture", [values])
    assert values.array.tolist() == [900, 30, 21, 12, 3]


@needs_compiler
def test_dynamic_shared_memory_as_a_struct_is_that_of_all_threads(library: Library) -> None:
    values = tensor([0], "int32")
    library.call("viewed", [values])
    assert values.array.tolist() == [7]


@needs_compiler
def test_tiles_of_tiles_and_parts_of_a_warp(library: Library) -> None:
    values = tensor([0] * 32, "int32")
    library.call("tiles", [values])
    sums = [sum(range(i + 1)) if i < 8 else 0 for i in range(32)]
    wanted = [sums[i] * 1000 + 200 + i % 8 // 4 * 10 + i % 10 for i in range(32)]
    assert values.array.tolist() == wanted


@needs_compiler
def test_a_failed_assertion_is_the_kernels_error(library: Library) -> None:
    library.call("checked", [tensor([0, 0], "int32")])
    with pytest.raises(OpError, match=r"assertion failed: .*is zero.* in kernel checked_kernel"):
        library.call("checked", [tensor([0, 1], "int32")])


@needs_compiler
def test_items_that_are_selected(library: Library) -> None:
    kept = tensor([0] * 18, "int32")
    flags = tensor([0, 1, 1, 0, 1], "int32")
    library.call("selected", [tensor([4, 4, 7, 7, 2], "int32"), flags, kept])
    assert kept.array.tolist() == [3, 4, 7, 2, 0, 0, 2, 7, 7, 0, 0, 0, 3, 4, 7, 2, 0, 0]


@needs_compiler
def test_scans_of_a_group(library: Library) -> None:
    numbers = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3]
    sums = tensor([0] * 64, "int32")
    library.call("scans", [tensor(numbers, "int32"), sums])
    rows = np.array(numbers).reshape(2, 8)
    inclusive, exclusive, largest, odd = sums.array.reshape(4, 2, 8)
    assert inclusive.tolist() == rows.cumsum(axis=1).tolist()
    assert exclusive.tolist() == (rows.cumsum(axis=1) - rows).tolist()
    assert largest.tolist() == np.maximum.accumulate(rows, axis=1).tolist()
    alone = np.array(numbers[1::2])
    assert odd.reshape(-1)[1::2].tolist() == (alone.cumsum() - alone).tolist()


@needs_compiler
def test_log_normal_numbers_are_those_of_normal_ones(library: Library) -> None:
    values = tensor([0] * 24, "float32")
    library.call("log_normal", [values])
    drawn, normal = values.array.reshape(12, 2).T
    np.testing.assert_allclose(drawn, np.exp(np.float32(0.5) + 2 * normal), rtol=1e-6)
    assert len(set(drawn.tolist())) == 12


@needs_compiler
def test_much_shared_memory_has_to_be_asked_for(library: Library) -> None:
    values = tensor([0], "int32")
    needed = 48 * 1024 + 16
    assert library.call("large", [values, needed - 16, 0]) == [0]
    with pytest.raises(OpError, match=f"shared memory {needed} needs cudaFuncSetAttribute"):
        library.call("large", [values, needed, 0])
    # More than there is: the error is the call's, and nothing is allowed.
    with pytest.raises(OpError, match="needs cudaFuncSetAttribute"):
        library.call("large", [values, needed, 228 * 1024])
    assert library.call("large", [values, needed, needed]) == [0]


@needs_compiler
@pytest.mark.parametrize(("rows", "depth"), [(65_536, 1), (1, 65)])
def test_a_launch_that_no_gpu_takes(library: Library, rows: int, depth: int) -> None:
    values = tensor([0], "int32")
    with pytest.raises(OpError, match="invalid configuration"):
        library.call("shaped", [values, rows, depth])


@needs_compiler
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("#include <mma.h>\n", "tensor cores"),
        (
            "__global__ void __cluster_dims__(2, 1, 1) k() {}\nvoid f() { k<<<2, 1>>>(); }",
            "cluster",
        ),
        (
            "#include <cooperative_groups.h>\n__global__ void k() {\n"
            "  cooperative_groups::this_cluster().sync();\n}\nvoid f() { k<<<2, 1>>>(); }",
            "thread block clusters",
        ),
        ("__global__ void k(cudaTextureObject_t t) { tex1Dfetch<float>(t, 0); }", "textures"),
        (
            "__global__ void k(int* p) { p[0] = __cvta_generic_to_shared(p); }",
            "PTX: addresses of shared memory",
        ),
        (
            "#include <cuda/barrier>\n__global__ void k() {\n"
            "  __shared__ cuda::barrier<cuda::thread_scope_block> b;\n  init(&b, 4);\n}",
            "cuda::barrier",
        ),
        (
            "#include <curand_kernel.h>\n__global__ void k(curandState* s, unsigned* p) {\n"
            "  p[0] = curand_poisson(s, 3.0);\n}",
            "cuRAND: curand_poisson",
        ),
        (
            "#include <cooperative_groups/scan.h>\nnamespace cg = cooperative_groups;\n"
            "__global__ void k(int* p) {\n  auto tile = cg::tiled_partition<8>(cg::this_thread_block());\n"
            "  p[0] = cg::exclusive_scan(tile, p[1], cg::less<int>());\n}",
            "an exclusive scan that does not add",
        ),
    ],
)
def test_what_is_not_emulated_is_refused_by_name(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "a.cu").write_text(text)
    workshop = Workshop(find_toolchain(), tmp_path)
    [build] = build_all(workshop, tmp_path, ["a.cu"], lambda _: None)
    assert build.library is None
    assert "not emulated" in build.refusal
    assert why in build.refusal


@needs_compiler
def test_the_build_files_say_which_types_there_are(tmp_path: Path) -> None:
    text = "#ifndef ENABLE_BF16\n#error no bfloat16\n#endif\n#ifdef USE_ROCM\n#error\n#endif"
    (tmp_path / "a.cu").write_text(text)
    (tmp_path / "cmake").mkdir()
    for name, line in (
        ("cmake/flags.cmake", 'list(APPEND GPU_FLAGS "-DENABLE_BF16" "-DUSE_ROCM")'),
        ("CMakeLists.txt", "add_definitions(-DENABLE_FP8_OF_OURS -DENABLE_FP8=0)"),
    ):
        (tmp_path / name).write_text(line)
    workshop = Workshop(find_toolchain(), tmp_path)
    assert type_switches(tmp_path) == ["ENABLE_BF16"]
    [build] = build_all(workshop, tmp_path, ["a.cu"], lambda _: None)
    assert build.refusal == ""


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
