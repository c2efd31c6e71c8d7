"""Two processes of the web side beside each other, on one PostgreSQL and with nothing else in
common."""

from __future__ import annotations

import httpx
import pytest

from tests.fake_github import people, webhooks
from tests.workflows.conftest import ended, free_port, until
from tests.workflows.databases import missing, postgres


def shown(url: str) -> str:
    """The page; empty where there is none."""
    answer = httpx.get(url, trust_env=False)
    return answer.text if answer.status_code == 200 else ""


def test_webhooks_go_to_either_and_pages_are_the_same(fake, bot, repo):
    """The same webhook to both is one review, and when one of them was killed the other goes on."""
    if why := missing():
        pytest.skip(why)
    port = free_port()
    first, second = bot.url, f"http://127.0.0.1:{port}"
    with postgres() as url:
        bot.settings["SPECBOT_DATABASE_URL"] = url
        bot.start("--role", "web")
        own = {"SPECBOT_PORT": str(port), "SPECBOT_DATA_DIR": f"{bot.directory}/second"}
        other = bot.run("serve", "--role", "web", **own)
        bot.url = second
        until(bot.ready)
        pull = people.open_pull(fake, repo, "feature")
        fake.webhook_url = f"{second}/webhook"
        webhooks.redeliver(fake, fake.deliveries[0])
        bot.run("worker")
        until(lambda: ended(repo, pull.head_sha))
        assert len(pull.reviews) == 1 and len(repo.check_runs) == 1
        path = f"/pr/{repo.full_name}/{pull.number}?lang=en"
        until(lambda: shown(first + path) and shown(first + path) == shown(second + path))
        other.kill()
        other.wait()
        fake.webhook_url = f"{first}/webhook"
        repo.git.commit("later", {"engine/later.py": "x = 1\n"}, parent="main")
        later = people.open_pull(fake, repo, "later")
        until(lambda: ended(repo, later.head_sha))
        bot.kill()
