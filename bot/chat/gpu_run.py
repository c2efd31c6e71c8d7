"""A run on a GPU: whose code may run there, for how many minutes, and what is asked of the workflow."""

from __future__ import annotations

import re
import time
import uuid
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from bot.chat.context import Refusal, Task
from bot.chat.permissions import METADATA, Permission, permission_of
from bot.configuration import configuration
from bot.db.commands import GpuRun
from bot.errors import UserError
from bot.git import Blobs, Git, Range
from bot.git.tree import trees
from bot.github import Client, GitHubError, RateLimited, UncertainWrite
from bot.github.app import ANALYSE, READ_CI, RUN
from bot.jobs.requests import JobRequest
from checks.core.config import GpuJob

Json = dict[str, Any]
# What `.github/workflows/gpu-kernels.yml` takes.
DEFAULT_JOB = GpuJob(
    "kernels", "gpu-kernels.yml", ("base=base", "head=head", "request=request"), "ops", 60
)
# The name of the workflow that is none: the run is on a GPU of one of our own workers.
LOCAL_WORKFLOW = "local"
LOCAL_JOB = GpuJob("kernels", LOCAL_WORKFLOW, (), "ops", 60)
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_OP = re.compile(r"[a-z0-9_]{1,64}")
_MOST_OPS = 20


@dataclass(frozen=True)
class KernelArguments:
    """`/kernels [job] [sha] [ops]`, taken apart."""

    sha: str
    names: tuple[str, ...]


def parse_arguments(text: str) -> KernelArguments:
    """The arguments. A commit is named in full: of a shorter one somebody could make a second."""
    words = [word for word in re.split(r"[ \t,]+", text) if word]
    shas = [word for word in words if _SHA.fullmatch(word)]
    names = tuple(dict.fromkeys(word for word in words if word not in shas))
    bad = [name for name in names if not _OP.fullmatch(name.replace("-", "_"))]
    if len(shas) > 1 or bad or len(names) > _MOST_OPS:
        raise Refusal("kernels-what", bad=bad[:3])
    return KernelArguments(shas[0] if shas else "", names)


def require_trusted_head(task: Task, pull: Json, sha: str) -> None:
    """Raises `Refusal` unless the head may run on a GPU: it is by people who may write, or one of those, the author of
    the comment, names this very commit, or one has before."""
    head, order = str(pull["head"]["sha"]), task.order
    if sha and sha != head:
        raise Refusal("kernels-stale", sha=sha, head=head)
    if sha:
        task.context.records.approve(order.key, head, order.login)
        return
    pushed = is_head_trusted(task.client(METADATA), order.repository, order.repository_id, pull)
    if not pushed and not task.context.records.approved(order.key, head):
        raise Refusal("kernels-name-it", head=head)


def is_head_trusted(client: Client, repository: str, repository_id: int, pull: Json) -> bool:
    """Whether only people who may write to the repository could have pushed the head, and its author is one."""
    author, source = pull["user"], pull["head"]["repo"]
    if not author or not source or int(source["id"]) != repository_id:
        return False
    return (
        permission_of(client, repository, str(author["login"]), int(author["id"]))
        is Permission.WRITE
    )


def plan_run(task: Task, pull: Json, wanted: KernelArguments) -> Json:
    """The run to ask for, as JSON of a `GpuRun` with the workflow's `ref` and `inputs`.

    The configuration is the base's, and the workflow is the default branch's: what a pull request changes in either
    is not asked.
    """
    order, context, head = task.order, task.context, str(pull["head"]["sha"])
    token = context.app.token(order.installation, order.repository_id, ANALYSE)
    clone, compared = context.checkouts.fetch(
        order.repository, token, str(pull["base"]["ref"]), head
    )
    usual = DEFAULT_JOB if context.settings.local_kernels is None else LOCAL_JOB
    job, ops = _job(_jobs(clone, compared) or (usual,), wanted.names)
    if job.workflow == LOCAL_WORKFLOW and context.settings.local_kernels is None:
        raise Refusal("kernels-no-local")
    request = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{context.app.endpoint.server}/{task.id}"))
    values = {"base": compared.base, "head": head, "request": request, "pull": str(order.number)}
    inputs = {name: values[what] for name, _, what in (pair.partition("=") for pair in job.inputs)}
    if job.workflow == LOCAL_WORKFLOW:
        inputs["ops"] = ",".join(ops)
    elif ops:
        inputs[job.ops] = ",".join(ops)
    run = GpuRun(
        request,
        order.repository_id,
        order.number,
        head,
        compared.base,
        job.workflow,
        minutes=max(1, job.minutes),
        at=time.time(),
        run=None,
        order=asdict(order),
        command=task.number,
        files={name: getattr(job, name) for name in ("junit", "logprobs", "logprobs_base")},
    )
    return {
        "run": asdict(run),
        "ref": str(pull["base"]["repo"]["default_branch"]),
        "inputs": inputs,
    }


