"""How a team gets used to it: nothing on GitHub, then bugs alone."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from tests.example.build import Example
from tests.fake_github import FakeGitHub, people
from tests.fake_github.state import Pull, Repository
from tests.workflows.conftest import Bot, ended, until


def opened(fake: FakeGitHub, example: Example) -> tuple[Repository, Pull]:
    repo = fake.repository("octo/lantern")
    repo.git.adopt(example.repo, main=example.base, feature=example.head)
    pull = people.open_pull(fake, repo, "feature", title=example.title, body=example.body)
    return repo, pull


def test_in_shadow_there_is_a_page_and_nothing_on_github(fake, bot, example) -> None:
    bot.start(SPECBOT_POSTING="shadow")
    repo, pull = opened(fake, example)
    people.comment(fake, repo, pull, "ada", "/help")
    until(lambda: reported(bot))
    assert not pull.reviews
    assert not repo.check_runs
    assert [comment.user.login for comment in pull.comments] == ["ada"]
    assert not pull.comments[0].reactions
    granted = [set(token.permissions.values()) for token in fake.tokens.values()]
    assert granted and all(levels <= {"read"} for levels in granted)


def test_with_bugs_alone_nothing_else_is_said(fake, bot, example) -> None:
    bot.start(SPECBOT_POSTING="bugs")
    repo, pull = opened(fake, example)
    until(lambda: ended(repo, pull.head_sha))
    (review,) = pull.reviews
    said = "\n".join([review.body, *(comment.body for comment in review.comments)])
    assert "🔴" in said
    assert "🟡" not in said and "❓" not in said
    (check,) = repo.check_runs
    assert check.conclusion == "failure"
    assert {note["annotation_level"] for note in check.annotations} == {"failure"}


def reported(bot: Bot) -> int:
    """How many pages there are of pull requests."""
    path = bot.database.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path)) as connection:
        query = "select count(*) from specbot_page_reports where kind = 'review'"
        (count,) = connection.execute(query).fetchone()
    return int(count)
