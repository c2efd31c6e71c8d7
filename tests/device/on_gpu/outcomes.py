"""Outcomes of calls, as files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kernels.emulator.library import HostTensor
from kernels.emulator.replaying import Outcome

# Orders of threads: what differs between them a GPU may give either way.
SCHEDULES = (0, 1, 2)


def save(outcome: Outcome, path: Path) -> None:
    """Write an outcome."""
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {f"t{number}": tensor.array for number, tensor in enumerate(outcome.tensors)}
    kinds = np.array([tensor.dtype for tensor in outcome.tensors] or [""])
    error = {"error": np.array(outcome.error), "is_missing": np.array(outcome.is_missing)}
    np.savez_compressed(path, kinds=kinds, **error, **arrays)


def load(path: Path) -> Outcome:
    """Read an outcome."""
    with np.load(path, allow_pickle=False) as file:
        count = sum(name.startswith("t") for name in file.files)
        tensors = [HostTensor(file[f"t{i}"], str(file["kinds"][i])) for i in range(count)]
        return Outcome(tensors, str(file["error"]), bool(file["is_missing"]))
