"""Whose an artifact is, and the reports in it as files of a saved run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
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
    asking: TolerantFetch,
    into: Path,
    executions: Iterable[Execution],
    uploaded: Mapping[str, frozenset[int]],
) -> SavedReports:
    """The reports of every run's artifacts, saved in `into`; `uploaded`: artifact ids that a job's
    log names.
    """
    by_run: dict[int, list[Json]] = {}
    for one in executions:
        by_run.setdefault(int(one.run["id"]), []).append(one.job)
    made = SavedReports()
    for run, jobs in sorted(by_run.items()):
        for artifact in _listed(asking, run):
            made.artifacts.append(
                Artifact(
                    artifact["name"],
                    artifact["size_in_bytes"],
                    url=artifact["archive_download_url"],
                    expired=artifact["expired"],
                )
            )
            whose = owner(artifact, jobs, uploaded)
            if whose is not None and _wanted(artifact) and len(made.artifacts) <= MOST_ARTIFACTS:
                _save(asking, into, whose, artifact, jobs[0]["head_sha"], made)
    return made


def add_base_coverage(asking: TolerantFetch, into: Path, commit: str, made: SavedReports) -> None:
    """Add the coverage files of the base's own runs: what the project had before, and which flags
    did not come now.
    """
    runs: list[Json] = asking.optional(
        Problem.ARTIFACTS, lambda: asking.source.runs(head_sha=commit, per_page=30), []
    )
    listed = (
        a for run in runs if run["event"] != "pull_request" for a in _listed(asking, int(run["id"]))
    )
    flags = {file.flag for file in made.coverage}
    wanted = (
        a for a in listed if _wanted(a) and (a["name"] in flags or _COVERAGE.search(a["name"]))
    )
    for artifact in islice(wanted, MOST_OF_BASE):
        _save(asking, into, "", artifact, commit, made)


def _listed(asking: TolerantFetch, run: int) -> list[Json]:
    path = f"{asking.source.path}/actions/runs/{run}/artifacts"
    return asking.optional(
        Problem.ARTIFACTS, lambda: list(asking.source.client.pages(path, "artifacts")), []
    )


def _wanted(artifact: Json) -> bool:
    small = artifact["size_in_bytes"] <= LARGEST_ARTIFACT
    return small and not artifact["expired"] and _TELLING.search(artifact["name"]) is not None


def owner(artifact: Json, jobs: list[Json], uploaded: Mapping[str, frozenset[int]]) -> str | None:
    """The id of the job that uploaded it: its log says so, or its name stands in the artifact's, or
    it is the only one. None where that is not certain: results under a wrong job would be worse
    than none.
    """
    said = [j for j in jobs if artifact["id"] in uploaded.get(str(j["id"]), frozenset())]
    if not said and len(jobs) > 1:
        name = _plain(artifact["name"])
        said = [j for j in jobs if _plain(j["name"]) and f"-{_plain(j['name'])}-" in f"-{name}-"]
    chosen = said or (jobs if len(jobs) == 1 else [])
    return str(chosen[0]["id"]) if len(chosen) == 1 else None


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _save(asking: TolerantFetch, into: Path, job: str, artifact: Json, commit: str, made: SavedReports) -> None:
    """Write the reports of one artifact; without a job, coverage alone.

    Those before a place where the archive is refused stay.
    """

    def save() -> None:
        archive = asking.source.artifact(int(artifact["id"]))
        for number, found in enumerate(reports(archive), 1):
            if found.kind == "junit" and not job:
                continue
            folder = f"junit/{job}" if found.kind == "junit" else "coverage"
            path = f"{folder}/{artifact['id']}-{number}-{found.name}"
            (into / folder).mkdir(parents=True, exist_ok=True)
            (into / path).write_bytes(found.data)
            if found.kind == "junit":
                made.junit[job] = (*made.junit.get(job, ()), path)
            else:
                made.coverage.append(CoverageFile(path, commit, flag=artifact["name"], job=job))

    asking.optional(Problem.ARTIFACTS, save, None)
