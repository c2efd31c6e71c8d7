"""Patch coverage: which added lines the tests executed, and of which nobody knows.

Unknown, never 100 %, are: CUDA and Triton code, which no coverage tool sees; files in no report;
lines that only a report of another commit has; lines that the report of a job which died might have
covered.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from checks.ci import coverage_files
from checks.ci.coverage_files import CoverageError, LineCoverage, Lines
from checks.ci.frames import in_repository
from checks.ci.message_keys import CoverageReason, Note
from checks.ci.model import CIRun, CoverageFile, Files
from checks.ci.report import (
    CoverageState,
    CoverageTotals,
    FileCoverage,
    FlagCoverage,
    Frame,
    PatchCoverage,
)
from checks.core.change import ChangeSet, FileChange
from checks.core.config import Config
from checks.core.finding import Message
from checks.lang.source import language

_DEVICE_SUFFIXES = (".cu", ".cuh", ".xpu", ".maca", ".mu", ".hip")
_TRITON = ("triton.jit", "triton.autotune", "triton.heuristics", "jit")


@dataclass(frozen=True)
class _Report:
    """A coverage report that could be read, its lines by the repository's paths."""

    file: CoverageFile
    lines: Lines


@dataclass(frozen=True)
class _Reports:
    """The reports by the commit they are of.

    `current`: of this commit, or carried forward to it; `base`: of the base; `lost`: reports that
    should have come.
    """

    current: tuple[_Report, ...]
    base: tuple[_Report, ...]
    lost: tuple[CoverageFile, ...]


def of_patch(run: CIRun, files: Files, change: ChangeSet, config: Config) -> PatchCoverage:
    """The coverage of the added product lines, with the flags and the project before and after."""
    paths = frozenset(change.head.paths())
    notes: list[Message] = []
    readable: list[_Report] = []
    for file in run.coverage:
        if not file.path:
            continue
        report = _read(file, files, paths)
        if report is None:
            notes.append(Message(Note.COVERAGE_BROKEN, {"path": file.path}))
        else:
            readable.append(report)
    reports = _sort_by_commit(run, readable)
    for report in readable:
        if report not in reports.current and report not in reports.base:
            args = {"path": report.file.path, "commit": report.file.commit}
            notes.append(Message(Note.COVERAGE_OTHER_COMMIT, args))
    patch = _Patch(
        change=change,
        fresh=_merge(r for r in reports.current if not r.file.carried_forward),
        older=_merge(r for r in reports.current if r.file.carried_forward),
        report_lost=bool(reports.lost),
        job_died=_job_died(run, reports.lost),
    )
    current_flags = {report.file.flag for report in reports.current}
    base_flags = {report.file.flag for report in reports.base}
    product = [file for file in change.files if _is_product(file, config)]
    base_reports = _group_by_flag(reports.base)
    flags = []
    for name, of_flag in _group_by_flag(reports.current).items():
        flag = _flag_coverage(name, of_flag, patch, product)
        if not flag.carried_forward and name in base_reports:
            flag = replace(flag, base=_totals(base_reports[name]).percent)
        flags.append(flag)
    for lost in reports.lost:
        if lost.flag not in current_flags:
            flags.append(FlagCoverage(lost.flag, 0, 0, missing=True))
    totals, base_totals = _totals(reports.current), _totals(reports.base)
    is_comparable = base_flags == current_flags
    return PatchCoverage(
        files=tuple(patch.file_coverage(file) for file in product),
        flags=tuple(flags),
        project=totals.percent,
        base_project=base_totals.percent if is_comparable else None,
        notes=tuple(notes),
        totals=totals if totals.lines else None,
        base_totals=base_totals if is_comparable and base_totals.lines else None,
    )


def _read(file: CoverageFile, files: Files, paths: frozenset[str]) -> _Report | None:
    stream = files.open(file.path)
    if stream is None:
        return None
    with stream:
        try:
            lines = coverage_files.read(stream)
        except CoverageError:
            return None
    frames = in_repository([Frame(name, 0) for name in lines], paths)
    placed = {}
    for frame, lines_of_file in zip(frames, lines.values(), strict=True):
        placed[frame.path] = lines_of_file
    return _Report(file, placed)


def _sort_by_commit(run: CIRun, reports: list[_Report]) -> _Reports:
    """The reports by commit. A flag that only the base has is carried forward from it."""
    revisions = run.revisions
    own_commits = {revisions.head, revisions.merge} - {""}
    base_commits = {revisions.base, revisions.merge_base} - {""}
    current: list[_Report] = []
    base: list[_Report] = []
    for report in reports:
        if report.file.commit in own_commits or report.file.carried_forward:
            current.append(report)
        if report.file.commit in base_commits and not report.file.carried_forward:
            base.append(report)
    current_flags = {report.file.flag for report in current}
    for report in base:
        if report.file.flag not in current_flags:
            file = replace(report.file, carried_forward=True)
            current.append(replace(report, file=file))
    lost = [file for file in run.coverage if not file.path and file.commit in own_commits]
    return _Reports(tuple(current), tuple(base), tuple(lost))


