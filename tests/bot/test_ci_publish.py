"""The CI comment on a fake GitHub: one per pull request, edited in place, and silent while nothing changed."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from bot.ci.history import History
from bot.ci.publish import CIPull, refresh, report_on
from bot.github import App, Endpoint
from bot.github.checkout import Checkouts
from bot.service.machine import Machine, install
from bot.service.settings import load
from bot.service.store import open_store
from tests.bot.test_ci_collect import LOG, job, run_of
from tests.fake_github import FakeGitHub, people, serving, state


@dataclass
class World:
    fake: FakeGitHub
    repo: state.Repository
    history: History
    refresh: object

    @property
    def comments(self) -> list[state.Comment]:
        return self.repo.pulls[1].comments


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with serving(FakeGitHub(tmp_path / "github")) as fake:
        repo = fake.repository("octo/engine")
        repo.git.commit("main", {"engine/step.py": "a = 1\n"})
        repo.git.commit("feature", {"engine/step.py": "a = 2\n"}, parent="main")
        people.open_pull(fake, repo, "feature", send=False)
        app = App(Endpoint(fake.url, fake.url, 0.0), fake.app_id, fake.private_key)
        history = History(sa.create_engine(f"sqlite:///{tmp_path / 'db.sqlite'}"))
        pull = CIPull(fake.installations[0].id, repo.id, repo.full_name, 1)
        checkouts = Checkouts(tmp_path / "clones", fake.url)
        yield World(fake, repo, history, lambda: refresh(pull, app, checkouts, history, "en"))
        assert fake.violations == []


class Later(datetime):
    """A clock by which every report is an hour after the one before."""

    hours = itertools.count(1)

    @classmethod
    def now(cls, tz=None):
        return datetime.now(tz) + timedelta(hours=next(cls.hours))


def test_a_comments_life(world, monkeypatch):
    monkeypatch.setattr("bot.ci.publish.datetime", Later)
    assert world.refresh() is False and world.comments == []
    red = job("unit", "failure", log=LOG, at=90)
    run = run_of(world.repo, red, job("lint", None))
    assert world.refresh() is True
    (comment,) = world.comments
    assert "AssertionError: packed 3 instead of 5123" in comment.body and "Since the last report" not in comment.body
    run.jobs[1].status, run.jobs[1].conclusion, run.jobs[1].completed_at = "completed", "success", red.completed_at
    assert world.refresh() is True
    assert "newly passed: `lint`" in comment.body
    said = comment.body
    assert world.refresh() is False
    assert (comment.body, len(comment.edits), len(world.comments)) == (said, 1, 1)
    run.jobs.append(job("unit", at=30, attempt=2))
    assert world.refresh() is True
    assert "failed before and passed now" in comment.body and "Every task passed." in comment.body
    (verdict,) = world.history.precisions()
    assert (verdict.verdicts, verdict.cause) == (1, "unknown")


def test_anothers_comment_with_our_mark_is_left_alone(world):
    run_of(world.repo, job("unit", "failure", log=LOG))
    mark = f"<!-- specbot:ci {'a' * 40} {'b' * 16} -->\n\nmine"
    people.comment(world.fake, world.repo, world.repo.pulls[1], "mallory", mark, send=False)
    assert world.refresh() is True
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
    people.push(world.fake, world.repo, world.repo.pulls[1], world.repo.git.sha("other"), send=False)
    run_of(world.repo, job("unit", "failure", log=LOG))
    assert world.refresh() is True
    assert "AssertionError: packed 3" in world.comments[0].body


def test_as_the_service_calls_it(world, monkeypatch, tmp_path):
    settings = {
        "GITHUB_API_URL": world.fake.url,
        "GITHUB_SERVER_URL": world.fake.url,
        "SPECBOT_APP_ID": str(world.fake.app_id),
        "SPECBOT_PRIVATE_KEY": world.fake.private_key,
        "SPECBOT_WEBHOOK_SECRETS": "a secret",
        "SPECBOT_WRITE_GAP": "0",
        "SPECBOT_LANGUAGE": "zh",
        "SPECBOT_DATA_DIR": str(tmp_path / "data"),
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "data").mkdir()
    run_of(world.repo, job("unit", "failure", log=LOG))
    loaded = load(None)
    store = open_store(loaded)
    try:
        install(Machine.build(loaded, store))
        pull = CIPull(world.fake.installations[0].id, world.repo.id, world.repo.full_name, 1)
        report_on(pull)
        report_on(pull)
        (comment,) = world.comments
        assert "关键日志：" in comment.body and comment.edits == []
        (verdict,) = History(store.engine).precisions()
        assert verdict.verdicts == 1
    finally:
        store.close()
