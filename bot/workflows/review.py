"""The durable review of a pull request. Each step is recorded; what a step does twice has its
effect once."""

from __future__ import annotations

import time
from typing import Any

import structlog
from dbos import DBOS, PortableWorkflowError
from dbos import error as dbos_error

from bot.chat import auto_run
from bot.chat.greeting import FIRST, greet
from bot.context import metrics
from bot.context.retries import is_transient, posting_step, step
from bot.context.service_context import current_context
from bot.db.deliveries import PullKey
from bot.db.rate_limits import charged_to
from bot.errors import UserError
from bot.github import GitHubError, check
from bot.github.app import ANALYSE, COMMENT, PUBLISH, RESOLVE
from bot.github.client import Client
from bot.github.publish import close_outdated, post_review
from bot.jobs.requests import ReviewJob
from bot.sandbox import client as sandbox
from bot.web.page_store import page_address
from bot.workflows import check_output, publish_pages

Json = dict[str, Any]
_log = structlog.get_logger("specbot.review")


@DBOS.workflow(name="review")
def review_pull(stored: Json) -> str:
    """Review the pull request of a stored `ReviewJob`; gives how it ended."""
    job = ReviewJob(**stored)
    about = {
        "workflow": job.id,
        "delivery": job.id.removeprefix("review-"),
        "pull": f"{job.repository}#{job.number}",
    }
    with structlog.contextvars.bound_contextvars(**about), metrics.REVIEW_SECONDS.time():
        facts = read_pull(job)
        outcome = "not-wanted" if facts is None else _review_charged(job, facts)
        metrics.REVIEWS.labels(outcome).inc()
        _log.info("review ended", outcome=outcome)
    return outcome


def _review_charged(job: ReviewJob, facts: Json) -> str:
    """What the review writes is of the share of the pull request's author."""
    with charged_to(facts.get("author", 0), job.repository):
        return _review(job, facts)


def _review(job: ReviewJob, facts: Json) -> str:
    head = facts["head"]
    # A review that was begun by an older version has no such fact.
    if facts.get("posting") == "shadow":
        return _review_in_shadow(job, facts)
    run = begin_check(job, head)
    try:
        result = analyse(job, facts)
        if _is_to_be_posted(facts, result) and not publish(job, head, result["payload"]):
            result = {"stopped": True}
        if "payload" not in result:
            end_without_verdict(job, run, head, result)
            # Its only key says why: `error`, `stopped` or `failed`.
            return next(iter(result))
        tidy_up(job, result)
    except Exception as error:
        # The edge of this process for a review: DBOS would keep the error to itself, and the check
        # would run for ever.
        expected = GitHubError | dbos_error.DBOSMaxStepRetriesExceeded | PortableWorkflowError
        ours = not isinstance(error, expected)
        _log.error("review failed", error=str(error), exc_info=ours)
        end_without_verdict(job, run, head, {"broken": True})
        return "broken"
    finish_check(job, run, result | {"posting": facts.get("posting", "all")})
    remember(job, head, result["report"] | {"evidence": result["evidence"]})
    if result["gpu_jobs"]:
        start_gpu_jobs(job, head, result["gpu_jobs"])
    keep_pages(job, facts, result["report"])
    if facts.get("greeted", facts["first"]) and facts.get("posting") != "bugs":
        welcome(job, result["report"], first=facts["first"])
    return "published"


def _review_in_shadow(job: ReviewJob, facts: Json) -> str:
    """The review with its pages, and nothing on GitHub."""
    result = analyse(job, facts)
    if "report" not in result:
        set_aside(job, facts["head"], result)
        return next(iter(result))
    remember(job, facts["head"], result["report"])
    keep_pages(job, facts, result["report"])
    return "shadow"


@step
def set_aside(job: ReviewJob, head: str, result: Json) -> None:
    """Do not order a review again that would come to nothing again."""
    if "error" in result or "failed" in result:
        current_context().store.set_reported(_key(job), head)


@step
def read_pull(job: ReviewJob) -> Json | None:
    """What the pull request is now; None where there is nothing to review any more.

    Of a push that another one followed GitHub is not asked: who pushes all the time would spend the
    requests of the whole installation.
    """
    context = current_context()
    if not context.store.is_latest(_key(job), job.id):
        return None
    pull = _client(job).get_new(job.place.path)
    if pull["state"] != "open" or pull["draft"]:
        return None
    return {
        "head": pull["head"]["sha"],
        "target": pull["base"]["ref"],
        "title": pull["title"],
        "body": pull["body"] or "",
        "skips": context.records.skips(_key(job)),
        "web": f"{context.app.endpoint.server}/{job.repository}",
        "page": page_address(context.settings.public_url, job.repository, job.number),
        "first": pull["author_association"] in FIRST,
        "greeted": _wants_greeting(pull, context.records.report(_key(job))),
        "posting": context.settings.posting,
        "author": pull["user"]["id"] if pull["user"] else 0,
    }


@step
def begin_check(job: ReviewJob, head: str) -> int:
    """Show that a review runs; gives the check run's id."""
    context = current_context()
    output = check_output.running_output(context.words)
    page = page_address(context.settings.public_url, job.repository, job.number)
    return check.begin(
        _client(job), context.app.id, job.repository, head, job.id, output, page=page
    )


