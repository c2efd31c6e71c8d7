"""Checks that somebody or something else asks for: "Re-run", a merge queue, an older server."""

from __future__ import annotations

import githubkit_schemas.v2026_03_10.models as m
import pytest

from bot.github.app import App, Endpoint
from tests.fake_github import people, shapes
from tests.workflows.conftest import ended, until


def test_run_again_runs_again(live, engine):
    """Each of the two buttons of the checks' page."""
    fake, repo = live, engine
    pull = people.open_pull(fake, repo, "feature")
    until(lambda: ended(repo, pull.head_sha))
    run = shapes.check_run(repo.check_runs[0], m.CheckRunWithSimpleCheckSuite)
    people.webhook(fake, repo, "check_run", {"action": "rerequested", "check_run": run}, "ada")
    until(
        lambda: len(repo.check_runs) == 2 and all(c.status == "completed" for c in repo.check_runs)
    )
    suite = {"head_sha": pull.head_sha, "id": 7}
    people.webhook(
        fake, repo, "check_suite", {"action": "rerequested", "check_suite": suite}, "ada"
    )
    until(
        lambda: len(repo.check_runs) == 3 and all(c.status == "completed" for c in repo.check_runs)
    )


def test_what_is_no_longer_reviewed_does_not_wait_for_ever(live, engine):
    """GitHub takes the verdict off a check that somebody wants again, here of an old commit."""
    fake, repo = live, engine
    pull = people.open_pull(fake, repo, "feature")
    old = pull.head_sha
    until(lambda: ended(repo, old))
    (check,) = repo.check_runs
    sha = repo.git.commit("feature", {"engine/new.py": "x = 1\n"})
    people.push(fake, repo, pull, sha)
    until(lambda: ended(repo, sha))
    check.status, check.conclusion = "queued", None
    run = shapes.check_run(check, m.CheckRunWithSimpleCheckSuite)
    people.webhook(fake, repo, "check_run", {"action": "rerequested", "check_run": run}, "ada")
    until(lambda: check.status == "completed")
    assert check.conclusion == "cancelled"
    assert len(repo.check_runs) == 2


def test_a_merge_queue_gets_its_check(live, engine):
    fake, repo = live, engine
    head = repo.git.sha("refs/heads/feature")
    group = {
        "head_sha": head,
        "head_ref": "refs/heads/gh-readonly-queue/main/pr-1-abc",
        "base_sha": repo.git.sha("refs/heads/main"),
        "base_ref": "refs/heads/main",
    }
    more = {"action": "checks_requested", "merge_group": group}
    people.webhook(fake, repo, "merge_group", more, "ada")
    until(lambda: ended(repo, head))
    assert [(c.name, c.conclusion) for c in repo.check_runs] == [("specbot/review", "success")]
    # Somebody wants it run again: its commit is no pull request's.
    run = shapes.check_run(repo.check_runs[0], m.CheckRunWithSimpleCheckSuite)
    run["check_suite"]["head_branch"] = f"gh-readonly-queue/main/pr-1-{'a' * 40}"
    people.webhook(fake, repo, "check_run", {"action": "rerequested", "check_run": run}, "ada")
    until(lambda: [c.conclusion for c in repo.check_runs] == ["success"] * 2)


@pytest.mark.parametrize(
    ("offered", "spoken"),
    [
        (["2022-11-28"], "2022-11-28"),
        (["2022-11-28", "2026-03-10"], "2026-03-10"),
        (["2022-11-28", "2031-01-01"], "2022-11-28"),
    ],
)
def test_the_newest_version_that_both_speak(fake, offered, spoken):
    fake.api_versions = offered
    App(Endpoint(fake.url, fake.url, 0.0), fake.app_id, fake.private_key).itself.get("/app")
    (seen,) = fake.asked("apps/get-authenticated")
    headers = {name.lower(): value for name, value in seen.headers.items()}
    assert headers["x-github-api-version"] == spoken