def _jobs(clone: Path, compared: Range) -> tuple[GpuJob, ...]:
    git = Git(clone)
    with Blobs(git) as blobs:
        base, _ = trees(git, blobs, compared.base, compared.head)
        try:
            found = configuration(base, None, None).gpu_job
        except UserError:
            raise Refusal("kernels-config") from None
    roles = {"base", "head", "request", "pull"}
    if any(pair.partition("=")[2] not in roles for job in found for pair in job.inputs):
        raise Refusal("kernels-config")
    return found


def _job(jobs: tuple[GpuJob, ...], names: tuple[str, ...]) -> tuple[GpuJob, tuple[str, ...]]:
    """The job that is named first, or the first there is, and the ops."""
    named = [job for job in jobs if names[:1] == (job.name,)]
    job, ops = (named[0], names[1:]) if named else (jobs[0], names)
    if ops and not job.ops and job.workflow != LOCAL_WORKFLOW:
        raise Refusal("kernels-no-ops", names=[job.name for job in jobs])
    return job, ops


def dispatch(task: Task, plan: Json, wanted: KernelArguments) -> Json:
    """Ask for the run, once: the request is not repeated, and what was begun before is looked for instead.

    Gives `url`, empty where it is not known. Whether it may run, and on which commit, is asked again right before.
    """
    run, records = GpuRun(**plan["run"]), task.context.records
    try:
        task.needs(Permission.WRITE)
        pull = task.pull()
        if pull["head"]["sha"] != run.head:
            raise Refusal("kernels-moved", head=run.head[:12])
        require_trusted_head(task, pull, wanted.sha)
    except Refusal:
        records.cancel_reservation(run.request)
        raise
    if run.workflow == LOCAL_WORKFLOW:
        return _enqueue_local_run(task, plan, pull)
    if not records.claim(run.request):
        return _find_sent_run(task, run)
    body = {"ref": plan["ref"], "inputs": plan["inputs"]}
    path = f"/repos/{task.order.repository}/actions/workflows/{quote(run.workflow, safe='')}/dispatches"
    try:
        answer = task.client(RUN).post(path, body)
    except UncertainWrite:
        return _find_sent_run(task, run)
    except RateLimited:
        records.release(run.request)
        raise
    except GitHubError as error:
        records.cancel_reservation(run.request)
        raise Refusal("kernels-refused", workflow=run.workflow, reason=str(error)) from None
    if not answer:
        return _find_sent_run(task, run)
    records.set_run_id(run.request, int(answer["workflow_run_id"]))
    return {"url": str(answer["html_url"])}


def _enqueue_local_run(task: Task, plan: Json, pull: Json) -> Json:
    """Order the run from a worker with a GPU. The same request again is the same order."""
    order = task.order
    ours = is_head_trusted(task.client(METADATA), order.repository, order.repository_id, pull)
    stored = {
        "run": plan["run"],
        "ops": [op for op in plan["inputs"]["ops"].split(",") if op],
        "trusted": ours,
    }
    task.context.store.enqueue(
        JobRequest("kernels-local", "gpu", f"kernels-local-{plan['run']['request']}", (stored,))
    )
    return {"url": ""}


def _find_sent_run(task: Task, run: GpuRun) -> Json:
    """The run whose name has the request's id, in case that it was made and nobody told us."""
    path = f"/repos/{task.order.repository}/actions/runs"
    for found in task.client(READ_CI).pages(path, "workflow_runs", event="workflow_dispatch"):
        if run.request in found["display_title"]:
            task.context.records.set_run_id(run.request, int(found["id"]))
            return {"url": str(found["html_url"])}
        if _moment(found["created_at"]) < run.at - 3600:
            break
    raise Refusal("kernels-unsure", workflow=run.workflow)


def _moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
