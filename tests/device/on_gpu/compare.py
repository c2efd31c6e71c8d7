"""What the GPU gave beside what the emulator gave."""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kernels.emulator.library import HostTensor
from kernels.emulator.recording import load_call
from kernels.emulator.replaying import Outcome, compare, load_outcome
from tests.device.arguments import write_result
from tests.device.on_gpu.calls import SCHEDULES

SAME, ROUNDED, BY_ORDER, BOTH_FAIL, DIFFERS = (
    "the same bits",
    "within rounding",
    "depends on the order of threads",
    "an error on both",
    "differs",
)
_MOST_TOLD = 5


def main(arguments: Sequence[str] | None = None) -> None:
    """Print and write how many calls of each op agree."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", required=True, help="the GPU's name")
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args(arguments)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    told: dict[str, list[str]] = defaultdict(list)
    for path in sorted((args.folder / "calls").rglob("*.npz")):
        gpu = load_outcome(args.folder / "gpu-0" / path.name)
        files = [args.folder / f"emulated-{seed}" / path.name for seed in SCHEDULES]
        emulated = [outcome for outcome in map(load_outcome, files) if outcome is not None]
        if gpu is None or not emulated:
            continue
        op = load_call(path).op
        kind, difference = judge(gpu, emulated)
        counts[op][kind] += 1
        if difference and len(told[op]) < _MOST_TOLD:
            told[op].append(f"{path.name}: {difference}")
    total = sum(counts.values(), Counter[str]())
    for op, kinds in sorted(counts.items()):
        print(f"{op:45}", dict(kinds))
    print(f"{len(counts)} ops, {total.total()} calls: {dict(total)}")
    ops = {op: dict(kinds) | {"told": told[op]} for op, kinds in sorted(counts.items())}
    result: dict[str, Any] = {"device": args.device, "calls": dict(total), "ops": ops}
    write_result(result, args.output)


def judge(gpu: Outcome, emulated: list[Outcome]) -> tuple[str, str]:
    """How they agree, and the first difference where they do not."""
    if gpu.error and all(outcome.error for outcome in emulated):
        return BOTH_FAIL, ""
    if is_same(gpu, emulated[0]):
        return SAME, ""
    difference = compare(emulated[0], gpu, 0, 0)
    if not difference:
        return ROUNDED, ""
    if any(compare(emulated[0], other, 0, seed) for seed, other in enumerate(emulated)):
        return BY_ORDER, ""
    return DIFFERS, difference


def is_same(one: Outcome, other: Outcome) -> bool:
    """Whether both gave the same numbers; what is no number equals itself."""
    if one.error or other.error or len(one.tensors) != len(other.tensors):
        return False
    return all(map(_has_same_numbers, one.tensors, other.tensors))


def _has_same_numbers(one: HostTensor, other: HostTensor) -> bool:
    if one.array.shape != other.array.shape:
        return False
    return bool(((one.array == other.array) | _both_nan(one.array, other.array)).all())


def _both_nan(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.asarray((one != one) & (other != other))


if __name__ == "__main__":
    main()
