"""What a person sees of CI: jobs end on GitHub, and one comment says what that means, however the
news came."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.bot.test_ci_collect import LOG, ago, job, run_of
from tests.fake_github import FakeGitHub, people, shapes, state
from tests.workflows.conftest import Bot, small, started, until, watched

QUICK = {"SPECBOT_CI_GATHER": "0.5"}
UNIT = "AssertionError: packed 3 instead of 5123"


def said(pull: state.Pull) -> str:
    """Our one comment on CI; empty while there is none."""
    ours = [c for c in pull.comments if c.body.startswith("<!-- specbot:ci ")]
    assert len(ours) <= 1
    return ours[0].body if ours else ""


def opened(fake: FakeGitHub, repo: state.Repository, *, draft: bool = True) -> state.Pull:
    """A pull request; of a draft there is no review, only a report on its CI."""
    repo.rulesets["main"] = [("unit", None)]
    return people.open_pull(fake, repo, "feature", draft=draft, send=not draft)


def end(
    fake: FakeGitHub,
    repo: state.Repository,
    event: str,
    part: dict[str, object],
    sender: str = "ada",
) -> None:
    """The webhook `event` about `part`, which has ended.

    What is null or an object may differ from the API's, and is filled as the description of
    webhooks has it.
    """
    told = {
        name: value
        for name, value in part.items()
        if value is not None and not isinstance(value, dict)
    }
    people.webhook(fake, repo, event, {"action": "completed", event: told}, sender)


def job_ended(
    fake: FakeGitHub,
    repo: state.Repository,
    run: state.WorkflowRun,
    one: state.Job,
    sender: str = "ada",
) -> None:
    end(fake, repo, "workflow_job", shapes.job(run, one), sender)


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bot]:
    """A bot that gathers events for half a second."""
    with started(tmp_path_factory.mktemp("ci"), **QUICK) as made, watched(made.fake):
        yield made


@pytest.fixture
def engine(quick: Bot) -> state.Repository:
    return small(quick.fake)


def test_a_run_from_its_first_failure_to_its_rerun(quick, engine):
    fake, pull = quick.fake, opened(quick.fake, engine, draft=False)
    engine.rulesets["main"].append(("docs", None))
    run_of(
        engine,
        job("lint", at=200),
        head_sha=engine.git.sha("main"),
        head_branch="main",
        event="push",
    )
    red, slow = job("unit", "failure", log=LOG, at=90), job("lint", None, at=1)
    run = run_of(engine, red, slow)
    job_ended(fake, engine, run, red)
    until(lambda: UNIT in said(pull))
    assert "Since the last report" not in said(pull)
    assert "never started" in said(pull) and "to go (median of 1 past run)" in said(pull)
    page = f"{quick.url}/pr/{engine.full_name}/1?tab=ci&lang=en"
    until(lambda: UNIT in httpx.get(page, trust_env=False).text)

    slow.status, slow.conclusion, slow.completed_at = "completed", "success", ago(minutes=1)
    end(fake, engine, "workflow_run", shapes.run(engine, run))
    until(lambda: "newly passed: `lint`" in said(pull))

    run.jobs.append(job("unit", at=30, attempt=2))
    job_ended(fake, engine, run, run.jobs[-1])
    until(lambda: "failed before and passed now: `unit`" in said(pull))
    assert "| 4(1) | 3 |" in said(pull)
    assert len(next(c for c in pull.comments if c.body == said(pull)).edits) == 2
    until(lambda: "failed before and passed now" in httpx.get(page, trust_env=False).text)


def test_many_events_at_once_are_one_comment(quick, engine):
    """Of every kind, on a head of a fork as well."""
    fake = quick.fake
    fork = fake.repository(f"eve/{engine.name}", installed=False, fork=True)
    fork.git.adopt(engine.git.directory, main=engine.git.sha("main"))
    fork.git.commit("patch", {"engine/step.py": "a = 3\n"}, parent="main")
    pull = people.open_pull(fake, engine, "patch", fork=fork, author="eve", draft=True, send=False)
    run = run_of(engine, job("unit", "failure", log=LOG), *(job(f"job {n}") for n in range(6)))
    check = state.CheckRun(
        "external", pull.head_sha, 99, "completed", "success", completed_at=ago(minutes=2)
    )
    engine.check_runs.append(check)
    status = state.Status(pull.head_sha, "jenkins", "success", fake.user("jenkins"))
    engine.statuses.append(status)
    for one in run.jobs:
        job_ended(fake, engine, run, one)
    end(fake, engine, "check_run", shapes.check_run(check))
    end(fake, engine, "check_suite", {"head_sha": pull.head_sha, "status": "completed"})
    known = {"sha": pull.head_sha, "state": "success", "context": "jenkins", "id": status.id}
    people.webhook(fake, engine, "status", known, "jenkins")
    until(lambda: UNIT in said(pull))
    before = len(fake.asked("pulls/get"))
    people.comment(fake, engine, pull, "eve", "/ci")
    until(lambda: any("The CI report is up to date" in c.body for c in pull.comments))
    assert len(fake.asked("pulls/get")) > before
    assert "8 others passed" in said(pull)
    assert next(c for c in pull.comments if c.body == said(pull)).edits == []


def test_what_is_no_news_is_left_alone(quick, engine):
    fake, pull = quick.fake, opened(quick.fake, engine)
    run = run_of(engine, job("unit"))
    about = {"workflow_job": shapes.job(run, run.jobs[0])}
    people.webhook(fake, engine, "workflow_job", {"action": "in_progress", **about}, "ada")
    known = {"sha": pull.head_sha, "state": "pending", "context": "jenkins", "id": 7}
    people.webhook(fake, engine, "status", known, "jenkins")
    ours = state.CheckRun("specbot/review", pull.head_sha, fake.app_id, "completed", "success")
    end(fake, engine, "check_run", shapes.check_run(ours))
    elsewhere = engine.git.commit("other", {"engine/other.py": "b = 1\n"}, parent="main")
    end(fake, engine, "check_suite", {"head_sha": elsewhere, "status": "completed"})
    pull.state = "closed"
    job_ended(fake, engine, run, run.jobs[0])
    sentinel = people.open_pull(fake, engine, "other", draft=True, send=False)
    end(fake, engine, "check_suite", {"head_sha": elsewhere, "status": "completed"})
    people.comment(fake, engine, sentinel, "ada", "/ci")
    until(lambda: any("The CI report is up to date" in c.body for c in sentinel.comments))
    assert said(sentinel) and not said(pull)


def test_while_jobs_run_the_report_is_made_again_by_itself(fake, bot, repo):
    bot.start(**QUICK, SPECBOT_CI_REFRESH_EVERY="1")
    pull = opened(fake, repo)
    slow = job("unit", None)
    run = run_of(repo, job("lint"), slow)
    job_ended(fake, repo, run, run.jobs[0])
    until(lambda: said(pull))
    slow.status, slow.conclusion, slow.completed_at, slow.log = (
        "completed",
        "failure",
        ago(minutes=0),
        LOG,
    )
    until(lambda: UNIT in said(pull))


def test_events_that_never_came_are_made_good(fake, bot, repo):
    """A check that ended unheard, and then a new head of which nothing was heard."""
    bot.start(**QUICK, SPECBOT_RECONCILE_EVERY="1")
    pull = opened(fake, repo)
    run_of(repo, job("unit", "failure", log=LOG))
    until(lambda: UNIT in said(pull))
    made = len(fake.asked("pulls/get"))
    until(lambda: len(fake.asked("pulls/list")) > 5)
    assert len(fake.asked("pulls/get")) <= made + 1, "what has no news is not collected again"
    sha = repo.git.commit("feature", {"engine/step.py": "a = 4\n"})
    people.push(fake, repo, pull, sha, send=False)
    run_of(repo, job("unit"), head_sha=sha)
    until(lambda: sha[:12] in said(pull))


def test_killed_at_the_worst_moments(fake, bot, repo):
    """While it collects, and when the comment is written and nobody knows yet."""
    pull = opened(fake, repo)
    run = run_of(repo, job("unit", "failure", log=LOG))
    bot.start(**QUICK)
    moments = [("GET", "actions/runs$", "after"), ("POST", "/comments$", "after")]
    faults = [fake.fault(method, path, bot.kill, when=when) for method, path, when in moments]
    job_ended(fake, repo, run, run.jobs[0])
    for fault in faults:
        until(lambda fault=fault: fault.times == 0 and not bot.alive())
        bot.run("serve", **QUICK)
    until(bot.ready)
    people.comment(fake, repo, pull, "ada", "/ci")
    until(lambda: any("The CI report is up to date" in c.body for c in pull.comments))
    assert UNIT in said(pull)


def test_anothers_comment_that_looks_like_ours(quick, engine, tmp_path: Path):
    fake, pull = quick.fake, opened(quick.fake, engine)
    mark = f"<!-- specbot:ci {pull.head_sha} {'b' * 16} -->\n\nmine"
    people.comment(fake, engine, pull, "mallory", mark, send=False)
    run = run_of(engine, job("unit", "failure", log=LOG))
    job_ended(fake, engine, run, run.jobs[0])
    until(lambda: len(pull.comments) == 2)
    assert pull.comments[0].body == mark and UNIT in pull.comments[1].body


def test_two_comments_of_ours_become_one(quick, engine):
    """Two versions beside each other, during an upgrade, may have written one each."""
    pull = opened(quick.fake, engine)
    run = run_of(engine, job("unit", "failure", log=LOG))
    job_ended(quick.fake, engine, run, run.jobs[0])
    until(lambda: said(pull))
    first = pull.comments[0]
    pull.comments.append(state.Comment(quick.fake.bot, first.body, app=quick.fake.app_id))
    run.jobs.append(job("lint", "failure", log=LOG))
    job_ended(quick.fake, engine, run, run.jobs[1])
    until(lambda: "lint" in first.body)
    assert pull.comments == [first]


def test_what_the_merge_queue_says_is_in_the_comment(quick, engine):
    """Its commit is no head of a pull request: the branch says which one it tries."""
    fake, pull = quick.fake, opened(quick.fake, engine)
    passed = job("unit", at=60)
    run_of(engine, passed)
    branch = f"gh-readonly-queue/main/pr-{pull.number}-{engine.git.sha('main')}"
    red = job("unit", "failure", log=LOG, at=20)
    at = {"head_sha": "f" * 40, "head_branch": branch, "event": "merge_group"}
    queued = run_of(engine, red, created_at=ago(minutes=30), **at)
    job_ended(fake, engine, queued, red)
    until(lambda: UNIT in said(pull))
    assert r"unit (merge" in said(pull).replace("\\", "")
