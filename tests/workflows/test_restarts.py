"""Processes that die, and what happens afterwards: nothing twice, nothing missing."""

from __future__ import annotations

import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from bot.cli.main import main
from bot.db.engine import engine_for
from bot.errors import UserError
from bot.settings import load
from tests.fake_github import Answer, FakeGitHub, people, state, webhooks
from tests.fake_github.state import Pull, Repository
from tests.workflows import crash_boundaries
from tests.workflows.conftest import ROOT, Bot, ended, free_port, until
from tests.workflows.crashes import tried
from tests.workflows.databases import missing, postgres
from tests.workflows.small_disk import full, mount_small_disk
from tests.workflows.test_commands import answers

RANDOM_KILLS = 8


def kill_at(fake: FakeGitHub, bot: Bot, method: str, path: str, when: str) -> None:
    """kill -9 when a request arrives, or when it had its effect and before it is answered."""
    fake.fault(method, path, bot.kill, when=when)


def once(repo: Repository, pull: Pull) -> None:
    """The pull request has one review of its head and one check run, and neither is half made."""
    assert [r.commit_id for r in pull.live_reviews()] == [pull.head_sha]
    assert len({r.body.splitlines()[0] for r in pull.reviews}) == len(pull.reviews)
    (check,) = [c for c in repo.check_runs if c.head_sha == pull.head_sha]
    assert check.status == "completed"
    assert len(check.annotations) == len(
        {(a["path"], a["start_line"], a["title"]) for a in check.annotations}
    )


def survive(bot: Bot, repo: Repository, pull: Pull) -> None:
    """Start the bot again whenever it is dead, until the review has ended."""
    until(lambda: not bot.alive() or ended(repo, pull.head_sha))
    while not bot.alive():
        bot.start()
        until(lambda: not bot.alive() or ended(repo, pull.head_sha))


def test_killed_three_times_in_one_review(fake, bot, repo):
    bot.start()
    kill_at(fake, bot, "POST", "/check-runs$", "after")
    kill_at(fake, bot, "POST", "/reviews$", "after")
    kill_at(fake, bot, "PATCH", "/check-runs/", "before")
    pull = people.open_pull(fake, repo, "feature")
    survive(bot, repo, pull)
    assert all(fault.times == 0 for fault in fake.faults)
    once(repo, pull)
    (process,) = bot.processes
    process.terminate()
    assert process.wait() == 0
    # Of the temporary files of four lives there is none.
    assert [file.name for file in (bot.directory / "data/scratch").iterdir()] == ["lock"]


def test_a_disk_that_is_full_for_a_moment_ends_no_review(fake, bot, repo):
    """What a step has done is written down once there is room, and the review goes on."""
    disk = bot.directory / "data"
    with mount_small_disk(disk) as is_mounted:
        if not is_mounted:
            pytest.skip("no disk of its own can be had here")

        def fill() -> None:
            filled = full(disk)
            filled.__enter__()
            threading.Timer(3.0, lambda: filled.__exit__(None, None, None)).start()

        bot.start()
        fake.fault("POST", "/reviews$", fill, when="after")
        pull = people.open_pull(fake, repo, "feature")
        until(lambda: ended(repo, pull.head_sha))
        bot.kill()
    once(repo, pull)
    (check,) = repo.check_runs
    assert check.conclusion == "success", check.title


def test_a_disk_that_is_full_at_a_checkpoint_loses_nothing(fake, bot, repo):
    """SQLite cannot bring what was written from its log into its file; it stays in the log, and is
    there when there is room."""
    disk = bot.directory / "data"
    with mount_small_disk(disk) as is_mounted:
        if not is_mounted:
            pytest.skip("no disk of its own can be had here")
        bot.start()
        pull = people.open_pull(fake, repo, "feature")
        until(lambda: ended(repo, pull.head_sha))
        database = sqlite3.connect(disk / "specbot.sqlite", timeout=30)
        with full(disk):
            with pytest.raises(sqlite3.OperationalError, match="full"):
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            asked = people.comment(fake, repo, pull, "ada", "/help")
            delivery = fake.deliveries[-1]
            assert delivery.status_code in (202, 503)
        webhooks.attempt(fake, delivery)
        until(lambda: answers(fake, pull, asked))
        assert database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        database.close()
        bot.kill()
    once(repo, pull)
    assert len(answers(fake, pull, asked)) == 1


