"""The durable end of a GPU run: its results fetched, compared and reported where it was asked
for."""

from __future__ import annotations

import math
import time
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

import structlog
from dbos import DBOS

from bot.chat import kernel_check, kernel_result, reply, run_files
from bot.chat.comment_job import CommentJob
from bot.chat.page_tab import RunOutcome
from bot.context.backoff import RetryLater
from bot.context.service_context import ServiceContext, current_context
from bot.db.commands import GpuRun
from bot.db.rate_limits import charged_to
from bot.errors import UserError
from bot.github.app import ANALYSE, COMMENT, READ_CI
from bot.sandbox.client import JobFailed
from bot.web.page_store import PageReport, PageStore
from bot.workflows.comments import step
from bot.workflows.local_device import run_and_judge
from bot.workflows.local_kernels import Unconfined, run_and_archive

Json = dict[str, Any]
_log = structlog.get_logger("specbot.kernels")


@DBOS.workflow(name="kernels-result")
def report_kernels(stored: Json) -> str:
    """Report the workflow run of a stored request, where we asked for it; gives how it ended."""
    context = current_context()
    stored_run = step("asked", lambda: _requested_run(context, stored))
    if stored_run is None:
        return "not-ours"
    run = GpuRun(**stored_run)
    job = CommentJob(**run.order)
    charged = charged_to(job.user, job.repository)
    with structlog.contextvars.bound_contextvars(**_about(job, run)), charged:
        outcome = RunOutcome(**step("fetch", lambda: asdict(_fetch(context, job, run))))
        _report(context, job, run, outcome)
    return outcome.key


@DBOS.workflow(name="kernels-local")
def run_kernels(stored: Json) -> str:
    """Run the kernels of a stored `GpuRun` here, and report them as if a workflow had; gives how it
    ended."""
    context = current_context()
    run = GpuRun(**stored["run"])
    job = CommentJob(**run.order)
    charged = charged_to(job.user, job.repository)
    with structlog.contextvars.bound_contextvars(**_about(job, run)), charged:
        outcome = RunOutcome(**step("run", lambda: asdict(_run_here(context, job, run, stored))))
        # Its result waits too; databases hold this step.
        step("heard", lambda: _wait_for_answer(context, job))
        _report(context, job, run, outcome)
    return outcome.key


def _about(job: CommentJob, run: GpuRun) -> dict[str, str]:
    return {"pull": f"{job.repository}#{job.number}", "request": run.request}


def _report(context: ServiceContext, job: CommentJob, run: GpuRun, outcome: RunOutcome) -> None:
    """End the check run, and replace the command's answer by the report."""
    title = context.words(f"comments.{outcome.key}")
    summary = outcome.text or title
    step(
        "check",
        lambda: _end_check(context, job, run, outcome.conclusion, title, summary),
    )
    text = f"**{title}**\n\n{outcome.text}" if outcome.text else title
    body = reply.format_answer(job, run.command, text, context.words("comments.cut"))
    step("answer", lambda: _answer(context, job, run.command, body))
    _log.info("kernel run reported", outcome=outcome.key)


def _end_check(
    context: ServiceContext, job: CommentJob, run: GpuRun, conclusion: str, title: str, text: str
) -> None:
    _wait_for_answer(context, job)
    kernel_check.finish(context, job, run, conclusion, title, text)


def _answer(context: ServiceContext, job: CommentJob, command: int, body: str) -> None:
    # An earlier version may have ended the check without waiting.
    _wait_for_answer(context, job)
    client = context.app.client(job.installation, job.repository_id, COMMENT)
    reply.replace(context.app, client, job, command, body)


def _requested_run(context: ServiceContext, stored: Json) -> Json | None:
    """Our request for the run, None where we did not ask for it."""
    run = context.records.find_gpu_run(
        int(stored["repository_id"]), int(stored["run"]), str(stored["title"])
    )
    return None if run is None else asdict(run)


