"""The data of a kernel run: a status for every case, with its reason, its outputs and its times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np

from checks.kernelrun.tensors import Tensor

SCHEMA = 1
WHOLE_OP = "*"
"""The case name of an op whose cases are not known because it, or its cases, could not be imported.
"""


class CaseStatus(StrEnum):
    """Best first: a later one is worse than an earlier one."""

    OK = "ok"
    UNSUPPORTED = "unsupported"
    MISMATCH = "mismatch"
    NAN = "nan"
    ERROR = "error"
    TIMEOUT = "timeout"
    CRASHED = "crashed"

    def worse_than(self, other: CaseStatus) -> bool:
        """Whether a case that had `other` got worse.

        Crash, time limit and error are equally bad.
        """
        return _RANK[self] > _RANK[other]


_RANK = {
    CaseStatus.OK: 0, CaseStatus.UNSUPPORTED: 1, CaseStatus.MISMATCH: 2, CaseStatus.NAN: 3,
    CaseStatus.ERROR: 4, CaseStatus.TIMEOUT: 4, CaseStatus.CRASHED: 4,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class StatusReason:
    """Why a status is not `ok`: a key of `templates/words/kernelrun.toml` (`reason-<key>`) and its
    arguments.
    """

    key: str
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Output:
    """One output tensor.

    `max_error` is the largest difference from the reference, None where that has no size.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    sha256: str
    tolerance: float = 0.0
    max_error: float | None = None


@dataclass(frozen=True)
class Times:
    """Seconds a call; one tuple of samples for each process that measured.

    `how`: graph, eager or interpreter.
    """

    how: str
    processes: tuple[tuple[float, ...], ...]

    @cached_property
    def _quartiles(self) -> tuple[float, float, float]:
        samples = [s for process in self.processes for s in process]
        low, middle, high = (float(q) for q in np.percentile(samples, (25, 50, 75)))
        return low, middle, high

    @property
    def median(self) -> float:
        """Over all samples, in seconds."""
        return self._quartiles[1]

    @property
    def iqr(self) -> float:
        """The third quartile less the first, in seconds."""
        return self._quartiles[2] - self._quartiles[0]


@dataclass(frozen=True, slots=True)
class KernelCase:
    """What came of one case.

    `repeatable` is false where two processes of the same code gave different bytes; `bytes` is how
    large its inputs and outputs are together, None in files that do not say it.
    """

    op: str
    name: str
    status: CaseStatus
    reason: StatusReason | None = None
    max_error: float | None = None
    outputs: tuple[Output, ...] = ()
    times: Times | None = None
    repeatable: bool = True
    bytes: int | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Op and case name."""
        return self.op, self.name


@dataclass(frozen=True, slots=True)
class Confinement:
    """How the code under test was held: `tool` bwrap, unshare or none; limits that were set."""

    tool: str
    files: bool  # whether it could write to its own folder only
    limits: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KernelRunResult:
    """A whole run.

    `harness` is a digest of the cases, the harness and the reference that judged it; `bandwidth`
    what a large copy came to in the run, in bytes per second, None where none was measured.
    """

    versions: Mapping[str, str]
    device: Mapping[str, Any]
    harness: str
    confinement: Confinement
    cases: tuple[KernelCase, ...]
    tensors: Mapping[str, Tensor] = field(default_factory=dict)  # by `op/case/output`
    bandwidth: float | None = None

    def outputs_of(self, case: KernelCase) -> dict[str, Tensor]:
        """The tensors of a case, by output name."""
        start = f"{case.op}/{case.name}/"
        return {
            o.name: self.tensors[start + o.name]
            for o in case.outputs
            if start + o.name in self.tensors
        }
