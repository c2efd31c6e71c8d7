"""What the steps hand on: outcomes of calls, and which library has which op."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kernels.emulator.library import HostTensor
from kernels.emulator.replaying import Outcome

DIED = Outcome([], "the process died")
# Orders of threads: what differs between them a GPU may give either way.
SCHEDULES = (0, 1, 2)


@dataclass(frozen=True)
class OpLibraries:
    """The runtime's library, and the paths of those that register each op."""

    runtime: str
    paths: Mapping[str, Sequence[str]]

    def of(self, op: str) -> dict[Path, set[str]]:
        """As `Library` takes them."""
        return {Path(path): {op} for path in self.paths[op]}


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
