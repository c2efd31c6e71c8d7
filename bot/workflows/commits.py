"""Durable work on a commit: its reviews again, and the check of what a merge queue made."""

from __future__ import annotations

from typing import Any

import structlog
from dbos import DBOS

from bot.context.retries import step
from bot.context.service_context import current_context
from bot.errors import UserError
from bot.github import check
from bot.github.app import ANALYSE, PUBLISH
from bot.jobs.commits import MergeGroupJob, ReviewAgainJob
from bot.jobs.requests import ReviewJob, account_id
from bot.sandbox import client as sandbox
from bot.workflows import check_output

Json = dict[str, Any]
_log = structlog.get_logger("specbot.review")


@DBOS.workflow(name="review-again")
def review_again(stored: Json) -> int:
    """Order a review of every open pull request of a stored `ReviewAgainJob`'s commit; gives how
    many there are."""
    return order_reviews(stored)


@step
def order_reviews(stored: Json) -> int:
    job = ReviewAgainJob(**stored)
    context = current_context()
    client = context.app.client(job.installation, job.repository_id, PUBLISH)
    path = f"/repos/{job.repository}/pulls"
    ordered = 0
    # GitHub does not find the pull requests of a fork by their commit.
    for pull in client.pages(path, state="open", sort="updated", direction="desc"):
        if pull["head"]["sha"] != job.head or pull["draft"]:
            continue
        number = int(pull["number"])
        review = ReviewJob(
            f"{job.id}-{number}", job.installation, job.repository_id, job.repository, number
        )
        context.store.enqueue(review.request(account_id(pull)))
        ordered += 1
    if not ordered:
        output = check_output.superseded_output(context.words)
        check.end_asked_again(client, context.app.id, job.repository, job.head, output)
    return ordered


@DBOS.workflow(name="merge-group")
def check_merge_group(stored: Json) -> str:
    """Check the commit of a stored `MergeGroupJob`; gives the conclusion.

    No review is posted: its pull requests have theirs.
    """
    job = MergeGroupJob(**stored)
    about = {"workflow": job.id, "repository": job.repository, "head": job.head}
    with structlog.contextvars.bound_contextvars(**about):
        run = begin_group_check(stored)
        conclusion = end_check(stored, run, analyse_group(stored))
        _log.info("merge group checked", conclusion=conclusion)
    return conclusion


@step
def begin_group_check(stored: Json) -> int:
    """Show that it is checked; gives the check run's id."""
    job, context = MergeGroupJob(**stored), current_context()
    client = context.app.client(job.installation, job.repository_id, PUBLISH)
    output = check_output.running_output(context.words)
    return check.begin(client, context.app.id, job.repository, job.head, job.id, output)


@step
def analyse_group(stored: Json) -> Json:
    """Review what the group brings to the branch: `report`, or what kept it from being made."""
    job, context = MergeGroupJob(**stored), current_context()
    token = context.app.token(job.installation, job.repository_id, ANALYSE)
    try:
        clone, compared = context.checkouts.fetch(job.repository, token, job.target, job.head)
    except UserError as error:
        return {"error": error.as_data()}
    facts = {"title": "", "body": "", "target": job.target, "skips": []}
    try:
        language = context.settings.language
        result = sandbox.run_review(clone, compared, facts, language, lambda: True)
    except sandbox.JobFailed as error:
        _log.error("the analysis failed", error=str(error))
        return {"failed": True}
    return {"report": result["report"]} if "report" in result else result


@step
def end_check(stored: Json, run: int, result: Json) -> str:
    """End the check run; gives its conclusion."""
    job, context = MergeGroupJob(**stored), current_context()
    client = context.app.client(job.installation, job.repository_id, PUBLISH)
    on_error = context.settings.on_error
    if "report" not in result:
        conclusion = check_output.end_of_unfinished(result, on_error)
        output = check_output.broken_output(job.id, context.words)
        if "error" in result:
            output = check_output.refused_output(result["error"], context.words)
        check.abandon(client, job.repository, run, job.id, conclusion, output)
        return conclusion
    report = result["report"]
    conclusion = check_output.conclusion(report, on_error)
    output = check_output.verdict_output(report, context.words)
    notes = check_output.finding_annotations(report["findings"], context.settings.language)
    check.finish(client, job.repository, run, conclusion, output, notes)
    return conclusion
