"""Mistakes put into the emulator's runtime, which the corpus has to notice.

    python -m tests.device.mutants

builds the corpus once for each, and prints those that no kernel of the corpus notices.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from kernels.emulator.corpus import __main__ as corpus

RUNTIME = Path(corpus.RUNTIME)


@dataclass(frozen=True)
class Mutant:
    """A text of a file below `runtime/`, and what stands there instead."""

    path: str
    text: str
    mistake: str


_DEVICE = "include/emulator/device_functions.h"
_SMALL = "include/emulator/small_floats.h"
_ATOMICS = "include/emulator/atomics.h"
_RANDOM = "include/curand_kernel.h"
_BLOCK = "include/cub/block.h"
_WHOLE = "include/cub/device.h"
_GROUPS = "include/cooperative_groups.h"
MUTANTS = (
    Mutant(_DEVICE, "return source < first ? lane : source;", "return source;"),
    Mutant(_DEVICE, "int source = lane ^ lane_mask;", "int source = lane + lane_mask;"),
    Mutant(_DEVICE, "if (takes_part && ", "if ("),
    Mutant(_DEVICE, "x == 0 ? 32 :", "x == 0 ? 31 :"),
    Mutant(_DEVICE, ">> (4 * i) & 7;", ">> (4 * i) & 3;"),
    Mutant(_SMALL, "rest > 0.5 || (rest == 0.5 && odd)", "rest >= 0.5"),
    Mutant(_SMALL, "if (error != 0 && even)", "if (false)"),
    Mutant(_SMALL, "std::max(exponent - 1, 1 - Bias)", "exponent - 1"),
    Mutant(_ATOMICS, "old >= value ? T(0)", "old > value ? T(0)"),
    Mutant(_ATOMICS, "old == expected ? value : old", "value"),
    Mutant(_RANDOM, "round < 10", "round < 9"),
    Mutant(_RANDOM, "if (moved < low &&", "if (false &&"),
    Mutant(_RANDOM, "leap_ahead(state, n, 67)", "leap_ahead(state, n, 66)"),
    Mutant(_BLOCK, "first < count; first += 32) result", "first < count; first += 64) result"),
    Mutant(
        _WHOLE,
        "std::invoke_result_t<Operation, std::decay_t<Initial>, std::decay_t<Item>>",
        "Initial",
    ),
    Mutant(_WHOLE, "!(in[i] == in[i - 1])", "!(in[i] == in[0])"),
    Mutant(_GROUPS, "return a ^ b;", "return a | b;"),
    Mutant("src/grid.cc", "barrier.running += predicate != 0;", "barrier.running += 1;"),
    Mutant(
        "src/grid.cc",
        "check_grid();\n  if (thread.state",
        "grid_arrived = 0; release(grid_waiting);\n  if (thread.state",
    ),
    Mutant("src/grid.cc", "linear / grid.x % grid.y", "linear / grid.x"),
)


def is_noticed(mutant: Mutant) -> bool:
    """Whether a kernel's bytes change, or the program does not build or run any more."""
    with tempfile.TemporaryDirectory(prefix="specbot-mutant-") as name:
        copy = Path(name) / "runtime"
        subprocess.run(["cp", "-r", str(RUNTIME), str(copy)], check=True)
        path = copy / mutant.path
        text = path.read_text("utf-8")
        assert mutant.text in text, mutant
        path.write_text(text.replace(mutant.text, mutant.mistake), encoding="utf-8")
        with mock.patch.object(corpus, "RUNTIME", copy):
            try:
                emulated = corpus.parse_output(corpus.emulate())
            except subprocess.CalledProcessError:
                return True
    digests = {kernel: corpus.digest(data) for kernel, data in emulated.items()}
    return digests != corpus.load_results()


def main() -> int:
    """1 where a mistake is not noticed."""
    missed = [mutant for mutant in MUTANTS if not is_noticed(mutant)]
    for mutant in missed:
        sys.stdout.write(f"not noticed: {mutant.path}: {mutant.mistake}\n")
    sys.stdout.write(f"{len(MUTANTS) - len(missed)} of {len(MUTANTS)} noticed\n")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
