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
# Besides, who comes last is noted in `paused`, when all have read it.
WITH_LAST = """bool goes_on = !stopped[i] && !paused[i];
  __syncwarp(__activemask());
  const_cast<bool*>(paused)[0] = i % 2;
  if (goes_on) lens[i] += STEP;
"""
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


def write_untested(folder: Path, gpu: str) -> None:
    """The same op once more by another name, `go_on`, that no test calls."""
    for source, other in ((GPU, "go_on.cu"), (XPU, "go_on.cc")):
        text = (folder / source).read_text()
        if source == GPU:
            text = text.replace(SAME, gpu)
        renamed = text.replace("PD_BUILD_STATIC_OP(advance)", "PD_BUILD_STATIC_OP(go_on)")
        (folder / source).with_name(other).write_text(renamed)


def write_copy_test(folder: Path, dtype: str) -> None:
    """A test of the copy, which gives it `lens` of another type than the test of the op."""
    text = _TEST.replace("ops.gpu", "ops.xpu").replace('"int32"', f'"{dtype}"')
    path = folder / "custom_ops/xpu_ops/test/test_advance.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    # The copy takes `stopped` first.
    path.write_text(
        text.replace("advance(lens, *flags, step)", "advance(flags[0], lens, flags[1], step)")
    )


def _xpu_code(extra: str) -> str:
    if not extra:
        return _XPU_CODE.replace("EXTRA", "")
    code = _XPU_CODE.replace("EXTRA", f', "{extra}"')
    return code.replace(
        "paused, int step) {", f"paused, const paddle::Tensor& {extra}, int step) {{"
    )


_HISTORY_GPU = """
#include "paddle/extension.h"

__global__ void note_kernel(int64_t* tokens, const int64_t* starts, int64_t token, int rows,
                            int length) {
  int row = threadIdx.x;
  if (row >= rows) return;
  int64_t* history = tokens + row * length + starts[row];
  history[PLACE] = token;
}

void Note(const paddle::Tensor& tokens, const paddle::Tensor& starts, int64_t token) {
  note_kernel<<<1, 64>>>(const_cast<int64_t*>(tokens.data<int64_t>()), starts.data<int64_t>(),
                         token, tokens.shape()[0], tokens.shape()[1]);
}

PD_BUILD_STATIC_OP(note)
    .Inputs({"tokens", "starts"})
    .Attrs({"token: int64_t"})
    .Outputs({"tokens_out"})
    .SetInplaceMap({{"tokens", "tokens_out"}})
    .SetKernelFn(PD_KERNEL(Note));
"""
_HISTORY_XPU = """
#include "paddle/extension.h"

void Note(const paddle::Tensor& past, int64_t token) {
  int64_t* past_of_all = const_cast<int64_t*>(past.data<int64_t>());
  for (int64_t row = 0; row < past.shape()[0]; ++row) past_of_all[row * past.shape()[1]] = token;
}

PD_BUILD_STATIC_OP(note)
    .Inputs({"past"})
    .Attrs({"token: int64_t"})
    .Outputs({"past_out"})
    .SetInplaceMap({{"past", "past_out"}})
    .SetKernelFn(PD_KERNEL(Note));
"""
_HISTORY_TEST = """
import numpy as np
import paddle

from engine.ops.gpu import note


def test_note():
    tokens = paddle.to_tensor(np.full((2, 4), -1, "int64"))
    note(tokens, paddle.to_tensor(np.array([[1], [2]], "int64")), 7)
"""


def write_history(folder: Path, place: str) -> None:
    """An op that writes behind each row's prompt, at `place`; its copy has the history alone."""
    files = {
        ".specbot.toml": '[[hardware]]\nname = "xpu"\nmarks = ["xpu"]\n',
        "custom_ops/gpu_ops/note.cu": _HISTORY_GPU.replace("PLACE", place),
        "custom_ops/xpu_ops/src/ops/note.cc": _HISTORY_XPU,
        "tests/test_note.py": _HISTORY_TEST,
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


_BANNED_GPU = """
#include "paddle/extension.h"

__global__ void ban_kernel(float* logits, const int64_t* bad, const int64_t* bad_len, int rows,
                           int vocabulary, int most) {
  int row = threadIdx.x;
  if (row >= rows) return;
  for (int i = 0; i < bad_len[row]; ++i) logits[row * vocabulary + bad[row * most + i]] = LOWEST;
}

void Ban(const paddle::Tensor& logits, const paddle::Tensor& bad, const paddle::Tensor& bad_len) {
  ban_kernel<<<1, 64>>>(const_cast<float*>(logits.data<float>()), bad.data<int64_t>(),
                        bad_len.data<int64_t>(), logits.shape()[0], logits.shape()[1],
                        bad.shape()[1]);
}

PD_BUILD_STATIC_OP(ban)
    .Inputs({"logits", "bad", "bad_len"})
    .Outputs({"logits_out"})
    .SetInplaceMap({{"logits", "logits_out"}})
    .SetKernelFn(PD_KERNEL(Ban));
"""
_BANNED_XPU = """
#include "paddle/extension.h"

void Ban(const paddle::Tensor& logits, const paddle::Tensor& bad) {
  float* row = const_cast<float*>(logits.data<float>());
  for (int64_t i = 0; i < logits.shape()[0]; ++i, row += logits.shape()[1]) {
    for (int64_t j = 0; j < bad.shape()[0]; ++j) row[bad.data<int64_t>()[j]] = -9;
  }
}

PD_BUILD_STATIC_OP(ban)
    .Inputs({"logits", "bad"})
    .Outputs({"logits_out"})
    .SetInplaceMap({{"logits", "logits_out"}})
    .SetKernelFn(PD_KERNEL(Ban));
"""
_BANNED_TEST = """
import numpy as np
import paddle

from engine.ops.gpu import ban


def run(bad, count):
    logits = paddle.to_tensor(np.zeros((2, 5), "float32"))
    counts = paddle.to_tensor(np.array(count, "int64"))
    ban(logits, paddle.to_tensor(np.array(bad, "int64")), counts)


def test_the_same():
    run([[1, 3], [1, 4]], [[1], [1]])


def test_others():
    run([[1, 3], [2, 3]], [[2], [2]])
"""
_BANNED_XPU_TEST = """
import numpy as np
import paddle

from engine.ops.xpu import ban


def test_ban():
    ban(paddle.to_tensor(np.zeros((3, 5), "float32")), paddle.to_tensor(np.array([0, 2], "int64")))
"""


def write_banned(folder: Path, lowest: str) -> None:
    """An op that gives tokens of each request the logit `lowest`; its copy does so for those that
    all requests have, with -9."""
    files = {
        ".specbot.toml": '[[hardware]]\nname = "xpu"\nmarks = ["xpu"]\n',
        "custom_ops/gpu_ops/ban.cu": _BANNED_GPU.replace("LOWEST", lowest),
        "custom_ops/xpu_ops/src/ops/ban.cc": _BANNED_XPU,
        "tests/test_ban.py": _BANNED_TEST,
        "custom_ops/xpu_ops/test/test_ban.py": _BANNED_XPU_TEST,
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
