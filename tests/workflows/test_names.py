"""Several workers on one host."""

from __future__ import annotations

import threading

import pytest
import sqlalchemy as sa

from bot.db.engine import engine_for
from tests.fake_github import people
from tests.workflows.conftest import ended, until


def _seen(bot) -> dict[str, float]:
    """The workers, and when each was last heard of."""
    engine = engine_for(bot.database)
    with engine.connect() as connection:
        rows = connection.execute(sa.text("SELECT id, seen_at FROM specbot_workers")).all()
    engine.dispose()
    return {name: seen_at for name, seen_at in rows}


def test_two_workers_for_the_same_queues_have_names_of_their_own(fake, bot, repo):
    """The second does not take up what the first is doing."""
    begun, gone_on = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        gone_on.wait(60)

    bot.start("--role", "web")
    bot.run("worker")
    until(lambda: len(_seen(bot)) == 1)
    (first,) = _seen(bot)
    held = fake.fault("POST", "/reviews$", wait)
    pull = people.open_pull(fake, repo, "feature")
    assert begun.wait(60)
    asked = len(fake.asked("checks/create"))
    bot.run("worker")
    until(lambda: _seen(bot).keys() == {first, f"{first}-2"})
    gone_on.set()
    until(lambda: ended(repo, pull.head_sha))
    assert held.times == 0
    assert len(pull.live_reviews()) == 1
    assert len(fake.asked("checks/create")) == asked


def test_the_number_of_a_worker_that_ended_is_free_again(bot, repo):
    bot.start("--role", "web")
    bot.run("worker")
    until(lambda: len(_seen(bot)) == 1)
    second = bot.run("worker")
    until(lambda: len(_seen(bot)) == 2)
    second.kill()
    second.wait()
    before = _seen(bot)
    bot.run("worker")
    until(lambda: all(_seen(bot)[name] > at for name, at in before.items()))
    assert _seen(bot).keys() == before.keys()


@pytest.mark.parametrize("role", ["worker", "serve"])
def test_a_given_name_is_one_workers_alone(bot, repo, role):
    bot.start("--role", "web")
    bot.run("worker", SPECBOT_WORKER_ID="a/b")
    until(lambda: _seen(bot).keys() == {"a/b"})
    settings = {"SPECBOT_WORKER_ID": "a/b", "SPECBOT_PORT": str(bot.port + 1)}
    second = bot.run(role, stdout=True, **settings)
    assert second.wait(60) == 2
    assert "Another worker runs under the name" in bot.log.read_text()
