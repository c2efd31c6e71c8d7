"""`workflow_run`: the end of a run that was asked for by `workflow_dispatch`, which may be one of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.jobs.requests import JobRequest


def job_request(delivery: str, payload: Mapping[str, Any]) -> JobRequest | None:
    """The worker finds out whether it is ours. The same end of the same attempt is one order."""
    run, repository = payload["workflow_run"], payload["repository"]
    if payload["action"] != "completed" or run["event"] != "workflow_dispatch":
        return None
    stored = {
        "repository_id": int(repository["id"]),
        "run": int(run["id"]),
        "title": str(run["display_title"]),
    }
    number = f"{stored['repository_id']}-{stored['run']}-{int(run['run_attempt'])}"
    return JobRequest("kernels-result", "comments", f"kernels-{number}", (stored,))
