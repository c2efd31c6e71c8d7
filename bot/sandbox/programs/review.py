"""What the child that reviews does: a job in, its result out, both JSON.

The `payload` of the result is byte for byte what `specbot review --format github` prints.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bot.configuration import load_configuration
from bot.errors import UserError
from bot.git import Git, Range
from bot.pipeline import open_change, run_review
from bot.reports import format_named
from checks.core.change import ChangeSet, PullRequest
from checks.core.config import matches


def result(job: dict[str, Any]) -> dict[str, Any]:
    """`payload`, `report` and `gpu_jobs`, or `error` where it is a person's to put right."""
    pull = PullRequest(job["title"], job["body"], target_branch=job["target"], known=True)
    try:
        with open_change(Git(Path(job["clone"])), Range(job["base"], job["head"]), pull) as change:
            report = run_review(change, skips=job["skips"])
            texts = {
                name: format_named(name).render(report, job["language"])
                for name in ("github", "json")
            }
            touched = _touched(change)
    except UserError as error:
        return {"error": error.as_data()}
    return {
        "payload": json.loads(texts["github"]),
        "report": json.loads(texts["json"]),
        "gpu_jobs": touched,
    }


def _touched(change: ChangeSet) -> list[str]:
    """The base's GPU jobs whose paths are touched."""
    try:
        jobs = load_configuration(change.base, None, None).gpu_job
    except UserError:
        return []
    return [job.name for job in jobs if any(matches(file.path, job.paths) for file in change.files)]
