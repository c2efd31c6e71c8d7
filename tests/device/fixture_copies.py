"""A small repository with one op for two kinds of hardware: a CUDA kernel and an XPU plugin."""

from __future__ import annotations

from pathlib import Path

GPU = "custom_ops/gpu_ops/advance.cu"
XPU = "custom_ops/xpu_ops/src/ops/advance.cc"
WRAPPER = "custom_ops/xpu_ops/src/plugin/src/wrapper/advance.cpp"

_GPU_CODE = """
#include "paddle/extension.h"

__global__ void advance_kernel(int* lens, const bool* stopped, const bool* paused, int n, int step) {
  int i = threadIdx.x;
  if (i >= n) return;
  BODY
}

void Advance(const paddle::Tensor& lens, const paddle::Tensor& stopped,
             const paddle::Tensor& paused, int step) {
  int n = static_cast<int>(lens.shape()[0]);
  advance_kernel<<<1, 64>>>(const_cast<int*>(lens.data<int>()), stopped.data<bool>(),
                            paused.data<bool>(), n, step);
}

PD_BUILD_STATIC_OP(advance)
    .Inputs({"lens", "stopped", "paused"})
    .Attrs({"step: int"})
    .Outputs({"lens_out"})
    .SetInplaceMap({{"lens", "lens_out"}})
    .SetKernelFn(PD_KERNEL(Advance));
"""
# The parameters stand in another order, as they do in real copies.
_XPU_CODE = """
#include <paddle/phi/backends/xpu/xpu_context.h>
#include "paddle/extension.h"
#include "xpu/plugin.h"

void Advance(const paddle::Tensor& stopped, const paddle::Tensor& lens,
             const paddle::Tensor& paused, int step) {
  phi::XPUPlace place(phi::backends::xpu::GetXPUCurrentDeviceId());
  auto dev_ctx = paddle::experimental::DeviceContextPool::Instance().Get(place);
  auto* ctx = static_cast<const phi::XPUContext*>(dev_ctx)->x_context();
  int r = example::plugin::advance(ctx, const_cast<int*>(lens.data<int>()), stopped.data<bool>(),
                                   paused.data<bool>(), lens.shape()[0], step);
  PADDLE_ENFORCE_XDNN_SUCCESS(r, "advance");
}

PD_BUILD_STATIC_OP(advance)
    .Inputs({"stopped", "lens", "paused"EXTRA})
    .Attrs({"step: int"})
    .Outputs({"lens_out"})
    .SetInplaceMap({{"lens", "lens_out"}})
    .SetKernelFn(PD_KERNEL(Advance));
"""
_HEADER = """
#pragma once
#include "xpu/xdnn.h"

namespace example {
namespace plugin {
DLL_EXPORT int advance(baidu::xpu::api::Context* ctx, int* lens, const bool* stopped,
                       const bool* paused, int n, int step);
}
}
"""
_WRAPPER_CODE = """
#include "xpu/plugin.h"
#include "xpu/refactor/impl_public/wrapper_check.h"

namespace fd_xpu3 {
__attribute__((global)) void advance(int* lens, const bool* stopped, const bool* paused, int n,
                                     int step);
}

namespace example {
namespace plugin {

static int cpu_wrapper(int* lens, const bool* stopped, const bool* paused, int n, int step) {
  for (int i = 0; i < n; ++i) {
    BODY
  }
  return api::SUCCESS;
}

int advance(api::Context* ctx, int* lens, const bool* stopped, const bool* paused, int n,
            int step) {
  WRAPPER_CHECK_CTX(ctx);
  WRAPPER_ASSERT_GT(ctx, step, 0);
  if (ctx->dev().type() == api::kCPU) return cpu_wrapper(lens, stopped, paused, n, step);
  int32_t ret = fd_xpu3::
      advance<<<ctx->ncluster(), 64, ctx->xpu_stream>>>(lens, stopped, paused, n, step);
  KERNEL_ASSERT_SUCCESS(ctx, ret);
  return api::SUCCESS;
}

}
}
"""
# Two calls without a look at the result, so that only the copy can tell.
_TEST = """
import numpy as np
import paddle

from engine.ops.gpu import advance


def run(n, stopped, paused, step):
    lens = paddle.to_tensor(np.arange(n, dtype="int32"))
    flags = [paddle.to_tensor(np.array([f] * n)) for f in (stopped, paused)]
    advance(lens, *flags, step)
    assert lens.shape == [n]


def test_running():
    run(8, False, False, 1)
    run(2, False, False, 1)


def test_stopped():
    run(4, True, False, 1)


def test_paused():
    run(4, False, True, 1)


def test_no_step():
    run(4, False, False, 0)
"""

SAME = "if (!stopped[i] && !paused[i]) lens[i] += step;"
BY_TWO = "if (!stopped[i] && !paused[i]) lens[i] += 2 * step;"
# No test has a request that is stopped and paused.
STOPPED_AND_PAUSED = "if (stopped[i] == paused[i]) lens[i] += step;"


def write_copies(folder: Path, gpu: str = SAME, xpu: str = SAME, extra: str = "") -> None:
    """The op with these bodies; `extra` is a parameter that the copy alone has."""
    files = {
        ".specbot.toml": '[[hardware]]\nname = "xpu"\nmarks = ["xpu"]\n',
        GPU: _GPU_CODE.replace("BODY", gpu),
        XPU: _xpu_code(extra),
        WRAPPER: _WRAPPER_CODE.replace("BODY", xpu),
        "custom_ops/xpu_ops/src/plugin/include/xpu/plugin.h": _HEADER,
        "tests/test_advance.py": _TEST,
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _xpu_code(extra: str) -> str:
    if not extra:
        return _XPU_CODE.replace("EXTRA", "")
    code = _XPU_CODE.replace("EXTRA", f', "{extra}"')
    return code.replace(
        "paused, int step) {", f"paused, const paddle::Tensor& {extra}, int step) {{"
    )
