"""What became private closes at once, and what went is deleted."""

from __future__ import annotations

import httpx
import pytest
import sqlalchemy as sa

from tests.fake_github import people, shapes
from tests.workflows.conftest import Bot, small, until


@pytest.fixture
def shown(fake, bot):
    """A public pull request with its pages."""
    repo = small(fake)
    repo.roles["ada"] = "write"
    bot.start()
    pull = people.open_pull(fake, repo, "feature")
    until(lambda: "Nothing was found" in page(bot, repo, "review").text)
    return repo, pull


def page(bot: Bot, repo, tab: str = "") -> httpx.Response:
    address = f"{bot.url}/pr/{repo.full_name}/1?tab={tab}"
    return httpx.get(address, trust_env=False, verify=False)


def board(bot: Bot) -> str:
    return httpx.get(f"{bot.url}/", trust_env=False, verify=False).text


_KEPT = (
    "SELECT COUNT(*) FROM specbot_page_pulls WHERE repository LIKE :name",
    "SELECT COUNT(*) FROM specbot_page_reports WHERE repository LIKE :name",
    "SELECT COUNT(*) FROM workflow_status WHERE inputs LIKE :name AND name != 'access'",
    "SELECT COUNT(*) FROM operation_outputs WHERE output LIKE :name "
    "AND workflow_uuid NOT LIKE 'access-%'",
)


def kept(bot: Bot, name: str) -> list[int]:
    """How many rows and steps name the repository."""
    with sa.create_engine(bot.database).connect() as connection:
        return [
            int(connection.execute(sa.text(query), {"name": f"%{name}%"}).scalar_one())
            for query in _KEPT
        ]


def test_what_became_private_closes_at_once(fake, bot, shown):
    repo, _ = shown
    assert repo.full_name in board(bot)
    people.webhook(fake, repo, "repository", {"action": "privatized"}, "ada")
    until(lambda: page(bot, repo).status_code == 404)
    assert repo.full_name not in board(bot)


def test_a_lost_webhook_does_not_leave_it_open(fake, bot, shown):
    """A process that starts asks at the first view, and every one a minute after it asked."""
    repo, _ = shown
    repo.private = True
    bot.kill()
    bot.start()
    assert page(bot, repo).status_code == 404 and repo.full_name not in board(bot)


def whole_installation(fake, repo, event: str) -> dict:
    """What the events about installations say of them; others name only the id."""
    if event == "repository":
        return {}
    return {"installation": shapes.installation(fake.installation_of(repo), fake.app_id)}


@pytest.mark.parametrize("event", ["repository", "installation", "installation_repositories"])
def test_what_went_is_deleted(fake, bot, shown, event):
    repo, _ = shown
    listed = [{"id": repo.id, "full_name": repo.full_name, "name": repo.name, "private": False}]
    action, more = {
        "repository": ("deleted", {}),
        "installation": ("deleted", {"repositories": listed}),
        "installation_repositories": ("removed", {"repositories_removed": listed}),
    }[event]
    clones = list((bot.directory / "data" / "clones").iterdir())
    more |= whole_installation(fake, repo, event)
    people.webhook(fake, repo, event, {"action": action, **more}, "ada")
    until(lambda: page(bot, repo).status_code == 404)
    until(lambda: not any(kept(bot, repo.full_name)))
    until(lambda: not clones[0].exists())


def test_a_suspended_installation_closes_all_of_its_pages(fake, bot, shown):
    repo, _ = shown
    more = whole_installation(fake, repo, "installation")
    people.webhook(fake, repo, "installation", {"action": "suspend", **more}, "ada")
    until(lambda: page(bot, repo).status_code == 404)


def test_what_was_renamed_keeps_its_pages(fake, bot, shown):
    """Also where it is told of twice."""
    repo, _ = shown
    old, repo.name = repo.full_name, "renamed"
    fake.repositories[repo.full_name] = repo
    changes = {"repository": {"name": {"from": old.split("/")[1]}}}
    for told in (1, 2):
        people.webhook(fake, repo, "repository", {"action": "renamed", "changes": changes}, "ada")
        until(lambda told=told: ended_changes(bot) == told)
        assert page(bot, repo).status_code == 200
    old_page = httpx.get(f"{bot.url}/pr/{old}/1", trust_env=False, verify=False)
    assert old_page.status_code == 404


def ended_changes(bot: Bot) -> int:
    """How many changes of access are done."""
    query = "SELECT COUNT(*) FROM workflow_status WHERE name = 'access' AND status = 'SUCCESS'"
    with sa.create_engine(bot.database).connect() as connection:
        return int(connection.execute(sa.text(query)).scalar_one())