def _job_died(run: CIRun, lost: Iterable[CoverageFile]) -> bool:
    """Whether a report did not come because its job did not end well."""
    for file in lost:
        job = run.job(file.job)
        if job is None or job.failed:
            return True
    return False


def _merge(reports: Iterable[_Report]) -> Lines:
    return coverage_files.merged(report.lines for report in reports)


def _is_product(file: FileChange, config: Config) -> bool:
    """Whether the file's added lines are code that tests should execute."""
    path = file.head_path
    if path is None or not file.added:
        return False
    return language(path) != "" and not config.is_test(path)


@dataclass(frozen=True)
class _Patch:
    """The lines by this commit's own reports, and by those that are carried forward.

    The latter know the file, but what they would say about it now is open. `report_lost`: a report
    did not come; `job_died`: because its job did not end well.
    """

    change: ChangeSet
    fresh: Lines
    older: Lines
    report_lost: bool
    job_died: bool

    def file_coverage(self, file: FileChange) -> FileCoverage:
        """The coverage of the added lines of one file."""
        path = file.path
        added = file.head_lines()
        device_lines = self._device_lines(path, added)
        measured = self.measured_lines(file, self.fresh)
        missing = tuple(sorted(number for number, line in measured.items() if line.missed))
        partial = tuple(sorted(number for number, line in measured.items() if line.partial))
        if device_lines:
            unknown: CoverageReason | None = CoverageReason.DEVICE
        else:
            unknown = self._why_unknown(path, bool(missing or partial))
        reason = unknown
        if reason is None and not measured:
            reason = CoverageReason.NO_CODE
        return FileCoverage(
            path=path,
            state=CoverageState.MEASURED if unknown is None else CoverageState.UNKNOWN,
            added=len(added),
            executable=len(measured),
            covered=len(measured) - len(missing) - len(partial),
            missing=missing,
            reason=str(reason) if reason is not None else "",
            partial=partial,
            branches=sum(line.branches > 0 for line in measured.values()),
        )

    def measured_lines(self, file: FileChange, lines: Lines) -> dict[int, LineCoverage]:
        """What `lines` say of the file's added lines that a coverage tool can see."""
        added = file.head_lines()
        visible = added - self._device_lines(file.path, added)
        measured = {}
        for number, line in lines.get(file.path, {}).items():
            if number in visible:
                measured[number] = line
        return measured

    def _why_unknown(self, path: str, has_missing: bool) -> CoverageReason | None:
        """Why the file's coverage is not known, or None where it is."""
        in_fresh = path in self.fresh
        # Lines that were not executed may be executed in the report that is not here.
        is_open = has_missing or not in_fresh
        if self.report_lost and is_open:
            return CoverageReason.JOB_DIED if self.job_died else CoverageReason.NO_REPORT
        if path in self.older and is_open:
            return CoverageReason.CARRIED
        if in_fresh:
            return None
        return CoverageReason.NOT_IN_REPORT if self.fresh else CoverageReason.NO_REPORT

    def _device_lines(self, path: str, added: set[int]) -> set[int]:
        """The added lines that run on the device, whatever a Python tool counts."""
        if path.endswith(_DEVICE_SUFFIXES):
            return added
        source = self.change.unit(path) if path.endswith(".py") else None
        if source is None:
            return set()
        lines: set[int] = set()
        for function in source.functions:
            names = [mark.split("(")[0] for mark in function.marks]
            if any(name in _TRITON for name in names):
                lines.update(range(function.start_line, function.end_line + 1))
        return added & lines


def _group_by_flag(reports: Iterable[_Report]) -> dict[str, list[_Report]]:
    groups: dict[str, list[_Report]] = {}
    for report in reports:
        groups.setdefault(report.file.flag, []).append(report)
    return groups


def _flag_coverage(
    flag: str, reports: list[_Report], patch: _Patch, product: Iterable[FileChange]
) -> FlagCoverage:
    """A flag's lines, and those of the change where its reports are of this commit."""
    totals = _totals(reports)
    fresh = _merge(report for report in reports if not report.file.carried_forward)
    patch_lines: list[LineCoverage] = []
    for file in product:
        patch_lines += patch.measured_lines(file, fresh).values()
    return FlagCoverage(
        flag=flag,
        lines=totals.lines,
        covered=totals.hits,
        carried_forward=all(report.file.carried_forward for report in reports),
        patch_lines=len(patch_lines),
        patch_covered=sum(line.covered for line in patch_lines),
    )


def _totals(reports: Iterable[_Report]) -> CoverageTotals:
    files = _merge(reports)
    lines = [line for lines in files.values() for line in lines.values()]
    return CoverageTotals(
        files=sum(bool(lines) for lines in files.values()),
        lines=len(lines),
        branches=sum(line.branches > 0 for line in lines),
        hits=sum(line.covered for line in lines),
        misses=sum(line.missed for line in lines),
        partials=sum(line.partial for line in lines),
    )
