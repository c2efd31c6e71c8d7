"""What one installation's limits mean for it, and that they mean nothing for another."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import sqlalchemy as sa

from bot.db.engine import engine_for
from bot.db.rate_limits import WriteLedger
from bot.github import RateLimited
from bot.github.app import ANALYSE, App, Endpoint
from tests.fake_github import Answer, FakeGitHub, people
from tests.fake_github.server import Seen
from tests.fake_github.state import Comment, Pull, Repository
from tests.workflows.conftest import SMALL_BASE, SMALL_HEAD, Bot, ended, until
from tests.workflows.test_commands import answers

HOUR = 3600.0


@pytest.fixture
def other(fake: FakeGitHub) -> Repository:
    """A repository of another installation."""
    made = fake.repository("globex/engine")
    made.git.commit("main", {"engine/step.py": SMALL_BASE})
    made.git.commit("feature", {"engine/step.py": SMALL_HEAD}, parent="main")
    return made


def opened(fake: FakeGitHub, repo: Repository) -> Pull:
    """A draft, so that nothing else is written there."""
    repo.roles["ada"] = "write"
    return people.open_pull(fake, repo, "feature", draft=True, send=False)


def helped(fake: FakeGitHub, repo: Repository, pull: Pull) -> Comment:
    return people.comment(fake, repo, pull, "ada", "/help")


def posted(fake: FakeGitHub, path: str) -> list[Seen]:
    """The requests to make something at a path, as soon as they are answered."""
    return [r for r in fake.requests if r.method == "POST" and r.path.endswith(path)]


def waiting(bot: Bot) -> int:
    """How many workflows have a moment to write in."""
    with sa.create_engine(bot.database).connect() as connection:
        asked = sa.text("SELECT COUNT(*) FROM specbot_writes WHERE workflow IS NOT NULL")
        return int(connection.execute(asked).scalar_one())


def test_an_answer_that_github_took_for_spam_is_given_later(fake, bot, repo):
    bot.start()
    pull = opened(fake, repo)
    fake.fault("POST", "/issues/1/comments$", Answer(422, {"message": "was submitted too quickly"}))
    asked = helped(fake, repo, pull)
    until(lambda: len(posted(fake, "1/comments")) == 2)
    assert len(answers(fake, pull, asked)) == 1


def test_the_hour_of_one_is_not_the_hour_of_another(fake, bot, repo, other):
    """One has used up its writes, with more commands waiting than a worker has places; another is
    answered, and the first is when its hours are over, by the worker that lives then."""
    bot.settings |= {
        "SPECBOT_WRITES_PER_HOUR": "8",
        "SPECBOT_WORKER_ID": "first",
        "SPECBOT_DEAD_AFTER": "2",
    }
    bot.start()
    pull, theirs = opened(fake, repo), opened(fake, other)
    first = helped(fake, repo, pull)
    until(lambda: answers(fake, pull, first))
    later = [helped(fake, repo, pull) for _ in range(4)]
    # The commands of one account are worked off one after another.
    until(lambda: waiting(bot) >= 1)
    told = helped(fake, other, theirs)
    until(lambda: answers(fake, theirs, told))
    assert not any(one.reactions or answers(fake, pull, one) for one in later)
    bot.kill()
    with sa.create_engine(bot.database).begin() as connection:
        connection.execute(sa.text("UPDATE specbot_writes SET at = at - :hour"), {"hour": 2 * HOUR})
    bot.start(SPECBOT_WORKER_ID="second", SPECBOT_WRITES_PER_HOUR="100")
    until(lambda: all(answers(fake, pull, one) for one in later))
    assert [len(answers(fake, pull, one)) for one in (first, *later)] == [1] * 5
    assert all(len(one.reactions) == 1 for one in later)


def test_what_github_wants_of_one_it_does_not_want_of_another(fake, bot, repo, other):
    bot.start()
    pull, theirs = opened(fake, repo), opened(fake, other)
    fake.secondary_limit(
        "POST", f"{repo.full_name}/issues/.*/reactions", retry_after=3, times=10**6
    )
    (limit,) = fake.faults
    later = [helped(fake, repo, pull) for _ in range(4)]
    until(lambda: limit.times < 10**6)
    told = helped(fake, other, theirs)
    until(lambda: answers(fake, theirs, told))
    assert not any(answers(fake, pull, one) for one in later)
    limit.times = 0
    until(lambda: all(answers(fake, pull, one) for one in later))
    assert [len(answers(fake, pull, one)) for one in later] == [1] * 4


def test_a_dispatch_that_github_put_off_is_sent_once(fake, bot, repo):
    """And a command waits for the report that it asked for without a place."""
    repo.workflows[".github/workflows/gpu-kernels.yml"] = 5
    bot.start()
    pull = opened(fake, repo)
    fake.secondary_limit("POST", "/dispatches$", retry_after=3)
    asked = people.comment(fake, repo, pull, "ada", "/kernels\n/ci")
    until(lambda: len(answers(fake, pull, asked)) == 2)
    kernels, report = answers(fake, pull, asked)
    assert "Asked for a comparison" in kernels and "is up to date" in report
    assert len(repo.dispatches) == 1
    sent = [r.status for r in fake.requests if r.path.endswith("/dispatches")]
    assert sent[0] == 403 and len(sent) == 2


def test_no_request_before_a_pause_is_over(fake, repo, other):
    app = App(Endpoint(fake.url, fake.url, 0.0), fake.app_id, fake.private_key)
    ours, theirs = fake.installation_of(repo), fake.installation_of(other)
    fake.secondary_limit("GET", f"{repo.full_name}$", retry_after=1000)
    with pytest.raises(RateLimited):
        app.client(ours.id, repo.id, ANALYSE).get(f"/repos/{repo.full_name}")
    app.client(theirs.id, other.id, ANALYSE).get(f"/repos/{other.full_name}")
    sent = len(fake.requests)
    with pytest.raises(RateLimited) as caught:
        app.client(ours.id, repo.id, ANALYSE).get(f"/repos/{repo.full_name}/pulls")
    assert len(fake.requests) == sent and 900 < caught.value.wait <= 1000


@pytest.fixture
def writes(tmp_path: Path) -> WriteLedger:
    return made(tmp_path, gap=0.0, hourly=3)


def made(folder: Path, gap: float, hourly: int) -> WriteLedger:
    return WriteLedger(
        engine_for(f"sqlite:///{folder}/writes.sqlite"), Endpoint(gap=gap, hourly=hourly)
    )


def test_a_moment_is_kept_for_who_waits(writes):
    assert [writes.reserve(1, name, 2.0) <= 0.0 for name in ("a", None, "b")] == [True] * 3
    first = time.time() + writes.reserve(1, "c", 2.0)
    assert first - time.time() == pytest.approx(HOUR, abs=60.0)
    assert writes.reserve(2, "z", 2.0) <= 0.0
    second, third = (time.time() + writes.reserve(1, name, 2.0) for name in ("d", "e"))
    assert first <= second <= third
    assert abs(time.time() + writes.reserve(1, "c", 2.0) - first) < 1.0
    # The fourth of those that wait is in the hour after.
    assert writes.reserve(1, "f", 2.0) > 2 * HOUR - 60.0
    # Who cannot come back keeps no moment from others.
    assert writes.reserve(1, None, 2.0) == pytest.approx(writes.reserve(1, "g", 2.0), abs=60.0)


def test_what_a_wrong_clock_wrote_delays_nobody_once_it_is_right(writes, monkeypatch):
    now = time.time()
    clock = SimpleNamespace(time=lambda: now + HOUR, monotonic=time.monotonic)
    monkeypatch.setattr("bot.db.engine.time", clock)
    # Three are sent, one waits for an hour.
    assert [writes.reserve(1, None, 2.0) <= 0.0 for _ in range(3)] == [True] * 3
    assert writes.reserve(1, "waits", 2.0) == pytest.approx(HOUR)
    clock.time = lambda: now
    # By the true clock those were sent now, so that the hour begins now as well.
    assert writes.reserve(1, "waits", 2.0) == pytest.approx(HOUR)
    clock.time = lambda: now + HOUR + 1.0
    assert writes.reserve(1, "waits", 2.0) <= 0.0


def test_all_workers_count_together(writes, tmp_path):
    again = made(tmp_path, gap=0.0, hourly=3)
    assert [one.reserve(1, None, 2.0) <= 0.0 for one in (writes, again, writes)] == [True] * 3
    assert again.reserve(1, None, 2.0) > HOUR - 60.0


def test_moments_are_a_gap_apart(tmp_path):
    apart = made(tmp_path, gap=100.0, hourly=400)
    given = [time.time() + apart.reserve(1, f"w{n}", 2.0) for n in range(5)]
    assert all(b - a == pytest.approx(100.0, abs=50.0) for a, b in itertools.pairwise(given))


def test_a_review_whose_writes_a_proxy_answered_is_posted_and_ended(live, engine):
    """Nothing was written, and the answer's status was 200."""
    page = Answer(200, b"<html>Sign in</html>", {"content-type": "text/html"})
    faults = [live.fault("POST", "/reviews$", page), live.fault("PATCH", "/check-runs/", page)]
    pull = people.open_pull(live, engine, "feature")
    until(lambda: ended(engine, pull.head_sha))
    assert [fault.times for fault in faults] == [0, 0]
    assert [review.commit_id for review in pull.live_reviews()] == [pull.head_sha]


def test_a_review_that_github_took_for_spam_is_posted_later(live, engine):
    fault = live.fault("POST", "/reviews$", Answer(422, {"message": "Validation failed"}))
    pull = people.open_pull(live, engine, "feature")
    until(lambda: ended(engine, pull.head_sha))
    assert fault.times == 0
    assert [review.commit_id for review in pull.live_reviews()] == [pull.head_sha]
