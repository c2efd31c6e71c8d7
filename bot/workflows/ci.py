"""The durable CI reports: a commit's events lead to its pull requests, and each of those has one
report at a time."""

from __future__ import annotations

import time
from typing import Any

import structlog
from dbos import DBOS

from bot.ci.merge_queue import queued_pull
from bot.context import metrics
from bot.context.retries import step, step_named
from bot.context.service_context import current_context
from bot.db.deliveries import delay_to_period_end
from bot.github.app import READ_CI
from bot.jobs.ci import CommitCIJob, PullCIJob
from bot.workflows.ci_comment import refresh

Json = dict[str, Any]
_log = structlog.get_logger("specbot.ci")


@DBOS.workflow(name="ci-commit")
def look_at_commit(stored: Json) -> int:
    """Order a report on every open pull request of a stored `CommitCIJob`'s commit; gives how many
    there are."""
    commit = CommitCIJob(**stored)
    numbers = pulls_of(commit)
    order_reports(commit, numbers, str(DBOS.workflow_id))
    return len(numbers)


@step
def pulls_of(commit: CommitCIJob) -> list[int]:
    """The open pull requests with this head, or the one that the merge queue tries with it."""
    queued = queued_pull(commit.branch)
    if queued is not None:
        # The report ends by itself where it is not open any more.
        return [queued]
    client = current_context().app.client(commit.installation, commit.repository_id, READ_CI)
    path = f"/repos/{commit.repository}"
    pulls = client.get(f"{path}/commits/{commit.head}/pulls")
    if not pulls:
        # GitHub does not find the pull requests of a fork by their commit.
        pulls = client.pages(f"{path}/pulls", state="open", sort="updated", direction="desc")
    return [
        int(pull["number"])
        for pull in pulls
        if pull["state"] == "open" and pull["head"]["sha"] == commit.head
    ]


@step
def order_reports(commit: CommitCIJob, numbers: list[int], why: str) -> None:
    """Enqueue them; those that are enqueued already stay as they are."""
    for number in numbers:
        pull = PullCIJob(commit.installation, commit.repository_id, commit.repository, number)
        current_context().store.enqueue(pull.request(why))


@DBOS.workflow(name="ci-report")
def report_ci(stored: Json) -> str:
    """Report on a stored `PullCIJob`; gives how it ended. While jobs run, the next report is
    ordered."""
    pull = PullCIJob(**stored)
    about = {"workflow": DBOS.workflow_id, "pull": f"{pull.repository}#{pull.number}"}
    with structlog.contextvars.bound_contextvars(**about):
        outcome, running = refresh_report(pull)
        if running:
            order_again(pull)
        metrics.CI_REPORTS.labels(outcome).inc()
        _log.info("CI report ended", outcome=outcome, running=running)
    return outcome


@step_named("refreshed")
def refresh_report(pull: PullCIJob) -> tuple[str, bool]:
    """How the report ended, and whether jobs still run."""
    result = refresh(pull, current_context())
    return result.outcome, result.running


@step
def order_again(pull: PullCIJob) -> None:
    """One report at the end of this half hour, however many are made until then."""
    context = current_context()
    period = context.settings.ci_refresh_every
    request = delay_to_period_end(pull.request("refresh"), period, time.time())
    context.store.enqueue(request)
