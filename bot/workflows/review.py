"""The durable review of a pull request. Each step is recorded; what a step does twice has its effect once."""

from __future__ import annotations

import time
from typing import Any

import structlog
from dbos import DBOS, PortableWorkflowError
from dbos import error as dbos_error

from bot.chat import auto_run
from bot.chat.greeting import FIRST, greet
from bot.context import metrics
from bot.context.retries import step
from bot.context.service_context import current_context
from bot.db.deliveries import PullKey
from bot.github import GitHubError, check
from bot.github.app import ANALYSE, COMMENT, PUBLISH, RESOLVE
from bot.github.client import Client
from bot.github.publish import close_outdated, post_review
from bot.jobs.requests import ReviewJob
from bot.sandbox import client as analysis
from bot.workflows import check_output, publish_pages

Json = dict[str, Any]
_log = structlog.get_logger("specbot.review")


@DBOS.workflow(name="review")
def review_pull(stored: Json) -> str:
    """Review the pull request of a stored `ReviewOrder`; gives how it ended."""
    order = ReviewJob(**stored)
    about = {
        "workflow": order.id,
        "delivery": order.id.removeprefix("review-"),
        "pull": f"{order.repository}#{order.number}",
    }
    with structlog.contextvars.bound_contextvars(**about), metrics.REVIEW_SECONDS.time():
        facts = read_pull(order)
        outcome = "not-wanted" if facts is None else _review(order, facts)
        metrics.REVIEWS.labels(outcome).inc()
        _log.info("review ended", outcome=outcome)
    return outcome


def _review(order: ReviewJob, facts: Json) -> str:
    run = begin_check(order, facts["head"])
    try:
        result = analyse(order, facts)
        if "payload" in result and not publish(order, facts["head"], result["payload"]):
            result = {"stopped": True}
        if "payload" not in result:
            end_without_verdict(order, run, facts["head"], result)
            return next(iter(result))
        tidy_up(order, result)
    except (GitHubError, dbos_error.DBOSMaxStepRetriesExceeded, PortableWorkflowError) as error:
        _log.error("review failed", error=str(error))
        end_without_verdict(order, run, facts["head"], {"broken": True})
        return "broken"
    finish_check(order, run, result)
    remember(order, facts["head"], result["report"])
    if result["gpu_jobs"]:
        start_gpu_jobs(order, facts["head"], result["gpu_jobs"])
    keep_pages(order, facts, result["report"])
    if facts["first"]:
        welcome(order, result["report"])
    return "published"


@step
def read_pull(order: ReviewJob) -> Json | None:
    """What the pull request is now; None where there is nothing to review any more."""
    data = _client(order).get_new(order.place.path)
    if (
        data["state"] != "open"
        or data["draft"]
        or not current_context().store.is_latest(_key(order), order.id)
    ):
        return None
    return {
        "head": data["head"]["sha"],
        "target": data["base"]["ref"],
        "title": data["title"],
        "body": data["body"] or "",
        "skips": current_context().records.skips(_key(order)),
        "first": data["author_association"] in FIRST,
    }


@step
def begin_check(order: ReviewJob, head: str) -> int:
    """Show that a review runs; gives the check run's id."""
    output = check_output.running_output(current_context().words)
    return check.begin(
        _client(order), current_context().app.id, order.repository, head, order.id, output
    )


@step
def analyse(order: ReviewJob, facts: Json) -> Json:
    """Fetch the commits and review them: `payload` and `report`, or `error`, or `stopped`."""
    context, key = current_context(), _key(order)
    token = context.app.token(order.installation, order.repository_id, ANALYSE)
    begun = time.monotonic()
    clone, compared = context.checkouts.fetch(
        order.repository, token, facts["target"], facts["head"]
    )
    fetched = time.monotonic()
    try:
        found = analysis.run_review(
            clone,
            compared,
            facts,
            context.settings.language,
            lambda: context.store.is_latest(key, order.id),
        )
        took = {
            "fetch": round(fetched - begun, 3),
            "analysis": round(time.monotonic() - fetched, 3),
        }
        _log.info("change analysed", seconds=took)
        return found
    except analysis.JobStopped:
        return {"stopped": True}
    except analysis.JobFailed as error:
        _log.error("the analysis failed", error=str(error))
        return {"failed": True}


@step
def publish(order: ReviewJob, head: str, payload: Json) -> bool:
    """Post the review, unless the pull request has gone on in the meantime."""
    client, place = _client(order), order.place
    now = client.get(place.path)
    if (
        now["head"]["sha"] != head
        or now["state"] != "open"
        or not current_context().store.is_latest(_key(order), order.id)
    ):
        return False
    post_review(client, place, payload)
    return True


@step
def tidy_up(order: ReviewJob, result: Json) -> None:
    """Fold older reviews and resolve what was fixed."""
    resolver = current_context().app.client_if_granted(
        order.installation, order.repository_id, RESOLVE
    )
    close_outdated(
        _client(order), order.place, result["payload"], result["report"]["findings"], resolver
    )


@step
def finish_check(order: ReviewJob, run: int, result: Json) -> None:
    """End the check run with the verdict and its annotations."""
    report, context = result["report"], current_context()
    notes = check_output.finding_annotations(report["findings"], context.settings.language)
    output = check_output.verdict_output(report, context.words)
    check.finish(
        _client(order), order.repository, run, check_output.conclusion(report), output, notes
    )


@step
def end_without_verdict(order: ReviewJob, run: int, head: str, result: Json) -> None:
    """End the check run of a review that came to nothing; one that would come to nothing again is not ordered again."""
    words = current_context().words
    if "error" in result:
        output = check_output.refused_output(result["error"], words)
    else:
        output = (
            check_output.superseded_output(words)
            if "stopped" in result
            else check_output.broken_output(order.id, words)
        )
    check.abandon(_client(order), order.repository, run, order.id, output)
    if "error" in result or "failed" in result:
        current_context().store.set_reported(_key(order), head)


@step
def remember(order: ReviewJob, head: str, report: Json) -> None:
    """Note what was reported, for the reconcile loop and for `/explain`."""
    current_context().records.save_report(_key(order), report)
    current_context().store.set_reported(_key(order), head)


@step
def start_gpu_jobs(order: ReviewJob, head: str, jobs: list[str]) -> None:
    """Order the runs that the repository wants for what the pull request touches."""
    auto_run.begin(current_context(), order, head, jobs)


@step
def welcome(order: ReviewJob, report: Json) -> None:
    """Greet who contributes for the first time."""
    context = current_context()
    client = context.app.client(order.installation, order.repository_id, COMMENT)
    greet(context.app, client, order.place, report, context.words)


@step
def keep_pages(order: ReviewJob, facts: Json, report: Json) -> None:
    """Write the pages that people look at."""
    publish_pages.publish_pages(current_context(), _client(order), order, facts, report)


def _client(order: ReviewJob) -> Client:
    return current_context().app.client(order.installation, order.repository_id, PUBLISH)


def _key(order: ReviewJob) -> PullKey:
    return PullKey(order.repository_id, order.number)
