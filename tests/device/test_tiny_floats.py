"""The emulator's 8-bit floats beside PyTorch's: every half that is not too large, and every code."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from kernels.emulator.compiler import RUNTIME
from kernels.emulator.standins.paddle.small_floats import BFLOAT16, FLOAT8, rounded, to_bits
from kernels.emulator.standins.paddle.tensor import Tensor
from kernels.emulator.toolchain import find_toolchain
from tests.device.test_command import needs_compiler

torch = pytest.importorskip("torch")
pytestmark = needs_compiler

_PROGRAM = """
#include <cstdio>
#include "emulator/tiny_floats.h"

int main() {
  for (int bits = 0; bits < 65536; ++bits) {
    unsigned wide = unsigned(bits) << 16;
    float value;
    __builtin_memcpy(&value, &wide, 4);
    std::printf("%d %d\\n", emulator::Float8E4m3::from_double(value),
                emulator::Float8E5m2::from_double(value));
  }
  for (int code = 0; code < 256; ++code) {
    std::printf("%.9g %.9g\\n", emulator::Float8E4m3::to_float(code),
                emulator::Float8E5m2::to_float(code));
  }
}
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    folder: Path = tmp_path_factory.mktemp("floats")
    (folder / "a.cc").write_text(_PROGRAM)
    command = [find_toolchain().path, "-std=c++17", "-I", str(RUNTIME / "include"), "a.cc"]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run([str(folder / "a.out")], capture_output=True, text=True, check=True)
    return [line.split() for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("column", "kind", "largest"),
    [(0, torch.float8_e4m3fn, 448.0), (1, torch.float8_e5m2, 57344.0)],
)
def test_every_number(
    printed: list[list[str]], column: int, kind: torch.dtype, largest: float
) -> None:
    bits = np.arange(65536, dtype=np.uint32) << 16
    values = torch.from_numpy(bits.view(np.float32).copy())
    ours = np.array([int(line[column]) for line in printed[:65536]], np.uint8)
    theirs = values.to(kind).view(torch.uint8).numpy()
    within = (values.abs() <= largest).numpy()
    assert np.array_equal(ours[within], theirs[within])
    # What is too large becomes the largest number, and what is none stays none.
    code = int(torch.tensor(largest).to(kind).view(torch.uint8))
    above = (values > largest).numpy()
    assert set(ours[above].tolist()) == {code}
    assert set(ours[values.isnan().numpy()].tolist()) == {0x7F}


@pytest.mark.parametrize(("column", "kind"), [(0, torch.float8_e4m3fn), (1, torch.float8_e5m2)])
def test_every_code(printed: list[list[str]], column: int, kind: torch.dtype) -> None:
    ours = np.array([float(line[column]) for line in printed[65536:]], np.float32)
    theirs = torch.arange(256, dtype=torch.uint8).view(kind).float().numpy()
    assert np.array_equal(ours, theirs, equal_nan=True)


@pytest.mark.parametrize(
    ("kind", "name"), [(torch.float8_e4m3fn, FLOAT8), (torch.bfloat16, BFLOAT16)]
)
def test_a_tensor_of_a_test(kind: torch.dtype, name: str) -> None:
    values = torch.linspace(-448, 448, 100_001)
    bits = torch.uint8 if name == FLOAT8 else torch.int16
    theirs = values.to(kind)
    assert np.array_equal(rounded(values.numpy(), name), theirs.float().numpy())
    ours = to_bits(values.numpy(), name)
    assert np.array_equal(ours, theirs.view(bits).numpy().view(ours.dtype))
    tensor = Tensor(values.numpy(), name)
    assert (tensor.dtype, tensor.element_size()) == (name, ours.itemsize)
    # What an op leaves as it is comes back as it was.
    given = tensor.host_tensor()
    assert np.array_equal(given.array, ours)
    tensor.take(given)
    assert np.array_equal(tensor.numpy(), theirs.float().numpy())
    assert np.array_equal(Tensor.of_result(given).numpy(), theirs.float().numpy())
