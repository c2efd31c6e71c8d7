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
from bot.chat.comment_job import CommentOrder
from bot.chat.page_tab import Outcome
from bot.context.backoff import NotYet
from bot.context.service_context import Machine, machine
from bot.db.commands import GpuRun
from bot.errors import UserError
from bot.github.app import ANALYSE, COMMENT, READ_CI
from bot.sandbox.client import Failed
from bot.sandbox.programs import kernels
from bot.web.page_store import Archive, Report
from bot.workflows.comments import step

Json = dict[str, Any]
_log = structlog.get_logger("specbot.kernels")


@DBOS.workflow(name="kernels-result")
def report_kernels(stored: Json) -> str:
    """Report the workflow run of a stored order, where we asked for it; gives how it ended."""
    here = machine()
    run = step("asked", lambda: _asked(here, stored))
    if run is None:
        return "not-ours"
    ours = GpuRun(**run)
    order = CommentOrder(**ours.order)
    with structlog.contextvars.bound_contextvars(
        pull=f"{order.repository}#{order.number}", request=ours.request
    ):
        found = Outcome(**step("fetch", lambda: asdict(_fetched(here, order, ours))))
        _report(here, order, ours, found)
    return found.key


@DBOS.workflow(name="kernels-local")
def run_kernels(stored: Json) -> str:
    """Run the kernels of a stored `GpuRun` here, and report them as if a workflow had; gives how it ended."""
    here, ours = machine(), GpuRun(**stored["run"])
    order = CommentOrder(**ours.order)
    with structlog.contextvars.bound_contextvars(
        pull=f"{order.repository}#{order.number}", request=ours.request
    ):
        found = Outcome(**step("run", lambda: asdict(_ran(here, order, ours, stored))))
        step("heard", lambda: _heard(here, order))
        _report(here, order, ours, found)
    return found.key


def _report(here: Machine, order: CommentOrder, ours: GpuRun, found: Outcome) -> None:
    title = here.words(f"comments.{found.key}")
    text = found.text or title
    step("check", lambda: kernel_check.finish(here, order, ours, found.conclusion, title, text))
    said = f"**{title}**\n\n{found.text}" if found.text else title
    body = reply.body(order, ours.command, said, here.words("comments.cut"))
    step("answer", lambda: _answer(here, order, ours.command, body))
    _log.info("kernel run reported", outcome=found.key)


def _answer(here: Machine, order: CommentOrder, command: int, body: str) -> None:
    client = here.app.client(order.installation, order.repository_id, COMMENT)
    reply.replace(here.app, client, order, command, body)


def _asked(here: Machine, stored: Json) -> Json | None:
    """Our request for the run, None where we did not ask for it."""
    found = here.records.gpu_run(
        int(stored["repository_id"]), int(stored["run"]), str(stored["title"])
    )
    return None if found is None else asdict(found)


def _fetched(here: Machine, order: CommentOrder, run: GpuRun) -> Outcome:
    client = here.app.client(order.installation, order.repository_id, READ_CI)
    there = client.get(f"/repos/{order.repository}/actions/runs/{run.run}")
    here.records.used(run.request, _minutes(there, run.minutes))
    if not kernel_result.matches(run, there):
        return Outcome("failure", "kernels-other")
    if there["conclusion"] == "cancelled":
        return Outcome("cancelled", "kernels-failed")
    # Tests that failed are results, and may be why the run did.
    if there["conclusion"] != "success" and not run.files.get("junit"):
        return Outcome("failure", "kernels-failed")
    archive = run_files.readable(here, order, run)
    if archive is None:
        return Outcome(
            "failure", "kernels-nothing" if there["conclusion"] == "success" else "kernels-failed"
        )
    return _judged(here, order, run, archive)


def _heard(here: Machine, order: CommentOrder) -> None:
    """Wait until the command has said that the run was asked for: both would find nothing said, and say two things."""
    if here.store.runs(order.id):
        raise NotYet(1.0)


def _ran(here: Machine, order: CommentOrder, run: GpuRun, stored: Json) -> Outcome:
    """Whether it may run is asked again: it may have waited long."""
    pull = here.app.client(order.installation, order.repository_id, ANALYSE).get_new(
        order.place.path
    )
    if pull["state"] != "open" or pull["head"]["sha"] != run.head:
        here.records.give_back(run.request)
        return Outcome("cancelled", "kernels-overtaken")
    token = here.app.token(order.installation, order.repository_id, ANALYSE)
    clone, _ = here.checkouts.fetch(order.repository, token, str(pull["base"]["ref"]), run.head)
    begun = time.monotonic()
    try:
        archive = kernels.archive(
            clone, run, stored["ops"], here.settings, trusted=stored["trusted"]
        )
    except kernels.Refused:
        here.records.give_back(run.request)
        return Outcome("failure", "kernels-unconfined")
    except UserError as error:
        return Outcome(
            "failure", "kernels-failed", here.words(f"errors.{error.key}", **error.args_)
        )
    except Failed as error:
        _log.error("kernels could not be run", error=str(error))
        return Outcome("failure", "kernels-failed")
    finally:
        here.records.used(run.request, min(run.minutes, math.ceil((time.monotonic() - begun) / 60)))
    return _judged(here, order, run, archive)


def _judged(here: Machine, order: CommentOrder, run: GpuRun, archive: bytes) -> Outcome:
    found = kernel_result.outcome(
        run, archive, here.words, here.settings.baselines(run.repository_id)
    )
    for tab in found.tabs:
        kept = Report(
            order.repository, order.number, tab.kind, run.head, time.time(), tab.bodies, tab.verdict
        )
        Archive(here.store.engine).keep_report(kept)
    return replace(found, tabs=())


def _minutes(run: Json, reserved: int) -> int:
    """What the run took, rounded up; never more than was reserved for it."""
    begun = run.get("run_started_at") or run["created_at"]
    seconds = (
        datetime.fromisoformat(run["updated_at"]) - datetime.fromisoformat(begun)
    ).total_seconds()
    return min(reserved, max(1, math.ceil(seconds / 60)))
