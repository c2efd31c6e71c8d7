"""What other runs say of a failure: the base branch, earlier attempts, other pull requests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from checks.ci.message_keys import Reason
from checks.ci.model import CIRun, Conclusion, Job, Past, Where
from checks.ci.observed_failures import ObservedFailure
from checks.ci.report import Evidence
from checks.core.finding import Message

WINDOW = timedelta(days=7)
# One other pull request may have made the same mistake; two did not.
OTHERS = 2


def on_base(run: CIRun, job: Job, seen: ObservedFailure) -> tuple[Evidence, ...]:
    """The same failure of the same job on the merge base, or on the base branch and not passed there since."""
    base = (Where.BASE, Where.MERGE_BASE)
    passed = [
        p.date
        for p in run.history
        if p.where in base and p.conclusion is Conclusion.SUCCESS and _same_job(p, job)
    ]
    own = {run.revisions.merge_base, run.revisions.base} - {""}
    since = max(passed, default=datetime.min.replace(tzinfo=UTC))
    failed = [p for p in _same(run, job, seen) if p.where in base]
    same = [p for p in failed if p.where is Where.MERGE_BASE or p.commit in own or p.date > since]
    args = {"signature": seen.signature}
    return tuple(Evidence(Message(Reason.ON_BASE, args), past=p) for p in _newest(same))


def on_others(run: CIRun, job: Job, seen: ObservedFailure) -> tuple[Evidence, ...]:
    """The same failure on at least two other pull requests of other authors, within the seven days before."""
    same = {
        p.pull: p
        for p in reversed(_newest(_same(run, job, seen)))
        if p.where is Where.PULL
        and p.pull != run.pull.number
        and (not p.author or p.author != run.pull.author)
        and timedelta(0) <= run.collected - p.date <= WINDOW
    }
    if len(same) < OTHERS:
        return ()
    message = Message(Reason.ON_OTHERS, {"count": len(same)})
    return tuple(Evidence(message, past=p) for p in _newest([*same.values()]))


def passed_here(run: CIRun, job: Job, seen: ObservedFailure) -> tuple[Evidence, ...]:
    """The same job, or test, passed on this very commit: an earlier attempt, or another run of this pull request.

    A run of the branch alone does not count: it has the head, but not what it was merged with.
    """
    attempts = [a for a in job.attempts if a.conclusion is Conclusion.SUCCESS]
    found = [Evidence(Message(Reason.PASSED_ELSEWHERE, {"attempt": a.number})) for a in attempts]
    commits = {run.revisions.head, run.revisions.merge} - {""}
    for past in run.history:
        own = past.where is Where.PULL and past.pull == run.pull.number and past.commit in commits
        if (
            own
            and past.conclusion is Conclusion.SUCCESS
            and _same_job(past, job)
            and past.test in ("", seen.test)
        ):
            found.append(Evidence(Message(Reason.PASSED_ELSEWHERE, {"attempt": 0}), past=past))
    return tuple(found)


def repeated(job: Job, seen: ObservedFailure) -> tuple[Evidence, ...]:
    """Earlier attempts on this commit that failed the same way."""
    same = [a for a in job.attempts if seen.signature and seen.signature in a.signatures]
    return (Evidence(Message(Reason.REPEATED, {"count": len(same)})),) if same else ()


def _same(run: CIRun, job: Job, seen: ObservedFailure) -> list[Past]:
    if not seen.signature:
        return []
    return [
        p
        for p in run.history
        if p.signature == seen.signature and p.conclusion.failed and _same_job(p, job)
    ]


def _same_job(past: Past, job: Job) -> bool:
    return past.job == job.name and (
        not past.workflow or not job.workflow or past.workflow == job.workflow
    )


def _newest(found: list[Past]) -> list[Past]:
    return sorted(found, key=lambda p: (p.date, p.commit), reverse=True)
