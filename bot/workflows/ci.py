"""The durable CI reports: a commit's events lead to its pull requests, and each of those has one
report at a time."""

from __future__ import annotations

from typing import Any

import structlog
from dbos import DBOS

from bot.ci.merge_queue import queued_pull
from bot.context import metrics
from bot.context.backoff import RetryLater
from bot.context.retries import step, step_named
from bot.context.service_context import ServiceContext, current_context
from bot.db.deliveries import delay_to_period_end
from bot.github.app import READ_CI
from bot.jobs.ci import CommitCIJob, PullCIJob
from bot.jobs.requests import JobRequest, account_id, partition
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
    context = current_context()
    for number in numbers:
        pull = PullCIJob(commit.installation, commit.repository_id, commit.repository, number)
        context.store.enqueue(report_request(pull, why, context))


def report_request(pull: PullCIJob, why: str, context: ServiceContext) -> JobRequest:
    """The report, behind others of the author of the pull request, whom GitHub is asked for: events
    of CI do not tell."""
    client = context.app.client(pull.installation, pull.repository_id, READ_CI)
    return pull.request(why, account_id(client.get_new(pull.place.path)))


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
    context = current_context()
    if _was_moved(pull, context):
        return "moved", False
    _let_older_end(pull, context)
    result = refresh(pull, context)
    # One that began meanwhile may have looked for the comment before ours was written.
    _let_older_end(pull, context)
    return result.outcome, result.running


def _was_moved(pull: PullCIJob, context: ServiceContext) -> bool:
    """Versions before ordered each report for itself. Whether this one was, and is done behind the
    others of its author now: two at a time could both write the comment."""
    workflow = str(DBOS.workflow_id)
    apart = partition(pull.repository, pull.number, 0)
    if context.store.partition_of(workflow) != apart:
        return False
    request = report_request(pull, f"moved-{workflow}", context)
    if request.partition == apart:
        # Its account is gone.
        return False
    context.store.enqueue(request)
    return True


def _let_older_end(pull: PullCIJob, context: ServiceContext) -> None:
    """Raise `RetryLater` while a report that was ordered for itself is made, by a worker of an
    older version during an upgrade. Begun anew after it, this one finds what that one wrote."""
    apart = partition(pull.repository, pull.number, 0)
    if set(context.store.at_work("ci-report", apart)) - {str(DBOS.workflow_id)}:
        raise RetryLater(1.0)


@step
def order_again(pull: PullCIJob) -> None:
    """One report at the end of this half hour, however many are made until then."""
    context = current_context()
    period = context.settings.ci_refresh_every
    request = report_request(pull, "refresh", context)
    context.store.enqueue(delay_to_period_end(request, period, context.store.now()))
