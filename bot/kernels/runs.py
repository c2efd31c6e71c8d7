"""Whole runs: every op of one package, or of two packages against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import bot
from bot.errors import UserError
from bot.kernels import confine
from bot.kernels.package import Package
from bot.kernels.process import OpJob, OpResult, run
from checks.kernelrun import trusted_files
from checks.kernelrun.judge import HarnessProcess, Standard, Tensors, judge, merge_processes
from checks.kernelrun.model import KernelCase, KernelRunResult

Progress = Callable[[str, str, int, int], None]
"""Called all the while with op, side, process number and number of processes."""

BASE, HEAD = "base", "head"
TIMED = (BASE, HEAD, HEAD, BASE)
"""Each side once before and once after the other, so that a machine that warms up or slows down
hurts both alike.
"""
UNTIMED = (BASE, HEAD)
"""The interpreter's times mean nothing, so there is nothing to balance."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run. `limit` is in seconds for one case."""

    ops: tuple[str, ...]
    device: str
    limit: float


@dataclass(slots=True)
class _Side:
    """What one side's processes gave, op after op.

    `outputs` are by `op/case`; `bandwidths` has one number for each op where it was measured.
    """

    harness: str
    versions: dict[str, str] = field(default_factory=dict)
    device: dict[str, object] = field(default_factory=dict)
    cases: list[KernelCase] = field(default_factory=list)
    outputs: dict[str, Tensors] = field(default_factory=dict)
    bandwidths: list[float] = field(default_factory=list)

    def note(self, result: OpResult) -> None:
        """Take versions and device from the first process that says them."""
        self.versions = self.versions or result.process.journal.versions
        self.device = self.device or result.process.journal.device

    def add(self, op: str, standard: Standard, processes: Sequence[HarnessProcess]) -> None:
        """Add the op's cases, from one or more processes of this side."""
        self.cases += merge_processes([judge(op, standard, process) for process in processes])
        if standard.bandwidth is not None:
            self.bandwidths.append(standard.bandwidth)
        # The first process wins: its outputs are written last.
        for process in reversed(processes):
            for case, tensors in process.outputs.items():
                self.outputs[f"{op}/{case}"] = tensors

    def run(self, plan: Plan) -> KernelRunResult:
        """The whole run. Only tensors that a case names are kept."""
        tensors = {}
        for case in self.cases:
            for output in case.outputs:
                name = f"{case.op}/{case.name}"
                tensors[f"{name}/{output.name}"] = self.outputs[name][output.name]
        return KernelRunResult(
            versions={"specbot": bot.__version__} | self.versions,
            device=self.device,
            harness=self.harness,
            confinement=confine.confinement(plan.device),
            cases=tuple(self.cases),
            tensors=tensors,
            bandwidth=max(self.bandwidths, default=None),
        )


def chosen(package: Package, wanted: Sequence[str]) -> tuple[str, ...]:
    """The ops to run: the wanted ones, or all that the package has cases for.

    Raises `UserError`.
    """
    known = trusted_files.ops(package)
    for name in wanted:
        if name not in known:
            raise UserError("kernels-unknown-op", name=name, known=list(known))
    if not wanted:
        return known
    return tuple(op for op in known if op in wanted)


def alone(package: Package, plan: Plan, progress: Progress) -> KernelRunResult:
    """Run every op of one package, compared with its own reference."""
    side = _Side(trusted_files.digest(package))
    for number, op in enumerate(plan.ops, 1):
        job = OpJob(op, plan.device, plan.limit, True)
        result = _run_op(job, package, _tick(progress, op, "", number, len(plan.ops)))
        side.note(result)
        side.add(op, result.standard or Standard({}, {}), [result.process])
    return side.run(plan)


def against(
    base: Package, head: Package, judge_: Package, plan: Plan, progress: Progress
) -> tuple[KernelRunResult, KernelRunResult]:
    """Run both sides under one harness, that of `judge_`, which is `base` or `head`.

    The reference comes from that side too, in a process that never loads the other's code.
    """
    packages = {
        BASE: trusted_files.with_harness_of(judge_, base),
        HEAD: trusted_files.with_harness_of(judge_, head),
    }
    judging = HEAD if judge_ is head else BASE
    digest = trusted_files.digest(packages[judging])
    sides = {BASE: _Side(digest), HEAD: _Side(digest)}
    order = TIMED if plan.device == "cuda" else UNTIMED
    number = 0
    for op in plan.ops:
        processes: dict[str, list[HarnessProcess]] = {BASE: [], HEAD: []}
        standard = Standard({}, {})
        for name in order:
            number += 1
            with_reference = name == judging and not processes[name]
            job = OpJob(op, plan.device, plan.limit, with_reference)
            tick = _tick(progress, op, name, number, len(order) * len(plan.ops))
            result = _run_op(job, packages[name], tick)
            sides[name].note(result)
            processes[name].append(result.process)
            standard = result.standard or standard
        for name, side in sides.items():
            side.add(op, standard, processes[name])
    # Both ran here: what the code under test says about the device does not count.
    for side in sides.values():
        side.device, side.versions = sides[judging].device, sides[judging].versions
    return sides[BASE].run(plan), sides[HEAD].run(plan)


def _tick(progress: Progress, op: str, side: str, number: int, total: int) -> Callable[[], None]:
    return lambda: progress(op, side, number, total)


def _run_op(job: OpJob, package: Package, tick: Callable[[], None]) -> OpResult:
    result = run(job, package, tick)
    if job.reference and result.process.journal.no_device:
        raise UserError("kernels-no-device")
    return result
