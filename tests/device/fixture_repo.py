"""A small repository with device ops and their tests; every op shows one thing."""

from __future__ import annotations

import subprocess
import textwrap
from collections.abc import Iterable
from pathlib import Path

OPS = "custom_ops/gpu_ops"

_OP = """
#include "helper.h"

__global__ void {name}_kernel(int* values, int n) {{
  {body}
}}

void {function}(const paddle::Tensor& values) {{
  int n = static_cast<int>(values.shape()[0]);
  {name}_kernel<<<1, 64, 0, values.stream()>>>(const_cast<int*>(values.data<int>()), n);
}}

PD_BUILD_STATIC_OP({name})
    .Inputs({{"values"}})
    .Outputs({{"values_out"}})
    .SetInplaceMap({{{{"values", "values_out"}}}})
    .SetKernelFn(PD_KERNEL({function}));
"""

_TEST = """
import unittest

import numpy as np
import paddle

from engine.ops.gpu import {name}


class Test{function}(unittest.TestCase):
    def test_result(self):
        values = paddle.to_tensor(np.arange(8, dtype="int32"))
        {name}(values)
        np.testing.assert_array_equal(values.numpy(), {expected})
"""

_GUARDED = "if (threadIdx.x < n) values[threadIdx.x] {change};"
_UNCHANGED = "np.arange(8)"
_MIRRORED = """
  __shared__ int copy[64];
  if (threadIdx.x < n) copy[threadIdx.x] = values[threadIdx.x];
  {barrier}
  if (threadIdx.x < n) values[threadIdx.x] = copy[n - 1 - threadIdx.x];
"""
_DIVERGENT = """
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
"""

# The body of each op's kernel before and after the change, and what its test expects.
BODIES = {
    "add_one": (_GUARDED.format(change="+= 1"), _GUARDED.format(change="+= 2"), "np.arange(8) + 1"),
    "mirror": (
        _MIRRORED.format(barrier="__syncthreads();"),
        _MIRRORED.format(barrier=""),
        "np.arange(8)[::-1]",
    ),
    "keep": (
        _GUARDED.format(change="+= 0"),
        _GUARDED.format(change="+= 0;  // the same"),
        _UNCHANGED,
    ),
    # A sum that the compiler cannot take away.
    "past_end": (
        _GUARDED.format(change="+= n - 8"),
        "if (threadIdx.x <= n) values[threadIdx.x] += n - 8;",
        _UNCHANGED,
    ),
    "two_barriers": ("__syncthreads();", _DIVERGENT, _UNCHANGED),
    "tensor_core": (
        _GUARDED.format(change="+= 0"),
        'asm volatile("wgmma.fence.sync.aligned;" ::: "memory");',
        _UNCHANGED,
    ),
}
# The same for the input of its test, not where two neighbours are equal. Where one of the last values
# is another, both end the process.
_LAST = "values[3] + values[4] + values[5] + values[6] + values[7]"
_DIES = f" if (threadIdx.x == 0 && {_LAST} != 25) *(volatile int*)8 = 1;"
# No order, and not each number once: an input may have two of one.
_TWICE = 'np.array([0, 2, 0, 3, 4, 5, 6, 7], "int32")'
_OWN = "volatile int own[8]; for (int i = 0; i < 8; ++i) own[i] = i;"
_READ = "if (threadIdx.x == 0 && values[1] == values[2]) values[0] += own[{place}] * (n - 8);"
# What only two equal neighbours show: of the second nothing in the result.
NEIGHBOURS = {
    "neighbours": (
        "if (threadIdx.x == 0) values[0] += n - 8;" + _DIES,
        "if (threadIdx.x == 0) values[0] += n - 8 + (values[1] == values[2]);" + _DIES,
        _TWICE,
    ),
    "beside": (_OWN + _READ.format(place="n - 1"), _OWN + _READ.format(place="n"), _TWICE),
}
HOSTILE = {
    "reads_passwd": '#include "/etc/passwd"\n',
    "reads_spliced": '#inc\\\nlude "/etc/hostname"\n',
    "reads_by_macro": '#define FILE_NAME "/etc/passwd"\n#include FILE_NAME\n',
    "endless_templates": (
        "template <int N> struct Deep { static constexpr int value = Deep<N + 1>::value; };\n"
        "int deep = Deep<0>::value;\n"
    ),
    "leaves_at_start": "#include <cstdlib>\nstatic int leave = (std::exit(0), 1);\n",
}
# It takes no processor from others meanwhile.
_LOOPS = "for (;;) pause();"
# Each child forks as often as is left: 127 processes that never end, in place of all there could be.
_FORKS = """
  if (threadIdx.x == 0) {
    int parent = getpid();
    for (int i = 0; i < 7; ++i) fork();
    if (getpid() != parent) {
      prctl(PR_SET_NAME, "FORKED");
      for (;;) pause();
    }
  }
"""


def write_ops(folder: Path, side: int, names: Iterable[str] = tuple(BODIES)) -> None:
    """The tree of one side, 0 before the change, 1 after it, with the ops `names`."""
    ops = folder / OPS
    (ops / "deep").mkdir(parents=True, exist_ok=True)
    helper = '#pragma once\n#include "paddle/extension.h"\n#include <unistd.h>\n'
    (ops / "helper.h").write_text(helper)
    for name in names:
        bodies = (BODIES | NEIGHBOURS)[name]
        write_op(folder, ops / "deep" / f"{name}.cu", name, bodies[side], bodies[2])
        if name in NEIGHBOURS:
            test = folder / f"tests/test_{name}.py"
            test.write_text(test.read_text().replace('np.arange(8, dtype="int32")', _TWICE))