def _fetch(context: ServiceContext, job: CommentJob, run: GpuRun) -> RunOutcome:
    """The outcome of a workflow run that has ended, from its artifact."""
    client = context.app.client(job.installation, job.repository_id, READ_CI)
    ended = client.get(f"/repos/{job.repository}/actions/runs/{run.run}")
    context.records.set_minutes(run.request, _minutes(ended, run.minutes))
    if not kernel_result.is_requested_run(run, ended):
        return RunOutcome("failure", "kernels-other")
    if ended["conclusion"] == "cancelled":
        return RunOutcome("cancelled", "kernels-failed")
    succeeded = ended["conclusion"] == "success"
    # Tests that failed are results, and may be why the run did.
    if not succeeded and not run.files.get("junit"):
        return RunOutcome("failure", "kernels-failed")
    archive = run_files.download_artifact(context, job, run)
    if archive is None:
        return RunOutcome("failure", "kernels-nothing" if succeeded else "kernels-failed")
    return _judge(context, job, run, archive)


def _wait_for_answer(context: ServiceContext, job: CommentJob) -> None:
    """Wait until the command has made its check run, and said that the run was asked for.

    Both would find that there is neither yet, and make two.
    """
    if context.store.is_running(job.id):
        raise RetryLater(1.0)


def _run_here(context: ServiceContext, job: CommentJob, run: GpuRun, stored: Json) -> RunOutcome:
    """Whether it may run is asked again: it may have waited long."""
    client = context.app.client(job.installation, job.repository_id, ANALYSE)
    pull = client.get_new(job.place.path)
    if pull["state"] != "open" or pull["head"]["sha"] != run.head:
        context.records.cancel_reservation(run.request)
        return RunOutcome("cancelled", "kernels-overtaken")
    token = context.app.token(job.installation, job.repository_id, ANALYSE)
    target = str(pull["base"]["ref"])
    kind, settings, trusted = kernel_check.kind_of(run), context.settings, stored["trusted"]
    try:
        clone, _ = context.checkouts.fetch(job.repository, token, target, run.head)
    except UserError as error:
        context.records.cancel_reservation(run.request)
        return RunOutcome("failure", f"{kind}-failed", _sentence(context, error))
    begun = time.monotonic()
    try:
        if kind == "device":
            outcome = run_and_judge(clone, run, pull, settings, trusted=trusted)
            return _with_tabs_kept(context, job, run, outcome)
        archive = run_and_archive(clone, run, stored["ops"], settings, trusted=trusted)
        return _judge(context, job, run, archive)
    except Unconfined:
        context.records.cancel_reservation(run.request)
        return RunOutcome("failure", f"{kind}-unconfined")
    except UserError as error:
        return RunOutcome("failure", f"{kind}-failed", _sentence(context, error))
    except JobFailed as error:
        _log.error("kernels could not be run", error=str(error))
        return RunOutcome("failure", f"{kind}-failed")
    finally:
        minutes = math.ceil((time.monotonic() - begun) / 60)
        context.records.set_minutes(run.request, min(run.minutes, minutes))


def _sentence(context: ServiceContext, error: UserError) -> str:
    return context.words(f"errors.{error.key}", **error.args_)


def _judge(context: ServiceContext, job: CommentJob, run: GpuRun, archive: bytes) -> RunOutcome:
    baselines = context.settings.baselines(run.repository_id)
    outcome = kernel_result.judge_run(run, archive, context.words, baselines)
    return _with_tabs_kept(context, job, run, outcome)


def _with_tabs_kept(
    context: ServiceContext, job: CommentJob, run: GpuRun, outcome: RunOutcome
) -> RunOutcome:
    """The outcome, whose tabs are on the page of the pull request now."""
    pages = PageStore(context.store.engine)
    for tab in outcome.tabs:
        page = PageReport(
            job.repository,
            job.number,
            tab.kind,
            run.head,
            at=time.time(),
            bodies=tab.bodies,
            verdict=tab.verdict,
        )
        pages.keep_report(page)
    # The rest is written down as the result of a step.
    return replace(outcome, tabs=())


def _minutes(run: Json, reserved: int) -> int:
    """What the run took, rounded up; never more than was reserved for it."""
    begun = datetime.fromisoformat(run.get("run_started_at") or run["created_at"])
    ended = datetime.fromisoformat(run["updated_at"])
    minutes = math.ceil((ended - begun).total_seconds() / 60)
    return min(reserved, max(1, minutes))
