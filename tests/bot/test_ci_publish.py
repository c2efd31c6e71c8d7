"""The CI comment on a fake GitHub: one per pull request, edited in place, and silent while nothing
changed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bot.ci.history import History
from bot.context.service_context import ServiceContext
from bot.db.deliveries import open_store
from bot.jobs.ci import PullCIJob
from bot.settings import load
from bot.web.page_store import PageStore
from bot.workflows.ci_comment import refresh
from tests.bot.test_ci_collect import LOG, job, run_of
from tests.fake_github import FakeGitHub, people, serving, state

pytestmark = pytest.mark.usefixtures("fork_server")


@dataclass
class World:
    fake: FakeGitHub
    repo: state.Repository
    context: ServiceContext

    @property
    def pull(self) -> PullCIJob:
        return PullCIJob(self.fake.installations[0].id, self.repo.id, self.repo.full_name, 1)

    @property
    def comments(self) -> list[state.Comment]:
        return self.repo.pulls[1].comments

    @property
    def history(self) -> History:
        return History(self.context.store.engine)

    def refresh(self) -> str:
        return refresh(self.pull, self.context).outcome

    def page(self, language: str = "en") -> tuple[str, str]:
        """How the tab of CI says that it stands, and what it shows."""
        archive = PageStore(self.context.store.engine)
        (entry,) = archive.entries(self.repo.full_name, 1)
        return entry.verdict, archive.body(self.repo.full_name, 1, entry.id, language) or ""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with serving(FakeGitHub(tmp_path / "github")) as fake:
        repo = fake.repository("octo/engine")
        repo.git.commit("main", {"engine/step.py": "a = 1\n"})
        repo.git.commit("feature", {"engine/step.py": "a = 2\n"}, parent="main")
        people.open_pull(fake, repo, "feature", send=False)
        settings = {
            "GITHUB_API_URL": fake.url,
            "GITHUB_SERVER_URL": fake.url,
            "SPECBOT_APP_ID": str(fake.app_id),
            "SPECBOT_PRIVATE_KEY": fake.private_key,
            "SPECBOT_WEBHOOK_SECRETS": "a secret",
            "SPECBOT_WRITE_GAP": "0",
            "SPECBOT_DATA_DIR": str(tmp_path / "data"),
        }
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        (tmp_path / "data").mkdir()
        loaded = load(None)
        store = open_store(loaded)
        yield World(fake, repo, ServiceContext.build(loaded, store))
        store.close()
        assert fake.violations == []


class Later(datetime):
    """A clock by which every report is an hour after the one before."""

    hours = itertools.count(1)

    @classmethod
    def now(cls, tz=None):
        return datetime.now(tz) + timedelta(hours=next(cls.hours))


def test_a_comments_life(world, monkeypatch):
    monkeypatch.setattr("bot.workflows.ci_comment.datetime", Later)
    assert world.refresh() == "nothing" and world.comments == []
    red = job("unit", "failure", log=LOG, at=90)
    run = run_of(world.repo, red, job("lint", None))
    assert world.refresh() == "written"
    (comment,) = world.comments
    assert (
        "AssertionError: packed 3 instead of 5123" in comment.body
        and "Since the last report" not in comment.body
    )
    run.jobs[1].status, run.jobs[1].conclusion, run.jobs[1].completed_at = (
        "completed",
        "success",
        red.completed_at,
    )
    assert world.refresh() == "written"
    assert "newly passed: `lint`" in comment.body
    said = comment.body
    assert world.refresh() == "unchanged"
    assert (comment.body, len(comment.edits), len(world.comments)) == (said, 1, 1)
    run.jobs.append(job("unit", at=30, attempt=2))
    assert world.refresh() == "written"
    assert "failed before and passed now" in comment.body and "Every task passed." in comment.body
    (verdict,) = world.history.precisions()
    assert (verdict.verdicts, verdict.cause) == (1, "unknown")


def test_anothers_comment_with_our_mark_is_left_alone(world):
    run_of(world.repo, job("unit", "failure", log=LOG))
    mark = f"<!-- specbot:ci {'a' * 40} {'b' * 16} -->\n\nmine"
    people.comment(world.fake, world.repo, world.repo.pulls[1], "mallory", mark, send=False)
    assert world.refresh() == "written"
    assert [c.user.login for c in world.comments] == ["mallory", "specbot[bot]"]
    assert world.comments[0].body == mark


def test_the_app_needs_no_more_than_it_was_granted(world):
    run_of(world.repo, job("unit", "failure", log=LOG))
    world.refresh()
    (comment,) = world.comments
    assert "which tasks are required is not known" in comment.body
    assert not any(t.permissions.get("contents") == "write" for t in world.fake.tokens.values())


def test_a_broken_configuration_does_not_silence_the_report(world):
    sha = world.repo.git.commit("main", {".specbot.toml": "nonsense = ["})
    world.repo.pulls[1].base_sha = sha
    world.repo.git.commit("other", {"engine/step.py": "a = 3\n"}, parent="main")
    people.push(
        world.fake, world.repo, world.repo.pulls[1], world.repo.git.sha("other"), send=False
    )
    run_of(world.repo, job("unit", "failure", log=LOG))
    assert world.refresh() == "written"
    assert "AssertionError: packed 3" in world.comments[0].body


def test_a_closed_pull_request_gets_no_report(world):
    run_of(world.repo, job("unit", "failure", log=LOG))
    world.repo.pulls[1].state = "closed"
    assert (world.refresh(), world.comments) == ("closed", [])


def test_the_page_has_what_the_comment_has(world):
    world.repo.rulesets["main"] = [("unit", None)]
    run_of(world.repo, job("unit", "failure", log=LOG), job("lint", None))
    assert world.refresh() == "written"
    verdict, body = world.page()
    assert verdict == "failed" and "AssertionError: packed 3 instead of 5123" in body
    assert "关键日志" in world.page("zh")[1]


@pytest.mark.parametrize(("hours", "goes_on"), [(1, True), (30, False)])
def test_a_report_says_whether_there_will_be_more(world, hours, goes_on):
    """What has been under way for more than a day is not waited for."""
    run_of(world.repo, job("unit"), job("lint", None, at=hours * 60))
    assert refresh(world.pull, world.context).running is goes_on
