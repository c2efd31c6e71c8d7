"""GitHub Enterprise Server, whose answers are years behind: the bot works with them all the same.

Every request of every test is held against its descriptions; here the answers are its own too.
"""

from __future__ import annotations

import pytest

from tests.fake_github import enterprise, people
from tests.workflows.conftest import ended, until
from tests.workflows.test_commands import WORKFLOW, answers, failed, ran


@pytest.fixture(params=enterprise.VERSIONS)
def server(request, fake):
    fake.enterprise = request.param
    return fake


def test_there_are_the_oldest_and_the_newest():
    assert enterprise.VERSIONS == ("3.17", "3.19")


def test_reviews_commands_and_reports(server, bot, repo):
    bot.start(SPECBOT_CI_GATHER="1", SPECBOT_REDELIVER_EVERY="1")
    repo.roles["ada"] = "write"
    repo.workflows[WORKFLOW] = 5
    pull = people.open_pull(server, repo, "feature")
    until(lambda: ended(repo, pull.head_sha))
    ran(repo, pull, failed("unit"))
    told = people.comment(server, repo, pull, "ada", "/ci\n/re-run unit\n/kernels\n/why x")
    until(lambda: len(answers(server, pull, told)) == 4)
    report, again, kernels, why = answers(server, pull, told)
    assert "is up to date" in report and "running again" in again
    assert "Asked for a comparison" in kernels and "have no `x`" in why
    assert any("specbot:ci" in comment.body for comment in pull.comments)
    pushed = repo.git.commit("feature", {"engine/more.py": "x = 1\n"})
    people.push(server, repo, pull, pushed)
    until(lambda: ended(repo, pushed))
    assert len(pull.live_reviews()) == 1
    until(lambda: server.asked("apps/list-webhook-deliveries"))
    assert not any(seen.status == 400 for seen in server.requests)
