"""Workflow runs, their jobs, logs and artifacts; reruns and dispatches."""

from __future__ import annotations

import itertools

from tests.fake_github import shapes, state
from tests.fake_github.app import NOT_FOUND, Call, Refused, handles, invalid
from tests.fake_github.server import Answer


@handles("actions/list-workflow-runs-for-repo", actions="read")
def runs(call: Call) -> Answer:
    found = list(reversed(call.repo.runs))
    for name in ("head_sha", "event", "status", "branch"):
        key = {"branch": "head_branch"}.get(name, name)
        if name in call.query:
            found = [
                r
                for r in found
                if getattr(r, key) == call.query[name] or r.conclusion == call.query[name]
            ]
    page, link = call.page([shapes.run(call.repo, r) for r in found])
    return Answer(200, {"total_count": len(found), "workflow_runs": page}, link)


@handles("actions/get-workflow-run", actions="read")
def run(call: Call) -> Answer:
    return Answer(200, shapes.run(call.repo, _run(call)))


@handles("actions/list-jobs-for-workflow-run", actions="read")
def jobs(call: Call) -> Answer:
    found = _run(call)
    latest = call.query.get("filter", "latest") == "latest"
    listed = list({j.name: j for j in found.jobs}.values()) if latest else found.jobs
    page, link = call.page([shapes.job(found, j) for j in listed])
    return Answer(200, {"total_count": len(listed), "jobs": page}, link)


@handles("actions/list-workflow-run-artifacts", actions="read")
def artifacts(call: Call) -> Answer:
    found = _run(call)
    page, link = call.page([shapes.artifact(call.repo, found, a) for a in found.artifacts])
    return Answer(200, {"total_count": len(found.artifacts), "artifacts": page}, link)


@handles("actions/get-job-for-workflow-run", actions="read")
def job(call: Call) -> Answer:
    return Answer(200, shapes.job(*_job(call)))


@handles("actions/download-job-logs-for-workflow-run", actions="read")
def log(call: Call) -> Answer:
    _, found = _job(call)
    if found.log_gone:
        raise Refused(Answer(410, {"message": "Server Error"}))
    return Answer(302, None, {"location": f"{call.fake.url}/_blobs/log/{found.id}"})


@handles("actions/download-artifact", actions="read")
def download(call: Call) -> Answer:
    wanted = int(call.values["artifact_id"])
    found = next((a for r in call.repo.runs for a in r.artifacts if a.id == wanted), None)
    if found is None:
        raise Refused(NOT_FOUND)
    if found.expired:
        raise Refused(Answer(410, {"message": "Artifact has expired"}))
    return Answer(302, None, {"location": f"{call.fake.url}/_blobs/zip/{found.id}"})


@handles("actions/re-run-job-for-workflow-run", actions="write")
def rerun_job(call: Call) -> Answer:
    found, one = _job(call)
    _restart(call, found, [one], f"job/{one.id}")
    return Answer(201, {})


@handles("actions/re-run-workflow-failed-jobs", actions="write")
def rerun_failed(call: Call) -> Answer:
    found = _run(call)
    failed = [j for j in found.jobs if j.conclusion not in ("success", "skipped")]
    _restart(call, found, failed, f"failed-jobs/{found.id}")
    return Answer(201, {})


@handles("actions/re-run-workflow", actions="write")
def rerun(call: Call) -> Answer:
    found = _run(call)
    _restart(call, found, list(found.jobs), f"run/{found.id}")
    return Answer(201, {})


def _restart(call: Call, run: state.WorkflowRun, jobs: list[state.Job], what: str) -> None:
    """A rerun is a new attempt on the same commit; one that still runs cannot be run again."""
    if run.status != "completed":
        raise Refused(
            Answer(403, {"message": "The workflow run containing this job is already running"})
        )
    if run.created_at < "2000":
        raise Refused(
            Answer(
                403,
                {
                    "message": "Unable to retry this workflow run because it was created over a month ago"
                },
            )
        )
    run.attempt += 1
    run.status, run.conclusion = "queued", None
    for one in jobs:
        run.jobs.append(
            state.Job(
                one.name, status="queued", conclusion=None, attempt=run.attempt, completed_at=None
            )
        )
    call.repo.reruns.append(what)


@handles("actions/create-workflow-dispatch", actions="write")
def dispatch(call: Call) -> Answer:
    name, ref = call.values["workflow_id"], call.body["ref"]
    path = next(
        (
            p
            for p in call.repo.workflows
            if name in (p, p.rsplit("/", 1)[-1], str(call.repo.workflows[p]))
        ),
        None,
    )
    if path is None:
        raise Refused(NOT_FOUND)
    branches = call.repo.git.run("for-each-ref", "--format=%(refname:short)", "refs/heads").split()
    if ref.removeprefix("refs/heads/") not in branches:
        raise invalid(f"No ref found for: {ref}")
    sha = call.repo.git.sha(f"refs/heads/{ref.removeprefix('refs/heads/')}")
    made = state.WorkflowRun(
        path, path, sha, ref, "workflow_dispatch", "queued", None, actor=call.fake.bot
    )
    # As with `run-name: ${{ inputs.request }}`.
    made.display_title = str(call.body.get("inputs", {}).get("request", ""))
    call.repo.runs.append(made)
    call.repo.dispatches.append(state.Dispatch(path, ref, call.body.get("inputs", {}), made.id))
    url = f"{call.fake.url}/repos/{call.repo.full_name}/actions/runs/{made.id}"
    return Answer(200, {"workflow_run_id": made.id, "run_url": url, "html_url": url})


def _run(call: Call) -> state.WorkflowRun:
    found = next((r for r in call.repo.runs if r.id == int(call.values["run_id"])), None)
    if found is None:
        raise Refused(NOT_FOUND)
    return found


def _job(call: Call) -> tuple[state.WorkflowRun, state.Job]:
    pairs = itertools.chain.from_iterable(((r, j) for j in r.jobs) for r in call.repo.runs)
    found = next((p for p in pairs if p[1].id == int(call.values["job_id"])), None)
    if found is None:
        raise Refused(NOT_FOUND)
    return found
