"""Which job an artifact is of, and the reports in it as files of a saved run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from bot.ci.archives import reports
from bot.ci.convert import Execution
from bot.ci.source import LARGEST_ARTIFACT
from bot.ci.tolerant_fetch import TolerantFetch
from bot.github.client import Json
from checks.ci.message_keys import Problem
from checks.ci.model import Artifact, CoverageFile, Job

MOST_ARTIFACTS = 30
MOST_OF_BASE = 5
# Others hold wheels, caches and models.
_TELLING = re.compile(r"(?i)junit|test|report|result|cov|unit|lcov")
_COVERAGE = re.compile(r"(?i)cov")


@dataclass
class SavedReports:
    """What was saved: JUnit files by the id of their job, coverage files, and the list of all
    artifacts.
    """

    junit: dict[str, tuple[str, ...]] = field(default_factory=dict)
    coverage: list[CoverageFile] = field(default_factory=list)
    artifacts: list[Artifact] = field(default_factory=list)

    def of(self, job: Job) -> Job:
        """`job` with its JUnit files."""
        return replace(job, junit=self.junit.get(job.id, ()))


def save_reports(
    fetch: TolerantFetch,
    into: Path,
    executions: Iterable[Execution],
    uploaded: Mapping[str, frozenset[int]],
) -> SavedReports:
    """Save the reports in the artifacts of every run in `into`.

    `uploaded` are the ids of artifacts that a job's log names.
    """
    jobs_by_run: dict[int, list[Json]] = {}
    for execution in executions:
        jobs_by_run.setdefault(int(execution.run["id"]), []).append(execution.job)
    saved = SavedReports()
    for run, jobs in sorted(jobs_by_run.items()):
        for artifact in _list_artifacts(fetch, run):
            saved.artifacts.append(
                Artifact(
                    artifact["name"],
                    artifact["size_in_bytes"],
                    url=artifact["archive_download_url"],
                    expired=artifact["expired"],
                )
            )
            job = owner(artifact, jobs, uploaded)
            too_many = len(saved.artifacts) > MOST_ARTIFACTS
            if job is not None and _may_have_reports(artifact) and not too_many:
                _save(fetch, into, job, artifact, jobs[0]["head_sha"], saved)
    return saved


def add_base_coverage(fetch: TolerantFetch, into: Path, commit: str, saved: SavedReports) -> None:
    """Add the coverage files of the base's own runs.

    They say what the project had before, and which flags did not come now.
    """
    runs: list[Json] = fetch.optional(
        Problem.ARTIFACTS, lambda: fetch.source.runs(head_sha=commit, per_page=30), []
    )
    flags = {file.flag for file in saved.coverage}
    for artifact in islice(_coverage_artifacts(fetch, runs, flags), MOST_OF_BASE):
        _save(fetch, into, "", artifact, commit, saved)


def _coverage_artifacts(
    fetch: TolerantFetch, runs: Iterable[Json], flags: set[str]
) -> Iterator[Json]:
    """The artifacts of the branch's own runs that may hold coverage, listed as they are needed."""
    for run in runs:
        if run["event"] == "pull_request":
            continue
        for artifact in _list_artifacts(fetch, int(run["id"])):
            name = artifact["name"]
            is_coverage = name in flags or _COVERAGE.search(name) is not None
            if is_coverage and _may_have_reports(artifact):
                yield artifact


def _list_artifacts(fetch: TolerantFetch, run: int) -> list[Json]:
    path = f"{fetch.source.path}/actions/runs/{run}/artifacts"
    return fetch.optional(
        Problem.ARTIFACTS, lambda: list(fetch.source.client.pages(path, "artifacts")), []
    )


def _may_have_reports(artifact: Json) -> bool:
    if artifact["size_in_bytes"] > LARGEST_ARTIFACT or artifact["expired"]:
        return False
    return _TELLING.search(artifact["name"]) is not None


def owner(artifact: Json, jobs: list[Json], uploaded: Mapping[str, frozenset[int]]) -> str | None:
    """The id of the job that uploaded an artifact.

    The job's log says so, or its name is in the artifact's, or it is the only job. None where that
    is not certain: results under a wrong job would be worse than none.
    """
    candidates = [
        job for job in jobs if artifact["id"] in uploaded.get(str(job["id"]), frozenset())
    ]
    if not candidates and len(jobs) == 1:
        candidates = jobs
    elif not candidates:
        candidates = [job for job in jobs if _names_job(artifact["name"], job["name"])]
    if len(candidates) != 1:
        return None
    return str(candidates[0]["id"])


def _names_job(artifact_name: str, job_name: str) -> bool:
    """Whether the job's name is in the artifact's, as whole words."""
    words = _words(job_name)
    return bool(words) and f"-{words}-" in f"-{_words(artifact_name)}-"


def _words(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _save(
    fetch: TolerantFetch, into: Path, job: str, artifact: Json, commit: str, saved: SavedReports
) -> None:
    """Save the reports of one artifact; without a job, only coverage.

    Where the archive is refused in the middle, the reports before that place stay.
    """

    def save() -> None:
        archive = fetch.source.artifact(int(artifact["id"]))
        for number, report in enumerate(reports(archive), 1):
            is_junit = report.kind == "junit"
            if is_junit and not job:
                continue
            folder = f"junit/{job}" if is_junit else "coverage"
            path = f"{folder}/{artifact['id']}-{number}-{report.name}"
            (into / folder).mkdir(parents=True, exist_ok=True)
            (into / path).write_bytes(report.data)
            if is_junit:
                saved.junit[job] = (*saved.junit.get(job, ()), path)
            else:
                file = CoverageFile(path, commit, flag=artifact["name"], job=job)
                saved.coverage.append(file)

    fetch.optional(Problem.ARTIFACTS, save, None)