def test_killed_at_random_moments():
    """A few of the thousand of `python -m tests.workflows.crashes`."""
    found, ended = tried(kills=RANDOM_KILLS, pulls=2, seed=7, database="sqlite")
    assert found == [] and ended.total() >= RANDOM_KILLS


def test_killed_at_step_boundaries():
    """A few of those of `python -m tests.workflows.crashes --boundaries`, among which are all steps
    of the code."""
    found, known, struck = crash_boundaries.tried("sqlite", every=80)
    assert found == []
    assert known > 80 * (struck - 1) > 0


def test_a_trial_that_is_killed_leaves_no_server():
    """The PostgreSQL that it started ends with it, whoever is connected."""
    if why := missing():
        pytest.skip(why)
    if sys.platform != "linux":
        pytest.skip("only Linux ends a process with its parent")
    trial = (
        "import time\nfrom tests.workflows.databases import postgres\n"
        "with postgres() as url:\n    print(url, flush=True)\n    time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", trial], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        assert process.stdout
        engine = engine_for(process.stdout.readline().strip())
        with engine.connect() as connection:
            data = Path(connection.execute(sa.text("SHOW data_directory")).scalar_one())
            process.kill()
            process.wait()
            until(lambda: not (data / "postmaster.pid").exists())
            connection.invalidate()
    shutil.rmtree(data.parent)


def test_lost_webhooks_are_made_good(fake, bot, repo):
    """One was never sent, one could not be delivered."""
    bot.start(SPECBOT_RECONCILE_EVERY="1", SPECBOT_REDELIVER_EVERY="1")
    never_sent = people.open_pull(fake, repo, "feature", send=False)
    until(lambda: ended(repo, never_sent.head_sha))
    fake.deliveries.clear()
    url, fake.webhook_url = fake.webhook_url, "http://127.0.0.1:9/webhook"
    sha = repo.git.commit("other", {"engine/other.py": "x = 1\n"}, parent="main")
    undelivered = people.open_pull(fake, repo, "other", draft=True)
    undelivered.draft = False
    # Older than the service, so that only the redelivery can bring it.
    undelivered.created_at = "2020-01-01T00:00:00Z"
    people.say(fake, repo, undelivered, "ready_for_review")
    fake.webhook_url = url
    _, failed = fake.deliveries
    for delivery in (_, failed):
        delivery.delivered_at = _time_of(time.time() - 60)
    until(lambda: ended(repo, sha))
    # A look may have met either before it was made old; then it is asked for half a minute later.
    until(lambda: len(fake.deliveries) >= 4)
    swept = len(fake.asked("apps/list-webhook-deliveries"))
    until(lambda: len(fake.asked("apps/list-webhook-deliveries")) > swept + 2)
    again = sorted((d.guid, d.redelivery, d.status_code) for d in fake.deliveries[2:])
    assert again == sorted((d.guid, True, 202) for d in (_, failed))
    assert len(undelivered.reviews) == len(never_sent.reviews) == 1


def test_catching_up_reads_what_failed_and_is_short(fake, bot, repo):
    """Thirty thousand deliveries, of which few failed, cost few requests a look; where GitHub wants
    a pause of them, tokens do not wait."""
    at = _time_of(time.time() - 300)
    for number in range(30_000):
        one = state.Delivery(f"guid-{number}", "push", None, b"{}", 1, repo.id, delivered_at=at)
        one.status, one.status_code = "OK", 502 if number % 20_000 == 0 else 202
        fake.deliveries.append(one)
    bot.start(SPECBOT_REDELIVER_EVERY="0.5")
    until(lambda: len(fake.asked("apps/redeliver-webhook-delivery")) >= 2)
    fake.secondary_limit("GET", "/app/hook/deliveries", retry_after=1000)
    (limit,) = fake.faults
    until(lambda: limit.times == 0)
    looked = len(fake.asked("apps/list-webhook-deliveries"))
    pull = people.open_pull(fake, repo, "feature")
    until(lambda: ended(repo, pull.head_sha))
    assert len(fake.asked("apps/list-webhook-deliveries")) == looked
    assert len(fake.asked("apps/redeliver-webhook-delivery")) == 2


