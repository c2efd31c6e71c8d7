"""What else a CI report says: predictions, coverage, what changed, earlier results, notes."""

from __future__ import annotations

from collections.abc import Iterator

from bot.i18n.catalog import Catalog
from bot.i18n.templates import Escaped
from bot.reports.blocks import Block, Folded, Heading, Items, Table, Text
from bot.reports.ci.details import where
from bot.reports.ci.phrasing import message, name, state
from checks.ci.model import Job, Past
from checks.ci.report import (
    CIReport,
    CoverageState,
    FileCoverage,
    FlagCoverage,
    Outcome,
    PatchCoverage,
)
from checks.ci.report_diff import ReportDiff

_MOST_PAST = 12
_MOST_RANGES = 12


def predictions(report: CIReport, words: Catalog) -> Iterator[Block]:
    """How often the review was right, where it was not, and folded what became of each failure
    that it predicted."""
    if not report.predictions:
        return
    yield Heading(2, words("ci.heading-predictions"))
    confirmed = _outcomes(report, Outcome.CONFIRMED, words)
    refuted = _outcomes(report, Outcome.REFUTED, words)
    not_run = _outcomes(report, Outcome.NOT_RUN, words)
    yield Text(
        words(
            "ci.predictions",
            count=len(confirmed) + len(refuted) + len(not_run),
            confirmed=len(confirmed),
            refuted=len(refuted),
            not_run=len(not_run),
        )
    )
    if refuted:
        yield Items(refuted)
    if confirmed or not_run:
        yield Folded(words("ci.predictions-each"), (Items((*confirmed, *not_run)),))


def _outcomes(report: CIReport, outcome: Outcome, words: Catalog) -> tuple[str, ...]:
    """The predictions that ended in `outcome`, each once: two lines of a fixture may predict the
    failure of one test."""
    job_names = {job.id: name(job) for job in report.run.jobs}
    lines: dict[str, None] = {}
    for prediction in report.predictions:
        if prediction.outcome is not outcome:
            continue
        line = words(
            f"ci.prediction-{prediction.outcome}",
            test=prediction.test,
            job=job_names.get(prediction.job, prediction.job),
            error=prediction.error,
            exception=prediction.exception,
        )
        lines[line] = None
    return tuple(lines)


def since(diff: ReportDiff, words: Catalog) -> Iterator[Block]:
    """What changed since the last report."""
    lines = []
    if diff.head:
        lines.append(words("ci.since-commit", old=diff.head[:12]))
    for kind in ("failed", "passed", "finished", "started"):
        names = getattr(diff, kind)
        if names:
            lines.append(words(f"ci.since-{kind}", names=list(names)))
    yield Heading(2, words("ci.heading-since"))
    if lines:
        yield Items(tuple(lines))
    else:
        yield Text(words("ci.since-same"))


def coverage(patch: PatchCoverage, words: Catalog) -> Iterator[Block]:
    """The coverage of the patch, file by file, and behind a line that of the project."""
    yield Heading(2, words("ci.heading-coverage"))
    lines = [_patch(patch, words)]
    unknown = sum(file.state is CoverageState.UNKNOWN for file in patch.files)
    if unknown:
        lines.append(words("ci.coverage-incomplete", count=unknown))
    lines += _project(patch, words)
    lines += [message(note, words) for note in patch.notes]
    yield Items(tuple(lines))
    if patch.files:
        columns = ("file", "percent", "lines", "branches", "missing", "partial")
        header = tuple(words(f"ci.coverage-{key}") for key in columns)
        yield Table(header, tuple(_file(file, words) for file in patch.files))
    project = tuple(_project_tables(patch, words))
    if project:
        yield Folded(words("ci.coverage-details"), project)


def _patch(patch: PatchCoverage, words: Catalog) -> str:
    if patch.percent is None:
        return words("ci.coverage-none")
    return words(
        "ci.coverage-patch",
        covered=patch.covered,
        executable=patch.executable,
        percent=f"{patch.percent:.1f}%",
        missing=sum(len(file.missing) for file in patch.files),
        partial=sum(len(file.partial) for file in patch.files),
    )


def _project(patch: PatchCoverage, words: Catalog) -> Iterator[str]:
    """The project's coverage, and how much it changed where that is known."""
    if patch.project is None:
        return
    project = _percent(patch.project)
    if patch.base_project is None:
        yield words("ci.coverage-project-only", project=project)
        return
    base, delta = _percent(patch.base_project), _difference(patch.project, patch.base_project)
    yield words("ci.coverage-project", project=project, base=base, delta=Escaped(delta))


