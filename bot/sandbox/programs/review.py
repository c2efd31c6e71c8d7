"""What the child that reviews does: a job in, its result out, both JSON.

The `payload` of the result is what `specbot review --format github` prints, with links to the code
and to the page.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from bot.configuration import load_configuration
from bot.errors import UserError
from bot.git import Git, Range
from bot.i18n.catalog import Catalog
from bot.i18n.escape import Markdown
from bot.pipeline import open_change, run_review
from bot.reports import Report, format_named, github
from bot.reports.code_links import links_of
from bot.reports.findings import detail
from bot.reports.report import bugs_alone
from bot.reports.truncate import fit
from checks.core.change import ChangeSet, PullRequest
from checks.core.config import matches

# Leaves room for what an answer has besides.
LARGEST = 60_000


def result(job: dict[str, Any]) -> dict[str, Any]:
    """`payload`, `report`, `gpu_jobs`, `evidence`; or `error` where a person can put it right."""
    pull = PullRequest(job["title"], job["body"], target_branch=job["target"], known=True)
    try:
        with open_change(Git(Path(job["clone"])), Range(job["base"], job["head"]), pull) as change:
            report = run_review(change, skips=job["skips"])
            report = replace(report, page=job["page"])
            posted = bugs_alone(report) if job["posting"] == "bugs" else report
            payload = github.payload(posted, job["language"], links_of(report, job["web"]))
            data = json.loads(format_named("json").render(report, job["language"]))
            touched = _touched(change)
            evidence = dict(_evidence(report, job["language"]))
    except UserError as error:
        return {"error": error.as_data()}
    return {
        "payload": payload,
        "report": data,
        "gpu_jobs": touched,
        "evidence": evidence,
    }


def _evidence(report: Report, language: str) -> Iterator[tuple[str, str]]:
    """Each finding in full, as Markdown by its fingerprint, for `/why`."""
    words = Catalog(language, Markdown())
    for finding in report.review.findings:
        yield finding.fingerprint, fit(detail(finding, report.review.change, words), LARGEST, words)


def _touched(change: ChangeSet) -> list[str]:
    """The base's GPU jobs whose paths are touched."""
    try:
        jobs = load_configuration(change.base, None, None).gpu_job
    except UserError:
        return []
    return [job.name for job in jobs if any(matches(file.path, job.paths) for file in change.files)]
