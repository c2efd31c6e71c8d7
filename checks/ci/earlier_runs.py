"""What other runs say about a failure: the base branch, earlier attempts, other pull requests."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from checks.ci.message_keys import Reason
from checks.ci.model import CIRun, Conclusion, Job, Past, Where
from checks.ci.observed_failures import ObservedFailure
from checks.ci.report import Evidence
from checks.core.finding import Message

WINDOW = timedelta(days=7)
# One other pull request may have made the same mistake; two did not.
OTHERS = 2
_ON_BASE = (Where.BASE, Where.MERGE_BASE)
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


def on_base(run: CIRun, job: Job, observed: ObservedFailure) -> tuple[Evidence, ...]:
    """The same failure of the same job on the merge base, or on the base branch and not passed
    there since.
    """
    last_passed = _LONG_AGO
    for past in run.history:
        passed = past.where in _ON_BASE and past.conclusion is Conclusion.SUCCESS
        if passed and _is_same_job(past, job):
            last_passed = max(last_passed, past.date)
    own_commits = {run.revisions.merge_base, run.revisions.base} - {""}
    still_failing = []
    for past in _same_failures(run, job, observed):
        not_passed_since = past.commit in own_commits or past.date > last_passed
        on_branch = past.where is Where.BASE and not_passed_since
        if past.where is Where.MERGE_BASE or on_branch:
            still_failing.append(past)
    message = Message(Reason.ON_BASE, {"signature": observed.signature})
    return tuple(Evidence(message, past=past) for past in _newest_first(still_failing))


def on_others(run: CIRun, job: Job, observed: ObservedFailure) -> tuple[Evidence, ...]:
    """The same failure on at least two other pull requests by other authors, within the seven days
    before.
    """
    newest_by_pull: dict[int, Past] = {}
    for past in reversed(_newest_first(_same_failures(run, job, observed))):
        if _is_of_another(past, run) and timedelta(0) <= run.collected - past.date <= WINDOW:
            newest_by_pull[past.pull] = past
    if len(newest_by_pull) < OTHERS:
        return ()
    message = Message(Reason.ON_OTHERS, {"count": len(newest_by_pull)})
    newest = _newest_first(newest_by_pull.values())
    return tuple(Evidence(message, past=past) for past in newest)


def _is_of_another(past: Past, run: CIRun) -> bool:
    """Whether it is of another pull request, and not by the same author."""
    if past.where is not Where.PULL or past.pull == run.pull.number:
        return False
    return not past.author or past.author != run.pull.author


def passed_here(run: CIRun, job: Job, observed: ObservedFailure) -> tuple[Evidence, ...]:
    """The same job or test passed on this very commit: in an earlier attempt, or another run of
    this pull request.

    A run of the branch alone does not count: it has the head, but not what the head was merged
    with.
    """
    evidence = []
    for attempt in job.attempts:
        if attempt.conclusion is Conclusion.SUCCESS:
            message = Message(Reason.PASSED_ELSEWHERE, {"attempt": attempt.number})
            evidence.append(Evidence(message))
    message = Message(Reason.PASSED_ELSEWHERE, {"attempt": 0})
    for past in run.history:
        if past.conclusion is not Conclusion.SUCCESS or not _is_of_this_commit(past, run):
            continue
        if _is_same_job(past, job) and past.test in ("", observed.test):
            evidence.append(Evidence(message, past=past))
    return tuple(evidence)


def _is_of_this_commit(past: Past, run: CIRun) -> bool:
    commits = {run.revisions.head, run.revisions.merge} - {""}
    is_own_pull = past.where is Where.PULL and past.pull == run.pull.number
    return is_own_pull and past.commit in commits


def repeated(job: Job, observed: ObservedFailure) -> tuple[Evidence, ...]:
    """Earlier attempts on this commit that failed in the same way, as one piece of evidence."""
    signature = observed.signature
    if not signature:
        return ()
    count = sum(signature in attempt.signatures for attempt in job.attempts)
    if not count:
        return ()
    return (Evidence(Message(Reason.REPEATED, {"count": count})),)


def _same_failures(run: CIRun, job: Job, observed: ObservedFailure) -> list[Past]:
    signature = observed.signature
    if not signature:
        return []
    same = []
    for past in run.history:
        failed_alike = past.signature == signature and past.conclusion.failed
        if failed_alike and _is_same_job(past, job):
            same.append(past)
    return same


def _is_same_job(past: Past, job: Job) -> bool:
    if past.job != job.name:
        return False
    return not past.workflow or not job.workflow or past.workflow == job.workflow


def _newest_first(results: Iterable[Past]) -> list[Past]:
    return sorted(results, key=lambda past: (past.date, past.commit), reverse=True)
