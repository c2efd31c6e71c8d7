"""Whole runs: every op of one package, or of two packages against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import bot
from bot.errors import UserError
from bot.kernels import confine
from bot.kernels.package import Package
from bot.kernels.process import Finished, Job, run
from checks.kernelrun import trusted_files
from checks.kernelrun.judge import HarnessProcess, Standard, Tensors, judge, merge_processes
from checks.kernelrun.model import Case, Run

Progress = Callable[[str, str, int, int], None]
"""Called all the while with op, side, process number and number of processes."""

BASE, HEAD = "base", "head"
TIMED = (BASE, HEAD, HEAD, BASE)
"""Each side once before and once after the other, so that a machine that warms up or slows down hurts both alike."""
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
    """What one side's processes gave, op after op."""

    harness: str
    versions: dict[str, str] = field(default_factory=dict)
    device: dict[str, object] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)
    outputs: dict[str, Tensors] = field(default_factory=dict)  # by op and case: `op/case`
    bandwidths: list[float] = field(default_factory=list)  # one for each op, where it was measured

    def note(self, finished: Finished) -> None:
        """Versions and device, from the first process that says them."""
        self.versions = self.versions or finished.process.journal.versions
        self.device = self.device or finished.process.journal.device

    def add(self, op: str, law_: Standard, processes: Sequence[HarnessProcess]) -> None:
        """The op's cases, from one or more processes of this side."""
        self.cases += merge_processes([judge(op, law_, p) for p in processes])
        self.bandwidths += [] if law_.bandwidth is None else [law_.bandwidth]
        for process in reversed(processes):
            self.outputs |= {f"{op}/{case}": tensors for case, tensors in process.outputs.items()}

    def run(self, plan: Plan) -> Run:
        """All of it. Only tensors that a case names are kept."""
        tensors = {
            f"{c.op}/{c.name}/{o.name}": self.outputs[f"{c.op}/{c.name}"][o.name]
            for c in self.cases
            for o in c.outputs
        }
        versions = {"specbot": bot.__version__} | self.versions
        held, roof = confine.confinement(plan.device), max(self.bandwidths, default=None)
        return Run(versions, self.device, self.harness, held, tuple(self.cases), tensors, roof)


def chosen(package: Package, wanted: Sequence[str]) -> tuple[str, ...]:
    """The ops to run: those asked for, or where none is all that the package has cases for."""
    known = trusted_files.ops(package)
    for name in wanted:
        if name not in known:
            raise UserError("kernels-unknown-op", name=name, known=list(known))
    return tuple(op for op in known if not wanted or op in wanted)


def alone(package: Package, plan: Plan, progress: Progress) -> Run:
    """Every op of one package, held against its own reference."""
    side = _Side(trusted_files.digest(package))
    for n, op in enumerate(plan.ops):
        finished = _one(
            Job(op, plan.device, plan.limit, True), package, "", progress, n, len(plan.ops)
        )
        side.note(finished)
        side.add(op, finished.law or Standard({}, {}), [finished.process])
    return side.run(plan)


def against(
    base: Package, head: Package, judge_: Package, plan: Plan, progress: Progress
) -> tuple[Run, Run]:
    """Both sides under one harness, `judge_`'s (which is `base` or `head`); the reference comes from that side too,
    in a process that never loads the other's code."""
    packages = {
        BASE: trusted_files.with_harness_of(judge_, base),
        HEAD: trusted_files.with_harness_of(judge_, head),
    }
    judging = HEAD if judge_ is head else BASE
    digest = trusted_files.digest(packages[judging])
    sides = {BASE: _Side(digest), HEAD: _Side(digest)}
    order = TIMED if plan.device == "cuda" else UNTIMED
    for n, op in enumerate(plan.ops):
        done: dict[str, list[HarnessProcess]] = {BASE: [], HEAD: []}
        laws = Standard({}, {})
        for i, name in enumerate(order):
            first = name == judging and not done[name]
            job = Job(op, plan.device, plan.limit, first)
            finished = _one(
                job, packages[name], name, progress, n * len(order) + i, len(order) * len(plan.ops)
            )
            sides[name].note(finished)
            done[name].append(finished.process)
            laws = finished.law or laws
        for name, side in sides.items():
            side.add(op, laws, done[name])
    # Both ran here; what the code under test says of the device is not asked.
    for side in sides.values():
        side.device, side.versions = sides[judging].device, sides[judging].versions
    return sides[BASE].run(plan), sides[HEAD].run(plan)


def _one(job: Job, package: Package, side: str, progress: Progress, n: int, total: int) -> Finished:
    finished = run(job, package, lambda: progress(job.op, side, n + 1, total))
    if job.reference and finished.process.journal.no_device:
        raise UserError("kernels-no-device")
    return finished
