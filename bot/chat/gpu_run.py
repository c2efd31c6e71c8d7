"""A run on a GPU: whose code may run there, for how many minutes, and what is asked of the
workflow."""

from __future__ import annotations

import re
import time
import uuid
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote

from bot.chat.base_configuration import read_base_configuration
from bot.chat.context import Refusal, Task
from bot.chat.permissions import METADATA, Permission, permission_of
from bot.db.commands import GpuRun
from bot.github import Client, GitHubError, RateLimited, UncertainWrite
from bot.github.app import READ_CI, RUN
from bot.jobs.requests import JobRequest
from bot.settings import Settings
from checks.core.config import GpuJob

Json = dict[str, Any]
# What `.github/workflows/gpu-kernels.yml` takes.
DEFAULT_JOB = GpuJob(
    "kernels", "gpu-kernels.yml", ("base=base", "head=head", "request=request"), "ops", 60
)
# The name of the workflow that is none: the run is on a GPU of one of our own workers.
LOCAL_WORKFLOW = "local"
LOCAL_JOB = GpuJob("kernels", LOCAL_WORKFLOW, (), "ops", 60)
# The same where device code runs on a CPU of one of our own workers.
DEVICE_WORKFLOW = "device"
DEVICE_JOB = GpuJob("device", DEVICE_WORKFLOW, (), "", 30)
# Whole, or shortened to no less than git itself does.
_SHA = re.compile(r"[0-9a-f]{7,40}|[0-9a-f]{64}")
_OP = re.compile(r"[a-z0-9_]{1,64}")
_MOST_OPS = 20
# What an input of a workflow may be given.
_ROLES = {"base", "head", "request", "pull"}
# Seconds before the run was planned: older runs are not it, even where clocks differ.
_SEARCHED = 3600


@dataclass(frozen=True)
class KernelArguments:
    """`/kernels [job] [sha] [ops]`, taken apart. `names` are the job and the ops."""

    sha: str
    names: tuple[str, ...]


def parse_arguments(text: str) -> KernelArguments:
    """The arguments. Raises `Refusal` where they are none."""
    words = [word for word in re.split(r"[ \t,]+", text) if word]
    shas = [word for word in words if _SHA.fullmatch(word)]
    names = tuple(dict.fromkeys(word for word in words if word not in shas))
    bad = [name for name in names if not _OP.fullmatch(name.replace("-", "_"))]
    if len(shas) > 1 or bad or len(names) > _MOST_OPS:
        raise Refusal("kernels-what", bad=bad[:3])
    return KernelArguments(shas[0] if shas else "", names)


def require_trusted_head(task: Task, pull: Json, sha: str) -> None:
    """Raises `Refusal` unless the head may run on a GPU.

    It may where it is by people who may write, or where one of those, the author of the comment,
    names this very commit in full, or one has done so before. With a shorter name nobody approves:
    its author could make a second commit of that name.
    """
    head, job = str(pull["head"]["sha"]), task.job
    if not head.startswith(sha):
        raise Refusal("kernels-stale", sha=sha, head=head)
    records = task.context.records
    if sha == head:
        records.approve(job.key, head, job.login)
        return
    if is_head_trusted(task.client(METADATA), job.repository, job.repository_id, pull):
        return
    if not records.approved(job.key, head):
        raise Refusal("kernels-name-it", head=head)


def is_head_trusted(client: Client, repository: str, repository_id: int, pull: Json) -> bool:
    """Whether only people who may write to the repository could have pushed the head, and its
    author is one."""
    author, source = pull["user"], pull["head"]["repo"]
    if not author or not source or int(source["id"]) != repository_id:
        return False
    permission = permission_of(client, repository, str(author["login"]), int(author["id"]))
    return permission is Permission.WRITE


def plan_run(task: Task, pull: Json, arguments: KernelArguments) -> Json:
    """The run to ask for, as JSON of a `GpuRun` with the workflow's `ref` and `inputs`.

    The configuration is the base's, and the workflow is the default branch's: what a pull request
    changes in either has no effect.
    """
    job, context, head = task.job, task.context, str(pull["head"]["sha"])
    config, compared = read_base_configuration(task, pull)
    _require_known_roles(config.gpu_job)
    gpu_job, ops = _select_job(_known_jobs(config.gpu_job, context.settings), arguments.names)
    if gpu_job.workflow == LOCAL_WORKFLOW and context.settings.local_kernels is None:
        raise Refusal("kernels-no-local")
    if gpu_job.workflow == DEVICE_WORKFLOW and context.settings.local_device is None:
        raise Refusal("device-no-local")
    # The same command is the same request, however often this step is done.
    server = context.app.endpoint.server
    request = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{server}/{task.id}"))
    values = {"base": compared.base, "head": head, "request": request, "pull": str(job.number)}
    run = GpuRun(
        request,
        job.repository_id,
        job.number,
        head,
        compared.base,
        gpu_job.workflow,
        minutes=max(1, gpu_job.minutes),
        at=time.time(),
        run=None,
        order=asdict(job),
        command=task.number,
        files={
            "junit": gpu_job.junit,
            "logprobs": gpu_job.logprobs,
            "logprobs_base": gpu_job.logprobs_base,
        },
    )
    return {
        "run": asdict(run),
        "ref": str(pull["base"]["repo"]["default_branch"]),
        "inputs": _inputs(gpu_job, values, ops),
    }


