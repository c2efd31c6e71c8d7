"""What else a CI report says: predictions met or not, coverage, what changed, the past of what failed, notes."""

from __future__ import annotations

from collections.abc import Iterator

from bot.i18n.catalog import Catalog
from bot.i18n.templates import Escaped
from bot.reports.blocks import Block, Heading, Items, Table, Text
from bot.reports.ci.details import where
from bot.reports.ci.phrasing import message, name, state
from checks.ci.model import Job, Past
from checks.ci.report import CIReport, CoverageState, FileCoverage, FlagCoverage, PatchCoverage
from checks.ci.report_diff import ReportDiff

_MOST_PAST = 12
_MOST_RANGES = 12


def predictions(report: CIReport, words: Catalog) -> Iterator[Block]:
    if not report.predictions:
        return
    yield Heading(2, words("ci.heading-predictions"))
    jobs = {j.id: name(j) for j in report.run.jobs}
    lines = (
        words(
            f"ci.prediction-{p.outcome}",
            test=p.test,
            job=jobs.get(p.job, p.job),
            error=p.error,
            exception=p.exception,
        )
        for p in report.predictions
    )
    yield Items(tuple(dict.fromkeys(lines)))


def since(changed: ReportDiff, words: Catalog) -> Iterator[Block]:
    lines = [words("ci.since-commit", old=changed.head[:12])] if changed.head else []
    kinds = (("failed", changed.failed), ("passed", changed.passed), ("finished", changed.finished))
    for kind, names in (*kinds, ("started", changed.started)):
        if names:
            lines.append(words(f"ci.since-{kind}", names=list(names)))
    yield Heading(2, words("ci.heading-since"))
    yield Items(tuple(lines)) if lines else Text(words("ci.since-same"))


def coverage(found: PatchCoverage, words: Catalog) -> Iterator[Block]:
    yield Heading(2, words("ci.heading-coverage"))
    lines = []
    if found.percent is None:
        lines.append(words("ci.coverage-none"))
    else:
        args = {
            "covered": found.covered,
            "executable": found.executable,
            "percent": f"{found.percent:.1f}%",
        }
        lines.append(words("ci.coverage-patch", **args))
    unknown = sum(f.state is CoverageState.UNKNOWN for f in found.files)
    if unknown:
        lines.append(words("ci.coverage-incomplete", count=unknown))
    if found.project is not None and found.base_project is not None:
        delta = f"{found.project - found.base_project:+.2f}"
        project = {
            "project": f"{found.project:.2f}%",
            "base": f"{found.base_project:.2f}%",
            "delta": Escaped(delta),
        }
        lines.append(words("ci.coverage-project", **project))
    elif found.project is not None:
        lines.append(words("ci.coverage-project-only", project=f"{found.project:.2f}%"))
    lines += [_flag(f, words) for f in found.flags] + [message(n, words) for n in found.notes]
    yield Items(tuple(lines))
    if found.files:
        header = tuple(words(f"ci.coverage-{key}") for key in ("file", "lines", "missing"))
        yield Table(header, tuple(_file(f, words) for f in found.files))


def _flag(flag: FlagCoverage, words: Catalog) -> str:
    if flag.missing:
        return words("ci.coverage-flag-missing", flag=flag.flag)
    args = {"flag": flag.flag, "covered": flag.covered, "lines": flag.lines}
    return (
        words("ci.coverage-flag-carried", **args)
        if flag.carried_forward
        else words("ci.coverage-flag", **args)
    )


def _file(file: FileCoverage, words: Catalog) -> tuple[str, ...]:
    if file.state is CoverageState.UNKNOWN:
        reason = words(f"ci.coverage-reason-{file.reason}")
        lines = f"{file.covered}/{file.executable}" if file.executable else f"{file.added}"
        return (
            words.style.code(file.path),
            lines,
            words("ci.coverage-unknown", reason=Escaped(reason)),
        )
    if not file.executable:
        return words.style.code(file.path), f"{file.added}", words("ci.coverage-reason-no-code")
    missing = (
        words.style.code(", ".join(_ranges(file.missing)))
        if file.missing
        else words("ci.coverage-all")
    )
    return words.style.code(file.path), f"{file.covered}/{file.executable}", missing


def _ranges(lines: tuple[int, ...]) -> list[str]:
    """`3, 5-9` for sorted line numbers."""
    found: list[list[int]] = []
    for line in lines:
        if found and line == found[-1][-1] + 1:
            found[-1].append(line)
        else:
            found.append([line])
    shown = [f"{r[0]}-{r[-1]}" if len(r) > 1 else str(r[0]) for r in found]
    return shown[:_MOST_RANGES] + (["…"] if len(shown) > _MOST_RANGES else [])


def past(report: CIReport, words: Catalog) -> Iterator[Block]:
    """Results elsewhere of the tests that failed here, the newest first."""
    tests = {f.test for job in report.failed for f in job.failures if f.test}
    found = sorted(
        (p for p in report.run.history if p.test in tests),
        key=lambda p: (p.test, -p.date.timestamp()),
    )
    if not found:
        return
    yield Heading(2, words("ci.heading-history"))
    header = tuple(words(f"ci.past-{key}") for key in ("test", "where", "date", "commit", "result"))
    yield Table(header, tuple(_past(p, words) for p in found[:_MOST_PAST]))


def _past(result: Past, words: Catalog) -> tuple[str, ...]:
    told = where(result, words)
    done = Job(id="", name=result.job, conclusion=result.conclusion)
    commit = words.style.code(told["commit"])
    return words.style.code(result.test), told["where"], told["date"], commit, state(done, words)


def notes(report: CIReport, words: Catalog, *, shortened: bool) -> Iterator[Block]:
    lines = [message(n, words) for n in report.notes]
    if shortened:
        lines.insert(0, words("ci.shortened"))
    if lines:
        yield Heading(2, words("ci.heading-notes"))
        yield Items(tuple(lines))
