"""An upgrade while the service runs: the program of before and this one, on one PostgreSQL."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from bot.db.engine import engine_for
from bot.db.migrate import NEWEST, version
from tests.conftest import ROOT
from tests.fake_github import people
from tests.workflows.conftest import ended, until
from tests.workflows.databases import missing, postgres

MIGRATIONS = ROOT / "bot/db/migrations/versions"


def _git(*args: str) -> bytes:
    return subprocess.run(["git", *args], cwd=ROOT, check=True, capture_output=True).stdout


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program as it was before the tables changed last."""
    (newest,) = MIGRATIONS.glob(f"*{NEWEST}*.py")
    try:
        added = _git("log", "--format=%H", "--diff-filter=A", "--", str(newest)).split()
        archive = _git("archive", f"{added[-1].decode()}^", "bot", "checks", "kernels", "templates")
    except (OSError, IndexError, subprocess.CalledProcessError):
        pytest.skip("no history here")
    folder = tmp_path_factory.mktemp("older")
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        packed.extractall(folder)
    return folder


def _changed(repo, name: str) -> None:
    repo.git.commit(name, {f"engine/{name}.py": "x = 1\n"}, parent="main")


def test_two_versions_at_once(fake, bot, repo, older):
    """The old one goes on while the new one has changed the tables under it; what it leaves in the
    middle of a review is done by the new one."""
    if why := missing():
        pytest.skip(why)
    with postgres() as url:
        bot.settings |= {"SPECBOT_DATABASE_URL": url, "SPECBOT_DEAD_AFTER": "2"}
        old = {"PYTHONPATH": str(older), "SPECBOT_WORKER_ID": "old"}
        bot.start("--role", "web", **old)
        worker = bot.run("worker", **old)
        first = people.open_pull(fake, repo, "feature")
        until(lambda: ended(repo, first.head_sha))
        assert version(engine_for(url)) != NEWEST

        # Its first act is the change of the tables; then it waits for a queue that is empty.
        new = bot.run("worker", "--queues", "gpu", SPECBOT_WORKER_ID="new-gpu")
        until(lambda: version(engine_for(url)) == NEWEST)
        _changed(repo, "second")
        second = people.open_pull(fake, repo, "second")
        until(lambda: ended(repo, second.head_sha))
        assert worker.poll() is None and new.poll() is None

        fake.fault("POST", "/reviews$", worker.kill, when="after")
        _changed(repo, "third")
        third = people.open_pull(fake, repo, "third")
        until(lambda: worker.poll() is not None)
        bot.run("worker", SPECBOT_WORKER_ID="new")
        until(lambda: ended(repo, third.head_sha))
        for pull in (first, second, third):
            assert [review.commit_id for review in pull.live_reviews()] == [pull.head_sha]
            (check,) = [c for c in repo.check_runs if c.head_sha == pull.head_sha]
            assert check.status == "completed"
        bot.kill()
