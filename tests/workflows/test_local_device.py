"""Dialogues about device code that runs on the bot's own machine: real processes, real git."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from bot.kernels import confine
from tests.device import fixture_repo
from tests.fake_github import FakeGitHub, people
from tests.fake_github.state import CheckRun, Pull, Repository
from tests.workflows.conftest import Bot, started, until, watched
from tests.workflows.test_commands import ask

pytestmark = [
    pytest.mark.usefixtures("fork_server"),
    pytest.mark.skipif(
        not (shutil.which("g++") or shutil.which("clang++"))
        or not confine.confinement("cpu").files,
        reason="no compiler, or no bubblewrap that works, is on this machine",
    ),
]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bot]:
    """A bot that runs device code on its own machine."""
    settings = {"SPECBOT_LOCAL_DEVICE": "test"}
    with started(tmp_path_factory.mktemp("here"), **settings) as made, watched(made.fake):
        yield made


@pytest.fixture
def ours(here: Bot, tmp_path: Path) -> Repository:
    return with_ops(here.fake, tmp_path / "ops")


def with_ops(fake: FakeGitHub, folder: Path) -> Repository:
    """A repository with two ops; its branch `own` breaks one of them."""
    made = fake.repository(f"octo/ops{len(fake.repositories) or ''}")
    fixture_repo.write_ops(folder, 0, ("add_one", "keep"))
    base = fixture_repo.commit(folder, "base")
    fixture_repo.write_ops(folder, 1, ("add_one", "keep"))
    made.git.adopt(folder, main=base, own=fixture_repo.commit(folder, "head"))
    made.roles |= {"ada": "write", "mallory": "read"}
    return made


def pull_of_a_fork(fake: FakeGitHub, repo: Repository) -> Pull:
    fork = fake.repository(f"mallory/{repo.name}", installed=False, fork=True)
    fork.git.adopt(repo.git.directory, feature=repo.git.sha("own"))
    return people.open_pull(fake, repo, "feature", fork=fork, author="mallory", send=False)


def ended(repo: Repository, pull: Pull) -> CheckRun:
    """The check run of the device code, when it has ended and the answer says the same."""

    def known() -> list[CheckRun]:
        head = pull.head_sha
        return [c for c in repo.check_runs if c.name == "specbot/device" and c.head_sha == head]

    def over() -> bool:
        if not known() or known()[-1].status != "completed":
            return False
        return any((known()[-1].title or "") in comment.body for comment in pull.comments)

    until(over)
    return known()[-1]


def test_from_the_command_to_the_result(here, ours):
    pull = people.open_pull(here.fake, ours, "own")
    assert "run of the device code" in ask(here.fake, ours, pull, "/kernels device")
    check = ended(ours, pull)
    assert (check.conclusion, check.title) == (
        "failure",
        "Running the device code showed a bug",
    )
    [answer] = [c.body for c in pull.comments if "showed a bug" in c.body]
    assert "device.test-fails" in answer and "tests/test_add_one.py" in answer
    assert "test_keep.py" not in answer
    assert ours.dispatches == []
    # The pull request has a page when it was reviewed.
    until(lambda: pull.reviews)
    page = f"{here.url}/pr/{ours.full_name}/{pull.number}?tab=device"
    until(lambda: "test_add_one.py" in httpx.get(page, trust_env=False).text)


def test_a_strangers_code_waits_for_its_commit_to_be_named(here, ours):
    pull = pull_of_a_fork(here.fake, ours)
    assert "name the commit" in ask(here.fake, ours, pull, "/kernels device")
    assert "needs write access" in ask(
        here.fake, ours, pull, f"/kernels device {pull.head_sha}", "mallory"
    )
    assert "run of the device code" in ask(
        here.fake, ours, pull, f"/kernels device {pull.head_sha}"
    )
    assert ended(ours, pull).conclusion == "failure"


def test_a_change_without_device_code(here, ours):
    ours.git.commit("text", {"README.md": "Ops\n"}, parent="main")
    pull = people.open_pull(here.fake, ours, "text", send=False)
    ask(here.fake, ours, pull, "/kernels device")
    check = ended(ours, pull)
    assert check.conclusion == "neutral" and "changes no device source" in (check.title or "")


def test_without_bubblewrap_no_stranger_runs(fake, bot, tmp_path):
    (tmp_path / "bin").mkdir()
    broken = tmp_path / "bin/bwrap"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    path = f"{broken.parent}:{os.environ['PATH']}"
    bot.start(SPECBOT_LOCAL_DEVICE="test", PATH=path)
    repo = with_ops(fake, tmp_path / "ops")
    pull = pull_of_a_fork(fake, repo)
    ask(fake, repo, pull, f"/kernels device {pull.head_sha}")
    check = ended(repo, pull)
    assert check.conclusion == "failure" and "no bubblewrap" in (check.title or "")


def test_no_worker_of_that_kind(live, tmp_path):
    repo = with_ops(live, tmp_path / "ops")
    pull = people.open_pull(live, repo, "own", send=False)
    assert "SPECBOT_LOCAL_DEVICE" in ask(live, repo, pull, "/kernels device")
