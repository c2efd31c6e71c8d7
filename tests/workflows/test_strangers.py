"""What no webhook, person or database is expected to do, and does."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from bot.db.engine import engine_for
from tests.bot.test_ci_collect import LOG, job, run_of
from tests.fake_github import Answer, people
from tests.workflows.conftest import SMALL_HEAD, ended, until
from tests.workflows.databases import missing, postgres
from tests.workflows.test_ci import QUICK, job_ended, opened, said

_NOT_FOUND = {"type": "NOT_FOUND", "message": "Could not resolve to a node", "path": ["x"]}


@pytest.fixture
def url() -> Iterator[str]:
    if why := missing():
        pytest.skip(why)
    with postgres() as found:
        yield found


def _set_read_only(url: str, value: str) -> None:
    engine = engine_for(url).execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text("SET default_transaction_read_only = off"))
        connection.execute(sa.text(f"ALTER SYSTEM SET default_transaction_read_only = {value}"))
        connection.execute(sa.text("SELECT pg_reload_conf()"))
    engine.dispose()


@pytest.mark.parametrize("moment", ["POST .*/check-runs$", "POST .*/reviews$"])
def test_a_database_that_takes_no_writes_for_a_while_ends_no_review(fake, bot, repo, url, moment):
    """PostgreSQL became a standby in the middle of a review, and is the first again later."""
    bot.settings |= {"SPECBOT_DATABASE_URL": url, "SPECBOT_RETRY_FAILED_EVERY": "1"}
    bot.start()
    method, path = moment.split(" ")
    fake.fault(method, path, lambda: _set_read_only(url, "on"), when="after")
    pull = people.open_pull(fake, repo, "feature")
    until(lambda: not any(fault.times for fault in fake.faults))
    time.sleep(4.0)
    _set_read_only(url, "off")
    until(lambda: ended(repo, pull.head_sha))
    assert [review.commit_id for review in pull.live_reviews()] == [pull.head_sha]
    assert [c.conclusion for c in repo.check_runs] == ["success"]


def test_names_and_logs_that_postgresql_does_not_take_as_they_are(fake, bot, repo, url):
    """A stranger names jobs in a workflow of their fork, and prints what they like."""
    bot.settings |= {"SPECBOT_DATABASE_URL": url} | QUICK
    bot.start()
    pull = opened(fake, repo)
    log = LOG + b"2026-05-22T11:50:04.0Z E  \x00 \xed\xa0\x80 \xff AssertionError: \x00 nul\n"
    run = run_of(repo, job("unit " + "x" * 2000, "failure", log=log))
    run.name = "w" * 2000
    job_ended(fake, repo, run, run.jobs[0])
    until(lambda: said(pull), 90)


def test_a_review_stands_where_github_does_not_fold_the_one_before(live, engine):
    """Somebody deletes or hides what we tidy up, in that moment: GraphQL answers with an error."""
    pull = people.open_pull(live, engine, "feature")
    until(lambda: ended(engine, pull.head_sha))
    gone = {"data": {"minimizeComment": None}, "errors": [_NOT_FOUND]}

    def answer() -> Answer | None:
        return Answer(200, gone) if b"minimizeComment" in live.requests[-1].body else None

    live.fault("POST", "/graphql$", answer, times=100)
    sha = engine.git.commit("feature", {"engine/step.py": SMALL_HEAD + "\nx = 1\n"})
    people.push(live, engine, pull, sha)
    until(lambda: ended(engine, sha))
    assert [c.conclusion for c in engine.check_runs] == ["success", "success"]
    live.faults.clear()


def test_a_fork_that_was_deleted_is_reviewed(live, engine):
    pull = people.open_pull(live, engine, "feature", send=False)
    pull.head_repo = None
    people.say(live, engine, pull, "opened")
    until(lambda: ended(engine, pull.head_sha))
    assert [c.conclusion for c in engine.check_runs] == ["success"]