def _known_jobs(gpu_jobs: tuple[GpuJob, ...], settings: Settings) -> tuple[GpuJob, ...]:
    """The repository's jobs, and those that there are without any configuration."""
    jobs = gpu_jobs or (DEFAULT_JOB if settings.local_kernels is None else LOCAL_JOB,)
    # The first of a name is the one that is meant.
    return (*jobs, DEVICE_JOB)


def _inputs(gpu_job: GpuJob, values: dict[str, str], ops: tuple[str, ...]) -> dict[str, str]:
    """The inputs of the workflow. `gpu_job.inputs` are pairs such as `commit=head`: the workflow's
    name of an input, and which of `values` it takes."""
    inputs = {}
    for pair in gpu_job.inputs:
        name, _, role = pair.partition("=")
        inputs[name] = values[role]
    if gpu_job.workflow == LOCAL_WORKFLOW:
        inputs["ops"] = ",".join(ops)
    elif ops:
        inputs[gpu_job.ops] = ",".join(ops)
    return inputs


def _require_known_roles(gpu_jobs: tuple[GpuJob, ...]) -> None:
    """Raises `Refusal` where an input of a workflow is given something that there is not."""
    for gpu_job in gpu_jobs:
        roles = {pair.partition("=")[2] for pair in gpu_job.inputs}
        if not roles <= _ROLES:
            raise Refusal("kernels-config")


def _select_job(
    gpu_jobs: tuple[GpuJob, ...], names: tuple[str, ...]
) -> tuple[GpuJob, tuple[str, ...]]:
    """The job that is named first, or the first there is, and the ops."""
    gpu_job, ops = gpu_jobs[0], names
    for candidate in gpu_jobs:
        if names[:1] == (candidate.name,):
            gpu_job, ops = candidate, names[1:]
            break
    if ops and not gpu_job.ops and gpu_job.workflow != LOCAL_WORKFLOW:
        raise Refusal("kernels-no-ops", names=[job.name for job in gpu_jobs])
    return gpu_job, ops


def dispatch(task: Task, plan: Json, arguments: KernelArguments) -> Json:
    """Ask for the run, once: the request is not repeated, and what was begun before is looked for
    instead.

    Gives `url`, empty where it is not known. Whether it may run, and on which commit, is asked
    again right before.
    """
    run, records = GpuRun(**plan["run"]), task.context.records
    try:
        pull = _require_unchanged(task, run, arguments)
    except Refusal:
        records.cancel_reservation(run.request)
        raise
    if run.workflow in (LOCAL_WORKFLOW, DEVICE_WORKFLOW):
        return _enqueue_local_run(task, plan, pull)
    if not records.claim(run.request):
        return _find_sent_run(task, run)
    workflow = quote(run.workflow, safe="")
    path = f"/repos/{task.job.repository}/actions/workflows/{workflow}/dispatches"
    try:
        answer = task.client(RUN).post(path, {"ref": plan["ref"], "inputs": plan["inputs"]})
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


def _require_unchanged(task: Task, run: GpuRun, arguments: KernelArguments) -> Json:
    """The pull request, whose head is still the run's. Raises `Refusal` where it may not run any
    more."""
    task.require(Permission.WRITE)
    pull = task.pull()
    if pull["head"]["sha"] != run.head:
        raise Refusal("kernels-moved", head=run.head[:12])
    require_trusted_head(task, pull, arguments.sha)
    return pull


def _enqueue_local_run(task: Task, plan: Json, pull: Json) -> Json:
    """Order the run from a worker that can run it. The same run again is the same request."""
    job = task.job
    trusted = is_head_trusted(task.client(METADATA), job.repository, job.repository_id, pull)
    ops = [op for op in plan["inputs"].get("ops", "").split(",") if op]
    stored = {"run": plan["run"], "ops": ops, "trusted": trusted}
    request = JobRequest(
        workflow="kernels-local",
        queue="device" if plan["run"]["workflow"] == DEVICE_WORKFLOW else "gpu",
        id=f"kernels-local-{plan['run']['request']}",
        arguments=(stored,),
    )
    task.context.store.enqueue(request)
    return {"url": ""}


def _find_sent_run(task: Task, run: GpuRun) -> Json:
    """The run whose name has the request's id, in case that it was made and nobody told us.

    Raises `Refusal` where there is none.
    """
    path = f"/repos/{task.job.repository}/actions/runs"
    for found in task.client(READ_CI).pages(path, "workflow_runs", event="workflow_dispatch"):
        if run.request in found["display_title"]:
            task.context.records.set_run_id(run.request, int(found["id"]))
            return {"url": str(found["html_url"])}
        created = datetime.fromisoformat(found["created_at"]).timestamp()
        if created < run.at - _SEARCHED:
            break
    raise Refusal("kernels-unsure", workflow=run.workflow)
