"""Patch coverage: which added lines the tests executed, and of which nobody knows.

Unknown, never 100 %: CUDA and Triton code, which no coverage tool sees; files in no report; lines that only a report
of another commit has; lines that the report of a job which died might have covered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from checks.ci import coverage_files
from checks.ci.coverage_files import CoverageError, Lines
from checks.ci.frames import in_repository
from checks.ci.message_keys import CoverageReason, Note
from checks.ci.model import CIRun, CoverageFile, Files
from checks.ci.report import CoverageState, FileCoverage, FlagCoverage, Frame, PatchCoverage
from checks.core.change import ChangeSet, FileChange
from checks.core.config import Config
from checks.core.finding import Message
from checks.lang.source import language

_DEVICE_SUFFIXES = (".cu", ".cuh", ".xpu", ".maca", ".mu", ".hip")
_TRITON = ("triton.jit", "triton.autotune", "triton.heuristics", "jit")


@dataclass(frozen=True)
class _Report:
    file: CoverageFile
    lines: Lines


def of_patch(run: CIRun, files: Files, change: ChangeSet, config: Config) -> PatchCoverage:
    """The coverage of the change's added product lines, with the flags and the project before and after."""
    paths = frozenset(change.head.paths())
    notes: list[Message] = []
    reports = [
        r for f in run.coverage if f.path and (r := _read(f, files, paths, notes)) is not None
    ]
    came = _sorted(run, reports)
    others = (r for r in reports if r not in (*came.here, *came.before))
    notes += [
        Message(Note.COVERAGE_OTHER_COMMIT, {"path": r.file.path, "commit": r.file.commit})
        for r in others
    ]
    died = any((job := run.job(f.job)) is None or job.failed for f in came.lost)
    fresh, older = (
        [r.lines for r in came.here if r.file.carried_forward is old] for old in (False, True)
    )
    patch = _Patch(
        change, coverage_files.merged(fresh), coverage_files.merged(older), bool(came.lost), died
    )
    shown = {r.file.flag for r in came.here}
    same_flags = {r.file.flag for r in came.before} == shown
    return PatchCoverage(
        files=tuple(patch.of(f) for f in change.files if _counts(f, config)),
        flags=(
            *(_flag(r) for r in came.here),
            *(FlagCoverage(f.flag, 0, 0, missing=True) for f in came.lost if f.flag not in shown),
        ),
        project=_percent(came.here),
        base_project=_percent(came.before) if same_flags else None,
        notes=tuple(notes),
    )


@dataclass(frozen=True)
class _Came:
    """`here`: of this commit, or carried forward to it; `before`: of the base; `lost`: flags that did not come."""

    here: tuple[_Report, ...]
    before: tuple[_Report, ...]
    lost: tuple[CoverageFile, ...]


def _sorted(run: CIRun, reports: list[_Report]) -> _Came:
    """A flag that only the base has is carried forward from it."""
    revisions = run.revisions
    own, base = (
        {revisions.head, revisions.merge} - {""},
        {revisions.base, revisions.merge_base} - {""},
    )
    here = [r for r in reports if r.file.commit in own or r.file.carried_forward]
    before = [r for r in reports if r.file.commit in base and not r.file.carried_forward]
    flags = {r.file.flag for r in here}
    older = [
        replace(r, file=replace(r.file, carried_forward=True))
        for r in before
        if r.file.flag not in flags
    ]
    lost = tuple(f for f in run.coverage if not f.path and f.commit in own)
    return _Came((*here, *older), tuple(before), lost)


def _read(
    file: CoverageFile, files: Files, paths: frozenset[str], notes: list[Message]
) -> _Report | None:
    stream = files.open(file.path)
    lines: Lines | None = None
    if stream is not None:
        with stream:
            try:
                lines = coverage_files.read(stream)
            except CoverageError:
                lines = None
    if lines is None:
        notes.append(Message(Note.COVERAGE_BROKEN, {"path": file.path}))
        return None
    placed = in_repository([Frame(name, 0) for name in lines], paths)
    return _Report(
        file, {frame.path: own for frame, own in zip(placed, lines.values(), strict=True)}
    )


def _counts(file: FileChange, config: Config) -> bool:
    path = file.head_path
    return path is not None and file.added > 0 and language(path) != "" and not config.is_test(path)


@dataclass(frozen=True)
class _Patch:
    """Lines by this commit's own reports, and by those that are carried forward: these know the file, and what they
    would say of it now is open. `lost`: a report did not come; `died`: for its job did not end well."""

    change: ChangeSet
    fresh: Lines
    older: Lines
    lost: bool
    died: bool

    def of(self, file: FileChange) -> FileCoverage:
        path, added = file.path, file.head_lines()
        device = added if path.endswith(_DEVICE_SUFFIXES) else added & set(self._triton(path))
        known = self.fresh.get(path)
        lines = {n: hits for n, hits in (known or {}).items() if n in added - device}
        missing = tuple(sorted(n for n, hits in lines.items() if hits == 0))
        reason = self._reason(path, device, known is not None, bool(missing))
        state = CoverageState.MEASURED if reason is None else CoverageState.UNKNOWN
        said = reason or (CoverageReason.NO_CODE if not lines else None)
        covered = len(lines) - len(missing)
        return FileCoverage(path, state, len(added), len(lines), covered, missing, str(said or ""))

    def _reason(
        self, path: str, device: set[int], known: bool, missing: bool
    ) -> CoverageReason | None:
        if device:
            return CoverageReason.DEVICE
        if self.lost and (missing or not known):
            return CoverageReason.JOB_DIED if self.died else CoverageReason.NO_REPORT
        if path in self.older and (missing or not known):
            return CoverageReason.CARRIED
        if known:
            return None
        return CoverageReason.NOT_IN_REPORT if self.fresh else CoverageReason.NO_REPORT

    def _triton(self, path: str) -> Iterator[int]:
        """Lines of Triton kernels: they run on the device, whatever a Python tool counts."""
        unit = self.change.unit(path) if path.endswith(".py") else None
        for function in unit.functions if unit is not None else ():
            if any(mark.split("(")[0] in _TRITON for mark in function.marks):
                yield from range(function.start_line, function.end_line + 1)


def _flag(report: _Report) -> FlagCoverage:
    hits = [h for lines in report.lines.values() for h in lines.values()]
    return FlagCoverage(
        report.file.flag, len(hits), sum(h > 0 for h in hits), report.file.carried_forward
    )


def _percent(reports: Iterable[_Report]) -> float | None:
    hits = [
        h
        for lines in coverage_files.merged(r.lines for r in reports).values()
        for h in lines.values()
    ]
    return 100 * sum(h > 0 for h in hits) / len(hits) if hits else None
