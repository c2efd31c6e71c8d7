"""Each section of the runbook, played as an operator would."""

from __future__ import annotations

import ast
import re
import shutil
import time

import httpx
import pytest

from bot.cli.main import main
from tests.fake_github import people
from tests.fake_github.server import new_key
from tests.workflows.conftest import ROOT, ended, free_port, until
from tests.workflows.databases import kill_server, missing, postgres

# By the section's title, the tests that play it, of this module and of others.
PLAYED = {
    "The database is away": ["test_runbook.test_the_database_is_away"],
    "Work failed": ["test_restarts.test_work_that_ended_in_an_error_is_done_after_all"],
    "A queue grows": ["test_runbook.test_a_queue_grows"],
    "The writes of an hour are used up": [
        "test_limits.test_the_hour_of_one_is_not_the_hour_of_another",
        "test_fairness.test_one_account_gets_a_quarter_of_the_hour",
        "test_fairness.test_one_repository_leaves_a_quarter_to_the_others",
    ],
    "The disk is full": [
        "test_runbook.test_the_disk_is_full",
        "test_data.test_what_is_old_goes_and_one_repository_goes_whole",
    ],
    "A worker is silent": [
        "test_restarts.test_a_worker_that_dies_for_ever_is_taken_over",
        "test_restarts.test_killed_three_times_in_one_review",
    ],
    "A key or secret was changed": [
        "test_runbook.test_a_secret_was_changed",
        "test_runbook.test_a_key_was_changed",
        "test_app_doctor.test_secrets_that_are_weak_open_or_not_the_apps",
    ],
    "GitHub is down": [
        "test_runbook.test_github_is_down",
        "test_restarts.test_lost_webhooks_are_made_good",
    ],
    "Before an upgrade": [
        "test_runbook.test_back_to_what_was_before_an_upgrade",
        "test_migrations.test_an_upgrade_that_is_cut_off_changes_nothing",
        "test_migrations.test_a_newer_database_is_refused_in_a_sentence",
    ],
    "What is kept, and how it goes": [
        "test_access.test_what_went_is_deleted",
        "test_access.test_what_went_in_the_middle_of_a_review_is_deleted",
        "test_data.test_what_is_old_goes_and_one_repository_goes_whole",
    ],
}


def test_every_section_is_played():
    text = (ROOT / "templates/operations/RUNBOOK.md").read_text()
    assert re.findall(r"^## (.*)$", text, re.M) == list(PLAYED)
    for name in {name for names in PLAYED.values() for name in names}:
        module, function = name.split(".")
        tree = ast.parse((ROOT / f"tests/workflows/{module}.py").read_text())
        assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_the_database_is_away(fake, bot, repo):
    """A webhook is refused, not lost; with the database there again it is asked for and done."""
    if why := missing():
        pytest.skip(why)
    with postgres() as url:
        bot.start(SPECBOT_DATABASE_URL=url, SPECBOT_REDELIVER_EVERY="1")
        stopped = kill_server(url)
        pull = people.open_pull(fake, repo, "feature")
        (refused,) = fake.deliveries
        assert refused.status_code == 503
        # Younger ones may be on their way.
        minute_ago = time.gmtime(time.time() - 60)
        refused.delivered_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", minute_ago)
        with stopped.started():
            until(lambda: ended(repo, pull.head_sha))
            bot.kill()


def metric(port: str, name: str) -> float:
    """What is counted by the database's rows is not named where there are none."""
    text = httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False, verify=False).text
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.M)
    return float(found[1]) if found else 0.0


def test_a_queue_grows(fake, bot, repo):
    """Work waits and is counted; a worker that is added does it."""
    port = str(free_port())
    bot.start("--role", "web", SPECBOT_METRICS_PORT=port)
    pull = people.open_pull(fake, repo, "feature")
    depth = 'specbot_queue_depth{queue="reviews"}'
    assert metric(port, depth) == 1.0
    bot.run("worker", SPECBOT_WORKER_ID="added")
    until(lambda: ended(repo, pull.head_sha))
    until(lambda: metric(port, depth) == 0.0)


def test_the_disk_is_full(fake, bot, repo):
    """Clones that were deleted while the service was stopped are fetched again."""
    bot.start()
    first = people.open_pull(fake, repo, "feature")
    until(lambda: ended(repo, first.head_sha))
    bot.kill()
    shutil.rmtree(bot.directory / "data" / "clones")
    bot.start()
    repo.git.commit("second", {"engine/second.py": "x = 1\n"}, parent="main")
    second = people.open_pull(fake, repo, "second")
    until(lambda: ended(repo, second.head_sha))
    assert bot.clone(repo).exists()


def test_a_secret_was_changed(fake, bot, repo):
    """With both of them given no webhook is refused; the old one is, once it is taken away."""
    old, new = fake.webhook_secret, "another-s3cret"

    def answered(secret: str) -> int:
        fake.webhook_secret = secret
        people.webhook(fake, repo, "repository", {"action": "archived"}, "ada")
        return fake.deliveries[-1].status_code

    bot.start(SPECBOT_WEBHOOK_SECRETS=f"{old},{new}")
    assert [answered(old), answered(new)] == [202, 202]
    bot.kill()
    bot.start(SPECBOT_WEBHOOK_SECRETS=new)
    assert [answered(old), answered(new)] == [401, 202]


def test_a_key_was_changed(fake, bot, repo):
    """A restart takes the new one, and what waited for it is done."""
    bot.start(SPECBOT_RETRY_FAILED_EVERY="1")
    fake.use_key(new_key())
    fake.tokens.clear()
    pull = people.open_pull(fake, repo, "feature")
    until(lambda: any(r.status == 401 for r in fake.requests))
    bot.kill()
    (bot.directory / "key.pem").write_text(fake.private_key)
    bot.start(SPECBOT_RETRY_FAILED_EVERY="1")
    until(lambda: ended(repo, pull.head_sha))


def test_github_is_down(fake, bot, repo):
    """Nothing is done, and the review comes when GitHub does."""
    bot.start()
    faults = [fake.fault(method, "", "drop", times=10**6) for method in ("GET", "POST", "PATCH")]
    pull = people.open_pull(fake, repo, "feature")
    until(lambda: faults[1].times < 10**6)
    for fault in faults:
        fault.times = 0
    until(lambda: ended(repo, pull.head_sha))
    assert len(pull.live_reviews()) == 1


def test_back_to_what_was_before_an_upgrade(fake, bot, repo, tmp_path, monkeypatch):
    """The copy of a service that runs, put where nothing is, shows the pages that it had."""
    bot.start()
    pull = people.open_pull(fake, repo, "feature")
    until(lambda: ended(repo, pull.head_sha))
    until(lambda: page(bot, repo) == 200)
    for name, value in bot.settings.items():
        monkeypatch.setenv(name, value)
    archive = str(tmp_path / "specbot.tar.gz")
    assert main(["data", "backup", "-o", archive]) == 0
    bot.kill()
    shutil.rmtree(bot.directory / "data")
    assert main(["data", "restore", archive]) == 0
    bot.start()
    assert page(bot, repo) == 200


def page(bot, repo) -> int:
    url = f"{bot.url}/pr/{repo.full_name}/1?tab=review"
    return httpx.get(url, trust_env=False, verify=False).status_code