def test_work_that_ended_in_an_error_is_done_after_all(fake, bot, repo):
    """A table is away for longer than steps try again; when it is back, the command is answered
    once, and what was given up is counted."""
    repo.roles["ada"] = "read"
    pull = people.open_pull(fake, repo, "feature", draft=True, send=False)
    bot.start(SPECBOT_RETRY_FAILED_EVERY="1")
    database = sa.create_engine(bot.database)
    with database.begin() as connection:
        connection.execute(sa.text("ALTER TABLE specbot_spoken RENAME TO away"))
        connection.execute(sa.text("CREATE VIEW specbot_spoken AS SELECT 1 AS gone"))
    asked = people.comment(fake, repo, pull, "ada", "/help")
    failed = sa.text("SELECT COUNT(*) FROM workflow_status WHERE status = 'ERROR'")

    def has_failed() -> bool:
        with database.connect() as connection:
            return bool(connection.execute(failed).scalar_one())

    until(has_failed)
    with database.begin() as connection:
        connection.execute(sa.text("DROP VIEW specbot_spoken"))
        connection.execute(sa.text("ALTER TABLE away RENAME TO specbot_spoken"))
        # Half a minute is over.
        connection.execute(sa.text("UPDATE workflow_status SET updated_at = updated_at - 60000"))
    until(lambda: answers(fake, pull, asked))
    assert len(answers(fake, pull, asked)) == 1 and len(asked.reactions) == 1
    database.dispose()


def test_a_lost_comment_is_answered_and_no_other(fake, bot, repo):
    """Not one that was answered, not one that was edited, not one from before the bot's time."""
    repo.roles["ada"] = "read"
    pull = people.open_pull(fake, repo, "feature", draft=True, send=False)
    old = people.comment(fake, repo, pull, "ada", "/help", send=False)
    old.created_at = old.updated_at = "2020-01-01T00:00:00Z"
    # Where the start takes long, this webhook would be old enough to be sent again.
    fake.deliveries.clear()
    bot.start(SPECBOT_RECONCILE_EVERY="0.5")
    heard = people.comment(fake, repo, pull, "ada", "/help")
    until(lambda: len(pull.comments) == 3)
    ago = time.time() - 60
    with sa.create_engine(bot.database).begin() as connection:
        connection.execute(sa.text("UPDATE specbot_since SET at = :at"), {"at": ago - 60})
    # A look in the middle of this would find comments that are not old yet.
    with fake.lock:
        lost, edited = (
            people.comment(fake, repo, pull, "ada", "/help", send=False) for _ in range(2)
        )
        for one in (heard, lost, edited):
            one.created_at = one.updated_at = _time_of(ago)
        edited.updated_at = _time_of(ago + 1)
    until(lambda: len(pull.comments) > 5)
    looked = len(fake.asked("issues/list-comments-for-repo"))
    until(lambda: len(fake.asked("issues/list-comments-for-repo")) > looked + 2)
    answered = [c.body.split(" ")[2] for c in pull.comments if c.user is fake.bot]
    assert answered == [str(heard.id), str(lost.id)]