def _project_tables(patch: PatchCoverage, words: Catalog) -> Iterator[Block]:
    """The project before and after, and each flag, as Codecov's comment has them."""
    if patch.totals is not None:
        header = ("", *(words(f"ci.coverage-{key}") for key in ("base", "head", "difference")))
        rows = []
        for name in ("percent", "files", "lines", "branches", "hits", "misses", "partials"):
            after = getattr(patch.totals, name)
            before = getattr(patch.base_totals, name) if patch.base_totals is not None else None
            label = words(f"ci.coverage-of-{name}")
            rows.append((label, _amount(before), _amount(after), _difference(after, before)))
        yield Table(header, tuple(rows))
    if patch.flags:
        columns = ("flag", "covered", "of-percent", "of-change", "difference", "remark")
        header = tuple(words(f"ci.coverage-{key}") for key in columns)
        yield Table(header, tuple(_flag(flag, words) for flag in patch.flags))


def _flag(flag: FlagCoverage, words: Catalog) -> tuple[str, ...]:
    name = words.style.code(flag.flag)
    if flag.missing:
        return name, "", "", "", "", words("ci.coverage-flag-missing")
    return (
        name,
        f"{flag.covered}/{flag.lines}",
        _amount(flag.percent),
        _amount(flag.patch_percent),
        _difference(flag.percent, flag.base),
        words("ci.coverage-flag-carried") if flag.carried_forward else "",
    )


def _percent(value: float) -> str:
    return f"{value:.2f}%"


def _amount(value: float | None) -> str:
    """A count or a percentage; empty where it is not known."""
    if value is None:
        return ""
    return _percent(value) if isinstance(value, float) else str(value)


def _difference(after: float | None, before: float | None) -> str:
    """With its sign; empty where either is not known."""
    if after is None or before is None:
        return ""
    return f"{after - before:+.2f}" if isinstance(after, float) else f"{after - before:+d}"


def _file(file: FileCoverage, words: Catalog) -> tuple[str, ...]:
    path = words.style.code(file.path)
    percent = f"{file.percent:.1f}%" if file.percent is not None else ""
    lines = f"{file.covered}/{file.executable}" if file.executable else f"{file.added}"
    branches = str(file.branches) if file.branches else ""
    missing = _missing(file, words)
    partial = words.style.code(", ".join(_ranges(file.partial))) if file.partial else ""
    return path, percent, lines, branches, missing, partial


def _missing(file: FileCoverage, words: Catalog) -> str:
    """The lines that did not run, or why nobody knows them."""
    if file.state is CoverageState.UNKNOWN:
        reason = words(f"ci.coverage-reason-{file.reason}")
        return words("ci.coverage-unknown", reason=Escaped(reason))
    if not file.executable:
        return words("ci.coverage-reason-no-code")
    if file.missing:
        return words.style.code(", ".join(_ranges(file.missing)))
    return words("ci.coverage-none-missing") if file.partial else words("ci.coverage-all")


def _ranges(lines: tuple[int, ...]) -> list[str]:
    """`3, 5-9` for sorted line numbers."""
    ranges: list[tuple[int, int]] = []
    for line in lines:
        if ranges and line == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], line)
        else:
            ranges.append((line, line))
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
    if len(texts) > _MOST_RANGES:
        return [*texts[:_MOST_RANGES], "…"]
    return texts


def past(report: CIReport, words: Catalog) -> Iterator[Block]:
    """Results elsewhere of the tests that failed here, the newest first."""
    tests: set[str] = set()
    for job in report.failed:
        tests.update(failure.test for failure in job.failures if failure.test)
    results = [result for result in report.run.history if result.test in tests]
    if not results:
        return
    results.sort(key=lambda result: (result.test, -result.date.timestamp()))
    yield Heading(2, words("ci.heading-history"))
    header = tuple(words(f"ci.past-{key}") for key in ("test", "where", "date", "commit", "result"))
    yield Table(header, tuple(_past_row(result, words) for result in results[:_MOST_PAST]))


def _past_row(result: Past, words: Catalog) -> tuple[str, ...]:
    seen = where(result, words)
    job = Job(id="", name=result.job, conclusion=result.conclusion)
    test, commit = words.style.code(result.test), words.style.code(seen["commit"])
    return test, seen["where"], seen["date"], commit, state(job, words)


def notes(report: CIReport, words: Catalog, *, shortened: bool) -> Iterator[Block]:
    """Remarks on the report: what could not be read, and whether it was shortened."""
    lines = []
    if shortened:
        lines.append(words("ci.shortened"))
    lines += [message(note, words) for note in report.notes]
    if lines:
        yield Heading(2, words("ci.heading-notes"))
        yield Items(tuple(lines))
