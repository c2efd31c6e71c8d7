"""What became private closes at once, and what went is deleted."""

from __future__ import annotations

import threading

import httpx
import pytest
import sqlalchemy as sa

from tests.fake_github import people, shapes
from tests.workflows.conftest import Bot, free_port, small, started, until, watched


@pytest.fixture(scope="module")
def bot(tmp_path_factory):
    """One for all of these tests, each with an installation of its own: what they delete is no
    other test's."""
    with started(tmp_path_factory.mktemp("access")) as made:
        yield made


@pytest.fixture
def fake(bot):
    with watched(bot.fake) as watching:
        yield watching


@pytest.fixture
def shown(fake, bot):
    """A public repository, the only one of its owner, with the pages of a pull request."""
    repo = small(fake, owner=f"octo{len(fake.repositories)}")
    people.open_pull(fake, repo, "feature")
    until(lambda: "Nothing was found" in page(bot, repo, "review").text)
    # What is at work while a repository is deleted still writes down its end.
    until(lambda: count(bot, _AT_WORK) == 0)
    return repo


def read(url: str) -> httpx.Response:
    return httpx.get(url, trust_env=False, verify=False)


def page(bot: Bot, repo, tab: str = "") -> httpx.Response:
    return read(f"{bot.url}/pr/{repo.full_name}/1?tab={tab}")


def board(bot: Bot) -> str:
    return read(f"{bot.url}/").text


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
    repo = shown
    assert repo.full_name in board(bot)
    people.webhook(fake, repo, "repository", {"action": "privatized"}, "ada")
    until(lambda: page(bot, repo).status_code == 404)
    assert repo.full_name not in board(bot)


def test_a_lost_webhook_does_not_leave_it_open(fake, bot, shown):
    """A process that starts asks at the first view, and every one a minute after it asked."""
    repo = shown
    repo.private = True
    url = f"http://127.0.0.1:{(port := free_port())}"
    process = bot.run("serve", "--role", "web", SPECBOT_PORT=str(port))
    until(lambda: answers(url))
    assert read(f"{url}/pr/{repo.full_name}/1").status_code == 404
    assert repo.full_name not in read(url).text
    process.kill()
    process.wait()
    bot.processes.remove(process)


def answers(url: str) -> bool:
    try:
        return read(f"{url}/readyz").status_code == 200
    except httpx.HTTPError:
        return False


def whole_installation(fake, repo, event: str) -> dict:
    """What the events about installations say of them; others name only the id."""
    if event == "repository":
        return {}
    return {"installation": shapes.installation(fake.installation_of(repo), fake.app_id)}


@pytest.mark.parametrize("event", ["repository", "installation", "installation_repositories"])
def test_what_went_is_deleted(fake, bot, shown, event):
    repo = shown
    listed = [{"id": repo.id, "full_name": repo.full_name, "name": repo.name, "private": False}]
    action, more = {
        "repository": ("deleted", {}),
        "installation": ("deleted", {"repositories": listed}),
        "installation_repositories": ("removed", {"repositories_removed": listed}),
    }[event]
    clone = bot.clone(repo)
    assert clone.exists()
    more |= whole_installation(fake, repo, event)
    people.webhook(fake, repo, event, {"action": action, **more}, "ada")
    until(lambda: page(bot, repo).status_code == 404)
    until(lambda: not any(kept(bot, repo.full_name)))
    until(lambda: not clone.exists())


def test_what_went_in_the_middle_of_a_review_is_deleted(fake, bot, shown):
    """The review is cancelled, and what its last step still writes goes some seconds later."""
    repo, before = shown, ended_changes(bot)
    begun, gone_on = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        gone_on.wait(60)

    fake.fault("POST", "/check-runs$", wait)
    second = repo.git.commit("second", {"engine/second.py": "x = 1\n"}, parent="main")
    people.open_pull(fake, repo, "second")
    assert begun.wait(60)
    people.webhook(fake, repo, "repository", {"action": "deleted"}, "ada")
    until(lambda: ended_changes(bot) > before)
    gone_on.set()
    # The second look.
    until(lambda: ended_changes(bot) > before + 1)
    assert not any(kept(bot, repo.full_name))
    assert page(bot, repo).status_code == 404
    assert [run.status for run in repo.check_runs if run.head_sha == second] == ["in_progress"]


def test_a_suspended_installation_closes_all_of_its_pages(fake, bot, shown):
    repo = shown
    more = whole_installation(fake, repo, "installation")
    people.webhook(fake, repo, "installation", {"action": "suspend", **more}, "ada")
    until(lambda: page(bot, repo).status_code == 404)


def test_what_was_renamed_keeps_its_pages(fake, bot, shown):
    """Also where it is told of twice."""
    repo = shown
    old, repo.name = repo.full_name, "renamed"
    fake.repositories[repo.full_name] = repo
    changes = {"repository": {"name": {"from": old.split("/")[1]}}}
    for _ in range(2):
        before = ended_changes(bot)
        people.webhook(fake, repo, "repository", {"action": "renamed", "changes": changes}, "ada")
        until(lambda before=before: ended_changes(bot) > before)
        assert page(bot, repo).status_code == 200
    assert read(f"{bot.url}/pr/{old}/1").status_code == 404


def ended_changes(bot: Bot) -> int:
    """How many changes of access are done."""
    return count(bot, _ENDED_CHANGES)


_AT_WORK = "SELECT COUNT(*) FROM workflow_status WHERE status IN ('PENDING', 'ENQUEUED')"
_ENDED_CHANGES = "SELECT COUNT(*) FROM workflow_status WHERE name = 'access' AND status = 'SUCCESS'"


def count(bot: Bot, query: str) -> int:
    with sa.create_engine(bot.database).connect() as connection:
        return int(connection.execute(sa.text(query)).scalar_one())
