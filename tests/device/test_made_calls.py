"""An op that no test calls, beside one that a test does: what is asked of it before and after."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kernels.emulator.library import HostTensor
from kernels.emulator.made_calls import make_calls
from kernels.emulator.recording import Call
from tests.device.fixture_repo import OPS, commit
from tests.device.test_command import needs_compiler, report_of, run_device

_SOURCE = """
#include "paddle/extension.h"

__global__ void cut_kernel(int* values, const int* lens, int n) {
  if (threadIdx.x < n && values[threadIdx.x] > lens[threadIdx.x]) values[threadIdx.x] = lens[threadIdx.x];
}
void Cut(const paddle::Tensor& values, const paddle::Tensor& lens) {
  int n = values.shape()[0];
  cut_kernel<<<1, 64>>>(const_cast<int*>(values.data<int>()), lens.data<int>(), n);
}
PD_BUILD_STATIC_OP(cut)
    .Inputs({"values", "lens"}).Outputs({"cut"}).SetInplaceMap({{"values", "cut"}})
    .SetKernelFn(PD_KERNEL(Cut));

__global__ void weigh_kernel(const int* values, const int* lens, const float* weights, float* sums, int n,
                             int width) {
  int row = threadIdx.x;
  if (row < n) sums[row] = weights[row * width + width - 1] * (values[row] CHANGE lens[row]);
}
void Weigh(const paddle::Tensor& sums, const paddle::Tensor& weights, const paddle::Tensor& values,
           const paddle::Tensor& lens) {
  int width = weights.shape()[1];
  weigh_kernel<<<1, 64>>>(values.data<int>(), lens.data<int>(), weights.data<float>(),
                          const_cast<float*>(sums.data<float>()), values.shape()[0], width);
}
PD_BUILD_STATIC_OP(weigh)
    .Inputs({"sums", "weights", "values", "lens"}).Outputs({"out"}).SetInplaceMap({{"sums", "out"}})
    .SetKernelFn(PD_KERNEL(Weigh));
"""
_TEST = """
import numpy as np
import paddle

from engine.ops.gpu import cut


def test_cut():
    values = paddle.to_tensor(np.array([3, 9, 4], "int32"))
    cut(values, paddle.to_tensor(np.array([5, 6, 7], "int32")))
    assert values.tolist() == [3, 6, 4]
"""


@needs_compiler
@pytest.mark.parametrize("after", ["-", "+ 0 * n +"])
def test_an_op_that_no_test_calls(cache: Path, tmp_path: Path, after: str) -> None:
    (tmp_path / OPS).mkdir(parents=True)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_cut.py").write_text(_TEST)
    (tmp_path / OPS / "cut.cu").write_text(_SOURCE.replace("CHANGE", "+"))
    base = commit(tmp_path, "base")
    (tmp_path / OPS / "cut.cu").write_text(_SOURCE.replace("CHANGE", after))
    sides = ("--repo", str(tmp_path), "--base", base, "--head", commit(tmp_path, "head"))
    report = report_of(
        run_device(cache, "compare", *sides, "--title", "Refactor", "--format", "json")
    )
    if after != "-":
        assert report["findings"] == []
        return
    [finding] = report["findings"]
    assert (finding["rule"], finding["severity"]) == ("device.changed-result", "question")
    assert finding["evidence"][0]["op"] == "weigh"
    shown = dict(finding["evidence"][0]["inputs"])
    assert shown["lens"] == "int32[3] [5, 6, 7]"
    assert shown["weights"].startswith("float32[64, 8]")


def test_what_a_call_is_made_of() -> None:
    lens = HostTensor(np.array([3, 4], np.int32), "int32")
    flags = HostTensor(np.array([False, True]), "bool")
    recorded = [Call("other", ("lens", "flags"), [lens, flags], settings={"A": "1"})]
    names = {"lens", "flags", "more"}
    [call] = make_calls("op", names, ["more.data<int64_t>()"], recorded)
    values = dict(zip(call.parameters, call.values, strict=True))
    assert values["lens"] is lens
    more = values["more"]
    assert isinstance(more, HostTensor)
    assert (more.dtype, more.array.tolist()) == ("int64", [0, 0, 0])
    assert (call.op, call.is_shown, call.settings) == ("op", False, {"A": "1"})
    # What is read as two types, as one that is not known, or as none, is not made.
    for text in ("more.data<int>(); more.data<float>()", "more.data<half>()", "more + 1"):
        assert list(make_calls("op", names, [text], recorded)) == []
    # One name in common is chance.
    assert list(make_calls("op", {"lens", "more"}, ["more.data<int>()"], recorded)) == []
