"""The durable end of a GPU run: its results fetched, compared and reported where it was asked for."""

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
from bot.errors import UserError
from bot.github.app import ANALYSE, COMMENT, READ_CI
from bot.sandbox.client import JobFailed
from bot.sandbox.programs import kernels
from bot.web.page_store import PageReport, PageStore
from bot.workflows.comments import step

Json = dict[str, Any]
_log = structlog.get_logger("specbot.kernels")


@DBOS.workflow(name="kernels-result")
def report_kernels(stored: Json) -> str:
    """Report the workflow run of a stored order, where we asked for it; gives how it ended."""
    context = current_context()
    run = step("asked", lambda: _asked(context, stored))
    if run is None:
        return "not-ours"
    ours = GpuRun(**run)
    order = CommentJob(**ours.order)
    with structlog.contextvars.bound_contextvars(
        pull=f"{order.repository}#{order.number}", request=ours.request
    ):
        found = RunOutcome(**step("fetch", lambda: asdict(_fetched(context, order, ours))))
        _report(context, order, ours, found)
    return found.key


@DBOS.workflow(name="kernels-local")
def run_kernels(stored: Json) -> str:
    """Run the kernels of a stored `GpuRun` here, and report them as if a workflow had; gives how it ended."""
    context, ours = current_context(), GpuRun(**stored["run"])
    order = CommentJob(**ours.order)
    with structlog.contextvars.bound_contextvars(
        pull=f"{order.repository}#{order.number}", request=ours.request
    ):
        found = RunOutcome(**step("run", lambda: asdict(_ran(context, order, ours, stored))))
        step("heard", lambda: _heard(context, order))
        _report(context, order, ours, found)
    return found.key


def _report(context: ServiceContext, order: CommentJob, ours: GpuRun, found: RunOutcome) -> None:
    title = context.words(f"comments.{found.key}")
    text = found.text or title
    step("check", lambda: kernel_check.finish(context, order, ours, found.conclusion, title, text))
    said = f"**{title}**\n\n{found.text}" if found.text else title
    body = reply.format_answer(order, ours.command, said, context.words("comments.cut"))
    step("answer", lambda: _answer(context, order, ours.command, body))
    _log.info("kernel run reported", outcome=found.key)


def _answer(context: ServiceContext, order: CommentJob, command: int, body: str) -> None:
    client = context.app.client(order.installation, order.repository_id, COMMENT)
    reply.replace(context.app, client, order, command, body)


def _asked(context: ServiceContext, stored: Json) -> Json | None:
    """Our request for the run, None where we did not ask for it."""
    found = context.records.find_gpu_run(
        int(stored["repository_id"]), int(stored["run"]), str(stored["title"])
    )
    return None if found is None else asdict(found)


def _fetched(context: ServiceContext, order: CommentJob, run: GpuRun) -> RunOutcome:
    client = context.app.client(order.installation, order.repository_id, READ_CI)
    there = client.get(f"/repos/{order.repository}/actions/runs/{run.run}")
    context.records.set_minutes(run.request, _minutes(there, run.minutes))
    if not kernel_result.is_requested_run(run, there):
        return RunOutcome("failure", "kernels-other")
    if there["conclusion"] == "cancelled":
        return RunOutcome("cancelled", "kernels-failed")
    # Tests that failed are results, and may be why the run did.
    if there["conclusion"] != "success" and not run.files.get("junit"):
        return RunOutcome("failure", "kernels-failed")
    archive = run_files.download_artifact(context, order, run)
    if archive is None:
        return RunOutcome(
            "failure", "kernels-nothing" if there["conclusion"] == "success" else "kernels-failed"
        )
    return _judged(context, order, run, archive)


def _heard(context: ServiceContext, order: CommentJob) -> None:
    """Wait until the command has said that the run was asked for: both would find nothing said, and say two things."""
    if context.store.is_running(order.id):
        raise RetryLater(1.0)


def _ran(context: ServiceContext, order: CommentJob, run: GpuRun, stored: Json) -> RunOutcome:
    """Whether it may run is asked again: it may have waited long."""
    pull = context.app.client(order.installation, order.repository_id, ANALYSE).get_new(
        order.place.path
    )
    if pull["state"] != "open" or pull["head"]["sha"] != run.head:
        context.records.cancel_reservation(run.request)
        return RunOutcome("cancelled", "kernels-overtaken")
    token = context.app.token(order.installation, order.repository_id, ANALYSE)
    clone, _ = context.checkouts.fetch(order.repository, token, str(pull["base"]["ref"]), run.head)
    begun = time.monotonic()
    try:
        archive = kernels.archive(
            clone, run, stored["ops"], context.settings, trusted=stored["trusted"]
        )
    except kernels.Refused:
        context.records.cancel_reservation(run.request)
        return RunOutcome("failure", "kernels-unconfined")
    except UserError as error:
        return RunOutcome(
            "failure", "kernels-failed", context.words(f"errors.{error.key}", **error.args_)
        )
    except JobFailed as error:
        _log.error("kernels could not be run", error=str(error))
        return RunOutcome("failure", "kernels-failed")
    finally:
        context.records.set_minutes(
            run.request, min(run.minutes, math.ceil((time.monotonic() - begun) / 60))
        )
    return _judged(context, order, run, archive)


def _judged(context: ServiceContext, order: CommentJob, run: GpuRun, archive: bytes) -> RunOutcome:
    found = kernel_result.judge_run(
        run, archive, context.words, context.settings.baselines(run.repository_id)
    )
    for tab in found.tabs:
        kept = PageReport(
            order.repository, order.number, tab.kind, run.head, time.time(), tab.bodies, tab.verdict
        )
        PageStore(context.store.engine).keep_report(kept)
    return replace(found, tabs=())


def _minutes(run: Json, reserved: int) -> int:
    """What the run took, rounded up; never more than was reserved for it."""
    begun = run.get("run_started_at") or run["created_at"]
    seconds = (
        datetime.fromisoformat(run["updated_at"]) - datetime.fromisoformat(begun)
    ).total_seconds()
    return min(reserved, max(1, math.ceil(seconds / 60)))
