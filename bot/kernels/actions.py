"""What `specbot kernels run`, `compare` and `diff` do; each gives the exit code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from bot.errors import UserError
from bot.files import write_output
from bot.git import Git, Range, resolve
from bot.i18n.catalog import Catalog
from bot.kernels import package, results, runs
from bot.kernels.package import Package
from bot.reports import kernelpairs, kernelrun
from bot.reports.kernelpairs import JudgedComparison, KernelReport
from checks.kernelrun import trusted_files
from checks.kernelrun.comparison import compare as compare_runs
from checks.kernelrun.model import CaseStatus

GPU = Path("/dev/nvidia0")


def run(args: argparse.Namespace) -> int:
    """Run the installed kernels, write the results, print a table. 1 if a case is not ok."""
    folder = _folder(args.output)
    kernels = package.installed()
    progress = _Progress(Catalog(args.lang))
    done = runs.alone(kernels, _plan(args, kernels), progress)
    progress.clear()
    results.save(done, folder)
    write_output(kernelrun.render(done, args.format, args.lang), None)
    return int(any(c.status not in (CaseStatus.OK, CaseStatus.UNSUPPORTED) for c in done.cases))


def compare(args: argparse.Namespace) -> int:
    """Run two revisions' kernels against each other. 1 if a case of head got worse."""
    folder = _folder(args.output) if args.output else None
    git = Git(Path(args.repo))
    revisions = resolve(git, args.base, args.head, merge_base=False)
    progress = _Progress(Catalog(args.lang))
    report = pairs(git, revisions, lambda base: _plan(args, base), progress)
    progress.clear()
    if folder is not None:
        save(report, folder, args.lang)
    write_output(kernelpairs.render(report, args.format, args.lang), None)
    return int(report.worse)


def pairs(
    git: Git, revisions: Range, planned: Callable[[Package], runs.Plan], progress: runs.Progress
) -> KernelReport:
    """Both revisions' kernels under base's harness, and under head's too where that is another.

    `planned` says what is run of base's package.
    """
    base, head = package.revisions(git, revisions.base, revisions.head)
    plan, edited = planned(base), trusted_files.edited(base, head)
    judged = [
        JudgedComparison("base", compare_runs(*runs.against(base, head, base, plan, progress)))
    ]
    if edited and package.runnable(head):
        # Ops that head adds are known to head's cases alone, and run where all do.
        everything = plan.ops == trusted_files.ops(base)
        own = replace(
            plan, ops=tuple(op for op in trusted_files.ops(head) if everything or op in plan.ops)
        )
        judged.append(
            JudgedComparison("head", compare_runs(*runs.against(base, head, head, own, progress)))
        )
    return KernelReport(revisions.base, revisions.head, tuple(judged), edited)


def diff(args: argparse.Namespace) -> int:
    """Compare two folders of results.

    1 if a case of the second got worse, 2 if they cannot be compared.
    """
    base, head = (results.load(Path(folder)) for folder in (args.base, args.head))
    comparison = compare_runs(base, head)
    report = KernelReport(args.base, args.head, (JudgedComparison("", comparison),))
    write_output(kernelpairs.render(report, args.format, args.lang), None)
    return 2 if comparison.apart else int(report.worse)


def _plan(args: argparse.Namespace, kernels: Package) -> runs.Plan:
    names = [name for given in args.ops or () for name in given.split(",") if name]
    device = args.device or ("cuda" if GPU.exists() else "cpu")
    return runs.Plan(runs.chosen(kernels, names), device, args.timeout)


def _folder(name: str) -> Path:
    """The folder to write to: made before the minutes that a run takes, not found to be impossible
    after them.
    """
    folder = Path(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError("unwritable", path=name, reason=error.strerror) from error
    return folder


def save(report: KernelReport, folder: Path, language: str) -> None:
    """Write all results of a comparison, `kernels.md` and `kernels.json`."""
    for judged in report.judged:
        for side, done in (("base", judged.comparison.base), ("head", judged.comparison.head)):
            results.save(done, folder / f"under-{judged.by}" / side)
    write_output(kernelpairs.render(report, "markdown", language), str(folder / "kernels.md"))
    write_output(kernelpairs.render(report, "json", language), str(folder / "kernels.json"))


class _Progress:
    """One line on a terminal's standard error, and nothing elsewhere."""

    def __init__(self, words: Catalog) -> None:
        self._words = words
        self._shown = ""

    def __call__(self, op: str, side: str, number: int, total: int) -> None:
        if not sys.stderr.isatty():
            return
        line = self._words("kernelrun.progress", op=op, side=side, number=number, total=total)
        if line != self._shown:
            self._write(line)

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            self._write("")

    def _write(self, line: str) -> None:
        sys.stderr.write("\r\x1b[K" + line)
        sys.stderr.flush()
        self._shown = line