def write_hostile(folder: Path, fork_name: str) -> None:
    """Ops that mean harm, and those that do not; forked processes are called `fork_name`."""
    write_ops(folder, 0, ["add_one"])
    ops = folder / OPS
    body = _GUARDED.format(change="+= 0")
    for name, prefix in HOSTILE.items():
        write_op(folder, ops / f"{name}.cu", name, body, _UNCHANGED, prefix)
    write_op(folder, ops / "hangs.cu", "hangs", _LOOPS, _UNCHANGED)
    forks = _FORKS.replace("FORKED", fork_name)
    write_op(folder, ops / "forks.cu", "forks", forks, _UNCHANGED, "#include <sys/prctl.h>\n")
    write_op(folder, ops / "crashes.cu", "crashes", "*(int*)8 = 1;", _UNCHANGED)


def write_op(
    root: Path, source: Path, name: str, body: str, expected: str = _UNCHANGED, prefix: str = ""
) -> None:
    """A source whose kernel has a body, and its test."""
    function = name.title().replace("_", "")
    code = _OP.format(name=name, function=function, body=textwrap.dedent(body))
    source.write_text(prefix + code)
    tests = root / "tests"
    tests.mkdir(exist_ok=True)
    test = _TEST.format(name=name, function=function, expected=expected)
    (tests / f"test_{name}.py").write_text(test)


def take_size(folder: Path, name: str, *, is_test_adapted: bool) -> None:
    """The op gets its tensor's size as a second argument, from its test too if that is adapted."""
    [source] = folder.rglob(f"{name}.cu")
    text = source.read_text()
    text = text.replace("paddle::Tensor& values) {", "paddle::Tensor& values, int n) {")
    text = text.replace("  int n = static_cast<int>(values.shape()[0]);\n", "")
    text = text.replace('.Outputs({"values_out"})', '.Attrs({"n: int"}).Outputs({"values_out"})')
    source.write_text(text)
    if is_test_adapted:
        test = folder / f"tests/test_{name}.py"
        test.write_text(test.read_text().replace(f"{name}(values)", f"{name}(values, 8)"))


def read_limit(folder: Path, name: str, limit: str) -> None:
    """The op takes at most `limit` values where the environment has one, the text `most`."""
    [source] = folder.rglob(f"{name}.cu")
    size = "  int n = static_cast<int>(values.shape()[0]);\n"
    read = f'  if (const char* most = getenv("MOST_VALUES")) n = std::min(n, {limit});\n'
    source.write_text(source.read_text().replace(size, size + read))


def set_strides(folder: Path, name: str) -> None:
    """The op asks for a tensor with strides that leave its memory, which the emulator does not
    have."""
    [source] = folder.rglob(f"{name}.cu")
    size = "  int n = static_cast<int>(values.shape()[0]);\n"
    asked = "  phi::DenseTensor wide;\n  wide.Resize({2});\n"
    asked += "  wide.AllocateFrom(nullptr, paddle::DataType::INT32);\n  wide.set_strides({2});\n"
    source.write_text(source.read_text().replace(size, size + asked))


def catch_errors(folder: Path, name: str) -> None:
    """The test goes on where the op does not."""
    test = folder / f"tests/test_{name}.py"
    call = f"        {name}(values)\n"
    caught = f"        with contextlib.suppress(RuntimeError):\n    {call}"
    text = test.read_text().replace("import unittest\n", "import contextlib\nimport unittest\n")
    test.write_text(text.replace(call, caught))


_HALVES = """
#include "paddle/extension.h"

template <class T>
__global__ void halve_kernel(T* values, const float* factors, int n) {
  int i = threadIdx.x;
  if (i < n) values[i] = static_cast<T>(static_cast<float>(values[i]) * factors[i] / DIVISOR(T));
}

template <class T>
void HalveAs(const paddle::Tensor& values, const paddle::Tensor& factors) {
  int n = static_cast<int>(values.shape()[0]);
  halve_kernel<T><<<1, 64>>>(const_cast<T*>(values.data<T>()), factors.data<float>(), n);
}

void Halve(const paddle::Tensor& values, const paddle::Tensor& factors) {
  switch (values.dtype()) {
    case paddle::DataType::FLOAT16: return HalveAs<paddle::float16>(values, factors);
    case paddle::DataType::FLOAT32: return HalveAs<float>(values, factors);
    default: PD_THROW("halve takes no such values");
  }
}

PD_BUILD_STATIC_OP(halve)
    .Inputs({"values", "factors"})
    .Outputs({"values_out"})
    .SetInplaceMap({{"values", "values_out"}})
    .SetKernelFn(PD_KERNEL(Halve));
"""
_HALVES_TEST = """
import numpy as np
import paddle

from engine.ops.gpu import halve


def test_halve():
    values = paddle.to_tensor(np.arange(4, dtype="float32"))
    halve(values, paddle.to_tensor(np.full(4, 3.0, "float32")))
    assert values.tolist() == [0.0, 1.5, 3.0, 4.5]
"""


def write_halves(folder: Path, divisor: str) -> None:
    """An op that takes halves too, which its test does not give it; `divisor` is by `sizeof(T)`."""
    for name, text in (("halve.cu", _HALVES), ("../../tests/test_halve.py", _HALVES_TEST)):
        path = folder / OPS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("DIVISOR(T)", divisor))


def commit(folder: Path, message: str) -> str:
    """Commit everything; the commit's id."""
    if not (folder / ".git").exists():
        _git(folder, "init", "-q", "-b", "main")
    _git(folder, "add", "-A")
    _git(folder, "commit", "-qm", message)
    return _git(folder, "rev-parse", "HEAD").strip()


def _git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
