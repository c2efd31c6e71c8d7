"""An upgrade while the service runs: the program of before and this one, on one PostgreSQL."""

from __future__ import annotations

import io
import signal
import subprocess
import tarfile
import threading
import time
from pathlib import Path

import pytest
import sqlalchemy as sa

from bot.db.engine import engine_for
from bot.db.migrate import NEWEST, version
from tests.bot.test_ci_collect import LOG, job, run_of
from tests.conftest import ROOT
from tests.fake_github import people
from tests.workflows.conftest import ended, until
from tests.workflows.databases import missing, postgres
from tests.workflows.test_ci import QUICK, job_ended, opened, said

MIGRATIONS = ROOT / "bot/db/migrations/versions"


def _git(*args: str) -> bytes:
    return subprocess.run(["git", *args], cwd=ROOT, check=True, capture_output=True).stdout


def _before(folder: Path, *change: str) -> Path:
    """The program as it was before the first commit that `git log` finds by `change`."""
    try:
        found = _git("log", "--format=%H", *change).split()
        archive = _git("archive", f"{found[-1].decode()}^", "bot", "checks", "kernels", "templates")
    except (OSError, IndexError, subprocess.CalledProcessError):
        pytest.skip("no history here")
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        packed.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program as it was before the tables changed last."""
    (newest,) = MIGRATIONS.glob(f"*{NEWEST}*.py")
    folder = tmp_path_factory.mktemp("older")
    return _before(folder, "--diff-filter=A", "--", str(newest))


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


def test_two_versions_report_once(fake, bot, repo, tmp_path):
    """Versions before kept reports of one pull request apart by another key, so that an old worker
    may be at one while a new worker begins the next."""
    if why := missing():
        pytest.skip(why)
    program = _before(tmp_path / "older", "-S_was_moved", "--", "bot/workflows/ci.py")
    begun, gone_on = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        gone_on.wait(60)

    with postgres() as url:
        bot.settings |= {"SPECBOT_DATABASE_URL": url, "SPECBOT_DEAD_AFTER": "600"} | QUICK
        old = {"PYTHONPATH": str(program), "SPECBOT_WORKER_ID": "old"}
        bot.start("--role", "web", **old)
        worker = bot.run("worker", "--queues", "ci", **old)
        pull = opened(fake, repo)
        run = run_of(repo, job("unit", "failure", log=LOG))
        fake.fault("POST", "/issues/1/comments$", wait)
        job_ended(fake, repo, run, run.jobs[0])
        assert begun.wait(120)
        # It stands still, so that the new one does what comes now.
        worker.send_signal(signal.SIGSTOP)
        run.jobs.append(job("lint", "failure", log=LOG))
        bot.run("worker", "--queues", "ci", SPECBOT_WORKER_ID="new")
        job_ended(fake, repo, run, run.jobs[1])
        until(lambda: _at_report(url) == 2)
        time.sleep(3.0)
        gone_on.set()
        until(lambda: said(pull))
        worker.send_signal(signal.SIGCONT)
        until(lambda: "lint" in said(pull))
        until(lambda: _at_report(url) == 0)
        assert "lint" in said(pull)


def _at_report(url: str) -> int:
    """How many reports are begun and have not ended."""
    query = (
        "SELECT COUNT(*) FROM dbos.workflow_status WHERE name = 'ci-report' AND status = :status"
    )
    with engine_for(url).connect() as connection:
        return int(connection.execute(sa.text(query), {"status": "PENDING"}).scalar_one())
