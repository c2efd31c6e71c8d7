"""`workflow_run`: the end of a run that was asked for by `workflow_dispatch`, which may be one of
ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.jobs.requests import JobRequest


def job_request(delivery: str, payload: Mapping[str, Any]) -> JobRequest | None:
    """A report on the run. The worker finds out whether it is ours.

    The same end of the same attempt is one request.
    """
    run = payload["workflow_run"]
    if payload["action"] != "completed" or run["event"] != "workflow_dispatch":
        return None
    repository_id, run_id = int(payload["repository"]["id"]), int(run["id"])
    stored = {"repository_id": repository_id, "run": run_id, "title": str(run["display_title"])}
    return JobRequest(
        workflow="kernels-result",
        queue="comments",
        id=f"kernels-{repository_id}-{run_id}-{int(run['run_attempt'])}",
        arguments=(stored,),
    )