def _time_of(seconds: float) -> str:
    """As GitHub writes it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """A database that two hosts could share; None is the file of the settings."""
    if request.param == "sqlite":
        yield None
        return
    if why := missing():
        pytest.skip(why)
    with postgres() as url:
        yield url


def test_a_worker_that_dies_for_ever_is_taken_over(fake, bot, repo, database):
    """One worker is killed in the middle of a review and never comes back; another has its work in
    the end."""
    if database is not None:
        bot.settings["SPECBOT_DATABASE_URL"] = database
    bot.start("--role", "web")
    first = bot.run("worker", "--queues", "reviews", SPECBOT_WORKER_ID="first")
    fake.fault("POST", "/reviews$", first.kill, when="after")
    pull = people.open_pull(fake, repo, "feature")
    until(lambda: first.poll() is not None)
    told = str(free_port())
    bot.run("worker", SPECBOT_WORKER_ID="second", SPECBOT_DEAD_AFTER="2", SPECBOT_METRICS_PORT=told)
    until(lambda: ended(repo, pull.head_sha))
    once(repo, pull)

    def numbers() -> str:
        return httpx.get(f"http://127.0.0.1:{told}/metrics", trust_env=False, verify=False).text

    assert "specbot_takeovers_total 1.0" in numbers()
    until(lambda: 'specbot_reviews_total{outcome="published"} 1.0' in numbers())
    assert bool(list(bot.directory.glob("data/*.sqlite"))) == (database is None)


def test_a_worker_that_stood_still_writes_no_more(fake, bot, repo):
    """It had looked what stands on GitHub, and another has done its work since."""
    bot.settings |= {"SPECBOT_DEAD_AFTER": "2", "SPECBOT_WRITE_GAP": "0.2"}
    bot.start("--role", "web")
    first = bot.run("worker", "--queues", "reviews", SPECBOT_WORKER_ID="first")
    looked = fake.fault(
        "GET", "/check-runs$", lambda: first.send_signal(signal.SIGSTOP), when="after"
    )
    pull = people.open_pull(fake, repo, "feature")
    until(lambda: looked.times == 0)
    bot.run("worker", SPECBOT_WORKER_ID="second")
    until(lambda: ended(repo, pull.head_sha))
    asked = len(fake.requests)
    first.send_signal(signal.SIGCONT)
    second = repo.git.commit("second", {"engine/second.py": "x = 1\n"}, parent="main")
    people.open_pull(fake, repo, "second")
    until(lambda: ended(repo, second))
    assert len(fake.requests) > asked
    once(repo, pull)


_NO_END = """CREATE TRIGGER no_end BEFORE UPDATE ON workflow_status
    WHEN NEW.status IN ('SUCCESS', 'ERROR') BEGIN SELECT RAISE(ABORT, 'no such luck'); END;"""
_NO_STEP = """CREATE TRIGGER no_step BEFORE INSERT ON operation_outputs
    WHEN NEW.function_name = 'begin_check' BEGIN SELECT RAISE(ABORT, 'no such luck'); END;"""
_UNFINISHED = "SELECT COUNT(*) FROM workflow_status WHERE status NOT IN ('SUCCESS', 'ERROR')"


@pytest.mark.parametrize("triggers", [_NO_END, _NO_END + _NO_STEP], ids=["end", "middle"])
def test_what_the_database_refused_strangely_is_done_by_the_worker_that_lives(
    fake, bot, repo, triggers
):
    """It is no lock and no lost connection, and DBOS lets go of the workflow."""
    bot.start(SPECBOT_DEAD_AFTER="1")
    database = sqlite3.connect(bot.directory / "data/specbot.sqlite", timeout=30)
    database.executescript(triggers)
    pull = people.open_pull(fake, repo, "feature")
    until(lambda: "no such luck" in bot.log.read_text())
    database.executescript("DROP TRIGGER no_end; DROP TRIGGER IF EXISTS no_step;")
    until(lambda: ended(repo, pull.head_sha))
    until(lambda: database.execute(_UNFINISHED).fetchone() == (0,))
    once(repo, pull)
    database.close()


def test_a_look_that_breaks_is_not_the_last(fake, bot, repo):
    """What GitHub says of its installations makes no sense once."""
    nonsense = fake.fault("GET", "/app/installations$", Answer(200, [{}]))
    bot.start(SPECBOT_RECONCILE_EVERY="1")
    pull = people.open_pull(fake, repo, "feature", send=False)
    until(lambda: ended(repo, pull.head_sha))
    assert nonsense.times == 0


def _elliptic() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    form = (
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return key.private_bytes(*form).decode()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"SPECBOT_WEBHOOK_SECRETS": None}, "SPECBOT_WEBHOOK_SECRETS"),
        ({"SPECBOT_WEBHOOK_SECRETS": " , "}, "a webhook secret is needed"),
        ({"SPECBOT_DATABASE_URL": "mysql://u:p@host/d"}, "`mysql` is not known"),
        ({"SPECBOT_APP_ID": "abc"}, "app_id: Input should be a valid integer"),
        ({"SPECBOT_PRIVATE_KEY_FILE": "/nowhere"}, "/nowhere"),
        ({"SPECBOT_PRIVATE_KEY_FILE": None}, "SPECBOT_PRIVATE_KEY"),
        ({"SPECBOT_PRIVATE_KEY_FILE": None, "SPECBOT_PRIVATE_KEY": "s3cret"}, "no RSA private key"),
        (
            {"SPECBOT_PRIVATE_KEY_FILE": None, "SPECBOT_PRIVATE_KEY": _elliptic()},
            "no RSA private key",
        ),
        ({"SPECBOT_PORT": "99999"}, "port"),
        ({"SPECBOT_CONFIG_FILE": "/nowhere.toml"}, "/nowhere.toml"),
        ({"SPECBOT_LANGUAGE": "fr"}, "language"),
        ({"SPECBOT_DATABASE_URL": "sqlite:////nowhere/x.sqlite"}, "database"),
    ],
)
def test_the_service_does_not_start_with_wrong_settings(bot, monkeypatch, capsys, changes, said):
    for name, value in (bot.settings | changes).items():
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert main(["serve"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    for secret in (bot.fake.webhook_secret, bot.fake.private_key.splitlines()[1]):
        assert secret not in line


def test_two_services_on_one_port(bot, monkeypatch, capsys):
    for name, value in bot.settings.items():
        monkeypatch.setenv(name, value)
    with socket.create_server(("127.0.0.1", bot.port)):
        assert main(["serve"]) == 2
    assert f"port {bot.port}" in capsys.readouterr().err


def test_the_usual_settings_keep_what_is_promised(bot, monkeypatch):
    """A dead worker is taken over within a minute, a lost webhook found every ten, a write a second
    and 400 an hour."""
    for name, value in bot.settings.items():
        monkeypatch.setenv(name, value)
    for name in (
        "WRITE_GAP",
        "WRITES_PER_HOUR",
        "HEARTBEAT_EVERY",
        "RECONCILE_EVERY",
        "REDELIVER_EVERY",
    ):
        monkeypatch.delenv(f"SPECBOT_{name}")
    usual = load(None)
    assert (
        usual.dead_after > 2 * usual.heartbeat_every
        and usual.dead_after + 2 * usual.heartbeat_every <= 60
    )
    assert usual.reconcile_every <= 540 and usual.redeliver_every <= 540
    assert (usual.ci_refresh_every, usual.endpoint.gap, usual.endpoint.hourly) == (1800, 1.0, 400)


def test_settings_from_a_file(bot, tmp_path, monkeypatch):
    file = tmp_path / "specbot.toml"
    key = bot.directory / "key.pem"
    file.write_text(
        f'app_id = 7\nprivate_key_file = "{key}"\nwebhook_secrets = ["a", "b"]\nport = 1234\n'
    )
    monkeypatch.setenv("SPECBOT_PORT", "4321")
    settings = load(str(file))
    assert (settings.app_id, settings.port, len(settings.webhook_secrets)) == (7, 4321, 2)
    assert "BEGIN" not in repr(settings) and "'b'" not in repr(settings)
    file.write_text(file.read_text() + "prot = 1\n")
    with pytest.raises(UserError) as caught:
        load(str(file))
    assert "prot" in str(caught.value.args_)
