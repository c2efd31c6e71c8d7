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
from bot.context.service_context import machine
from bot.db.deliveries import PullKey
from bot.github import GitHubError, check
from bot.github.app import ANALYSE, COMMENT, PUBLISH, RESOLVE
from bot.github.client import Client
from bot.github.publish import post_review, tidy
from bot.jobs.requests import ReviewOrder
from bot.sandbox import client as analysis
from bot.workflows import check_output, publish_pages

Json = dict[str, Any]
_log = structlog.get_logger("specbot.review")


@DBOS.workflow(name="review")
def review_pull(stored: Json) -> str:
    """Review the pull request of a stored `ReviewOrder`; gives how it ended."""
    order = ReviewOrder(**stored)
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


def _review(order: ReviewOrder, facts: Json) -> str:
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
def read_pull(order: ReviewOrder) -> Json | None:
    """What the pull request is now; None where there is nothing to review any more."""
    data = _client(order).get_new(order.place.path)
    if (
        data["state"] != "open"
        or data["draft"]
        or not machine().store.is_latest(_key(order), order.id)
    ):
        return None
    return {
        "head": data["head"]["sha"],
        "target": data["base"]["ref"],
        "title": data["title"],
        "body": data["body"] or "",
        "skips": machine().records.skips(_key(order)),
        "first": data["author_association"] in FIRST,
    }


@step
def begin_check(order: ReviewOrder, head: str) -> int:
    """Show that a review runs; gives the check run's id."""
    output = check_output.running(machine().words)
    return check.begin(_client(order), machine().app.id, order.repository, head, order.id, output)


@step
def analyse(order: ReviewOrder, facts: Json) -> Json:
    """Fetch the commits and review them: `payload` and `report`, or `error`, or `stopped`."""
    here, key = machine(), _key(order)
    token = here.app.token(order.installation, order.repository_id, ANALYSE)
    begun = time.monotonic()
    clone, compared = here.checkouts.fetch(order.repository, token, facts["target"], facts["head"])
    fetched = time.monotonic()
    try:
        found = analysis.analyse(
            clone,
            compared,
            facts,
            here.settings.language,
            lambda: here.store.is_latest(key, order.id),
        )
        took = {
            "fetch": round(fetched - begun, 3),
            "analysis": round(time.monotonic() - fetched, 3),
        }
        _log.info("change analysed", seconds=took)
        return found
    except analysis.Stopped:
        return {"stopped": True}
    except analysis.Failed as error:
        _log.error("the analysis failed", error=str(error))
        return {"failed": True}


@step
def publish(order: ReviewOrder, head: str, payload: Json) -> bool:
    """Post the review, unless the pull request has gone on in the meantime."""
    client, place = _client(order), order.place
    now = client.get(place.path)
    if (
        now["head"]["sha"] != head
        or now["state"] != "open"
        or not machine().store.is_latest(_key(order), order.id)
    ):
        return False
    post_review(client, place, payload)
    return True


@step
def tidy_up(order: ReviewOrder, result: Json) -> None:
    """Fold older reviews and resolve what was fixed."""
    resolver = machine().app.client_if_granted(order.installation, order.repository_id, RESOLVE)
    tidy(_client(order), order.place, result["payload"], result["report"]["findings"], resolver)


@step
def finish_check(order: ReviewOrder, run: int, result: Json) -> None:
    """End the check run with the verdict and its annotations."""
    report, here = result["report"], machine()
    notes = check_output.notes(report["findings"], here.settings.language)
    output = check_output.output(report, here.words)
    check.finish(
        _client(order), order.repository, run, check_output.conclusion(report), output, notes
    )


@step
def end_without_verdict(order: ReviewOrder, run: int, head: str, result: Json) -> None:
    """End the check run of a review that came to nothing; one that would come to nothing again is not ordered again."""
    words = machine().words
    if "error" in result:
        output = check_output.refused(result["error"], words)
    else:
        output = (
            check_output.superseded(words)
            if "stopped" in result
            else check_output.broken(order.id, words)
        )
    check.abandon(_client(order), order.repository, run, order.id, output)
    if "error" in result or "failed" in result:
        machine().store.set_reported(_key(order), head)


@step
def remember(order: ReviewOrder, head: str, report: Json) -> None:
    """Note what was reported, for the reconcile loop and for `/explain`."""
    machine().records.save_report(_key(order), report)
    machine().store.set_reported(_key(order), head)


@step
def start_gpu_jobs(order: ReviewOrder, head: str, jobs: list[str]) -> None:
    """Order the runs that the repository wants for what the pull request touches."""
    auto_run.begin(machine(), order, head, jobs)


@step
def welcome(order: ReviewOrder, report: Json) -> None:
    """Greet who contributes for the first time."""
    here = machine()
    client = here.app.client(order.installation, order.repository_id, COMMENT)
    greet(here.app, client, order.place, report, here.words)


@step
def keep_pages(order: ReviewOrder, facts: Json, report: Json) -> None:
    """Write the pages that people look at."""
    publish_pages.keep(machine(), _client(order), order, facts, report)


def _client(order: ReviewOrder) -> Client:
    return machine().app.client(order.installation, order.repository_id, PUBLISH)


def _key(order: ReviewOrder) -> PullKey:
    return PullKey(order.repository_id, order.number)