@step
def analyse(job: ReviewJob, facts: Json) -> Json:
    """Fetch the commits and review them: `payload` and `report`, or `error`, `stopped` or
    `failed`."""
    context, key = current_context(), _key(job)
    token = context.app.token(job.installation, job.repository_id, ANALYSE)
    begun = time.monotonic()
    target, head = facts["target"], facts["head"]
    try:
        clone, compared = context.checkouts.fetch(job.repository, token, target, head)
    except UserError as error:
        return {"error": error.as_data()}
    fetched = time.monotonic()
    language = context.settings.language
    try:
        result = sandbox.run_review(
            clone, compared, facts, language, lambda: context.store.is_latest(key, job.id)
        )
    except sandbox.JobStopped:
        return {"stopped": True}
    except sandbox.JobFailed as error:
        _log.error("the analysis failed", error=str(error))
        return {"failed": True}
    seconds = {
        "fetch": round(fetched - begun, 3),
        "analysis": round(time.monotonic() - fetched, 3),
    }
    _log.info("change analysed", seconds=seconds)
    return result


@posting_step
def publish(job: ReviewJob, head: str, payload: Json) -> bool:
    """Post the review, unless the pull request has gone on in the meantime."""
    client = _client(job)
    pull = client.get(job.place.path)
    if pull["head"]["sha"] != head or pull["state"] != "open":
        return False
    if not current_context().store.is_latest(_key(job), job.id):
        return False
    post_review(client, job.place, payload)
    return True


@step
def tidy_up(job: ReviewJob, result: Json) -> None:
    """Fold older reviews and resolve what was fixed. What GitHub does not let us fold, such as what
    somebody deletes in that moment, is no reason for a check without a verdict."""
    app = current_context().app
    resolver = app.client_if_granted(job.installation, job.repository_id, RESOLVE)
    findings = result["report"]["findings"]
    try:
        close_outdated(_client(job), job.place, result["payload"], findings, resolver)
    except GitHubError as error:
        if is_transient(error):
            raise
        _log.warning("older reviews were not folded", error=str(error))


@step
def finish_check(job: ReviewJob, run: int, result: Json) -> None:
    """End the check run with the verdict and its annotations."""
    context, report = current_context(), result["report"]
    if result.get("posting") == "bugs":
        report = _with_bugs_alone(report)
    check.finish(
        _client(job),
        job.repository,
        run,
        check_output.conclusion(report, context.settings.on_error),
        check_output.verdict_output(report, context.words),
        check_output.finding_annotations(report["findings"], context.settings.language),
    )


@step
def end_without_verdict(job: ReviewJob, run: int, head: str, result: Json) -> None:
    """End the check run of a review that came to nothing.

    One that would come to nothing again is not ordered again.
    """
    context = current_context()
    if "error" in result:
        output = check_output.refused_output(result["error"], context.words)
    elif "stopped" in result:
        output = check_output.superseded_output(context.words)
    else:
        output = check_output.broken_output(job.id, context.words)
    conclusion = check_output.end_of_unfinished(result, context.settings.on_error)
    check.abandon(_client(job), job.repository, run, job.id, conclusion, output)
    if "error" in result or "failed" in result:
        context.store.set_reported(_key(job), head)


@step
def remember(job: ReviewJob, head: str, report: Json) -> None:
    """Note what was reported, for the reconcile loop and for `/explain`."""
    context = current_context()
    context.records.save_report(_key(job), report)
    context.store.set_reported(_key(job), head)


@step
def start_gpu_jobs(job: ReviewJob, head: str, gpu_jobs: list[str]) -> None:
    """Order the runs that the repository wants for what the pull request touches."""
    auto_run.begin(current_context(), job, head, gpu_jobs)


@step
def welcome(job: ReviewJob, report: Json, *, first: bool) -> None:
    """Greet the author: at length who contributes for the `first` time."""
    context = current_context()
    client = context.app.client(job.installation, job.repository_id, COMMENT)
    greet(context.app, client, job.place, report, context.words, first=first)


def _wants_greeting(pull: Json, last_report: Json | None) -> bool:
    """Whether a person has opened the pull request, and this is its first review."""
    author = pull["user"]
    return last_report is None and author is not None and author["type"] == "User"


@step
def keep_pages(job: ReviewJob, facts: Json, report: Json) -> None:
    """Write the pages that people look at."""
    publish_pages.publish_pages(current_context(), _client(job), job, facts, report)


def _is_to_be_posted(facts: Json, result: Json) -> bool:
    """Whether there is a review to post; who wants to hear of bugs alone hears nothing of none."""
    if "payload" not in result:
        return False
    if facts.get("posting") != "bugs":
        return True
    return any(finding["severity"] == "bug" for finding in result["report"]["findings"])


def _with_bugs_alone(report: Json) -> Json:
    """The report, as JSON, as if there were no other findings than bugs."""
    bugs = [finding for finding in report["findings"] if finding["severity"] == "bug"]
    return report | {"findings": bugs, "verdict": "block" if bugs else "pass"}


def _client(job: ReviewJob) -> Client:
    return current_context().app.client(job.installation, job.repository_id, PUBLISH)


def _key(job: ReviewJob) -> PullKey:
    return PullKey(job.repository_id, job.number)
