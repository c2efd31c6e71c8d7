"""What became private closes at once, and what went is deleted."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
import sqlalchemy as sa

from tests.fake_github import Answer, people, shapes
from tests.workflows.conftest import Bot, ended, free_port, small, started, until, watched


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
    """A public repository, the only one of its owner, with the pages of a pull request.

    The later looks that earlier tests ordered are gone: tests count those that end.
    """
    with sa.create_engine(bot.database).begin() as connection:
        connection.execute(sa.text(_FORGET_LOOKS))
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
    repo.private = True
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


WENT = ["repository", "installation", "installation_repositories"]


def tell_that_it_went(fake, repo, event: str) -> None:
    """The webhook that says so, whatever is so."""
    listed = [{"id": repo.id, "full_name": repo.full_name, "name": repo.name, "private": False}]
    action, more = {
        "repository": ("deleted", {}),
        "installation": ("deleted", {"repositories": listed}),
        "installation_repositories": ("removed", {"repositories_removed": listed}),
    }[event]
    more |= whole_installation(fake, repo, event)
    people.webhook(fake, repo, event, {"action": action, **more}, "ada")


@contextmanager
def hidden(fake, repo) -> Iterator[None]:
    """GitHub shows the App nothing of it."""
    fault = fake.fault("GET", f"^/repos/{repo.full_name}/installation$", GONE, times=10**6)
    yield
    fault.times = 0


GONE = Answer(404, {"message": "Not Found", "documentation_url": "", "status": "404"})


@pytest.mark.parametrize("event", WENT)
def test_what_went_is_deleted(fake, bot, shown, event):
    repo = shown
    clone = bot.clone(repo)
    assert clone.exists()
    with hidden(fake, repo):
        tell_that_it_went(fake, repo, event)
        until(lambda: page(bot, repo).status_code == 404)
        until(lambda: not any(kept(bot, repo.full_name)))
        until(lambda: not clone.exists())


@pytest.mark.hostile("webhooks")
@pytest.mark.parametrize("event", WENT)
def test_what_came_back_since_stays(fake, bot, shown, event):
    """GitHub sends for days what did not arrive: the webhook is of before."""
    repo, before, had = shown, ended_changes(bot), kept(bot, shown.full_name)
    tell_that_it_went(fake, repo, event)
    until(lambda: ended_changes(bot) >= before + 2)
    assert page(bot, repo).status_code == 200 and kept(bot, repo.full_name) == had
    assert bot.clone(repo).exists()


@pytest.mark.hostile("webhooks")
def test_what_is_public_again_opens_again(fake, bot, shown):
    before = ended_changes(bot)
    people.webhook(fake, shown, "repository", {"action": "privatized"}, "ada")
    until(lambda: ended_changes(bot) >= before + 1)
    assert page(bot, shown).status_code == 404
    until(lambda: page(bot, shown).status_code == 200)


@pytest.mark.parametrize("event", WENT)
def test_what_github_does_not_say_stays_closed(fake, bot, shown, event):
    """And nothing is deleted until it does."""
    repo, had = shown, kept(bot, shown.full_name)
    silent = fake.fault("GET", f"^/repos/{repo.full_name}", Answer(502, b""), times=10**6)
    tell_that_it_went(fake, repo, event)
    until(lambda: page(bot, repo).status_code == 404)
    until(lambda: silent.times < 10**6 - 5)
    assert page(bot, repo).status_code == 404 and kept(bot, repo.full_name) == had
    silent.times = 0
    until(lambda: page(bot, repo).status_code == 200)
    assert kept(bot, repo.full_name) == had


@pytest.mark.hostile("webhooks")
@pytest.mark.parametrize("late", [False, True])
def test_what_went_to_another_account_is_that_accounts(fake, bot, shown, late):
    """The new owner has the App too: what was kept before goes, and what it had done since stays,
    also where the webhook is late."""
    repo, old, before = shown, shown.full_name, ended_changes(bot)
    fake.uninstall(repo)
    former, repo.owner = repo.owner, fake.user(f"{repo.owner.login}-new")
    fake.repositories[repo.full_name] = repo
    fake.install(repo)
    changes = {"owner": {"from": {"user": shapes.user(former)}}}
    moved = {"action": "transferred", "changes": changes}

    def review() -> None:
        people.say(fake, repo, repo.pulls[1], "synchronize")
        until(lambda: page(bot, repo, "review").status_code == 200)
        until(lambda: count(bot, _AT_WORK) == 0)

    if late:
        review()
    people.webhook(fake, repo, "repository", moved, "ada")
    until(lambda: ended_changes(bot) > before)
    until(lambda: kept(bot, old)[:2] == [0, 0])
    if not late:
        review()
    assert read(f"{bot.url}/pr/{old}/1").status_code == 404
    assert page(bot, repo).status_code == 200
    assert reviewed(bot, repo) == 1


@pytest.mark.hostile("repositories")
@pytest.mark.parametrize("became", ["another", "renamed", "moved"])
def test_a_name_that_has_another_repository_shows_it_alone(fake, bot, shown, became):
    """And no webhook said so: what is kept goes, or follows its repository to its new name."""
    old, name = shown, shown.full_name
    second = old.git.commit("second", {"engine/second.py": "x = 1\n"}, parent="main")
    people.open_pull(fake, old, "second")
    until(lambda: ended(old, second) and count(bot, _AT_WORK) == 0)
    assert read(f"{bot.url}/pr/{name}/2").status_code == 200
    if became == "another":
        fake.uninstall(old)
        new = small(fake, owner="elsewhere")
        new.owner, new.name = old.owner, old.name
        fake.repositories[name] = new
        fake.install(new)
    else:
        new = old
        fake.uninstall(old)
        new.name = f"{old.name}-new"
        if became == "moved":
            new.owner = fake.user(f"{old.owner.login}-new")
        fake.repositories[new.full_name] = fake.repositories.pop(name)
        fake.install(new)
    pull = new.pulls.get(1) or people.open_pull(fake, new, "feature", send=False)
    people.say(fake, new, pull, "reopened")
    until(lambda: page(bot, new, "review").status_code == 200 and count(bot, _AT_WORK) == 0)
    assert read(f"{bot.url}/pr/{name}/2").status_code == 404
    follows = read(f"{bot.url}/pr/{new.full_name}/2").status_code
    assert follows == (200 if became == "renamed" else 404)


def reviewed(bot: Bot, repo) -> int:
    """How many pull requests of the repository are remembered as reviewed."""
    return count(bot, f"SELECT COUNT(*) FROM specbot_last_reviews WHERE repository_id = {repo.id}")


def test_what_went_in_the_middle_of_a_review_is_deleted(fake, bot, shown):
    """The review is cancelled, and what its last step still writes goes some seconds later."""
    repo, before = shown, ended_changes(bot)
    begun, gone_on = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        gone_on.wait(60)

    fake.fault("POST", "/check-runs$", wait, when="after")
    second = repo.git.commit("second", {"engine/second.py": "x = 1\n"}, parent="main")
    people.open_pull(fake, repo, "second")
    assert begun.wait(60)
    with hidden(fake, repo):
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
    fake.installation_of(repo).suspended = True
    before = ended_changes(bot)
    more = whole_installation(fake, repo, "installation")
    people.webhook(fake, repo, "installation", {"action": "suspend", **more}, "ada")
    until(lambda: page(bot, repo).status_code == 404)
    until(lambda: ended_changes(bot) >= before + 2)
    assert page(bot, repo).status_code == 404


def test_an_installation_that_works_again_opens_its_public_pages(fake, bot, shown):
    repo = shown
    installation = fake.installation_of(repo)
    for action, suspended in (("suspend", True), ("unsuspend", False)):
        installation.suspended = suspended
        before = ended_changes(bot)
        more = whole_installation(fake, repo, "installation")
        people.webhook(fake, repo, "installation", {"action": action, **more}, "ada")
        until(lambda before=before: ended_changes(bot) >= before + 2)
    until(lambda: page(bot, repo).status_code == 200)


def test_what_became_public_opens(fake, bot, shown):
    repo = shown
    for action, private, answer in (("privatized", True, 404), ("publicized", False, 200)):
        repo.private = private
        people.webhook(fake, repo, "repository", {"action": action}, "ada")
        until(lambda answer=answer: page(bot, repo).status_code == answer)


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


@pytest.mark.hostile("webhooks")
def test_a_name_that_was_given_back_is_kept(fake, bot, shown):
    """It was renamed and named as before; the webhook of the first change is late."""
    repo, before = shown, ended_changes(bot)
    changes = {"repository": {"name": {"from": repo.name}}}
    told = {"action": "renamed", "changes": changes}
    told["repository"] = {"id": repo.id, "name": "other", "full_name": f"{repo.owner.login}/other"}
    fake.repositories[f"{repo.owner.login}/other"] = repo
    people.webhook(fake, repo, "repository", told, "ada")
    until(lambda: ended_changes(bot) > before)
    assert page(bot, repo).status_code == 200


def ended_changes(bot: Bot) -> int:
    """How many changes of access are done."""
    return count(bot, _ENDED_CHANGES)


_FORGET_LOOKS = "DELETE FROM workflow_status WHERE name = 'access' AND status = 'DELAYED'"
_AT_WORK = "SELECT COUNT(*) FROM workflow_status WHERE status IN ('PENDING', 'ENQUEUED')"
_ENDED_CHANGES = "SELECT COUNT(*) FROM workflow_status WHERE name = 'access' AND status = 'SUCCESS'"


def count(bot: Bot, query: str) -> int:
    with sa.create_engine(bot.database).connect() as connection:
        return int(connection.execute(sa.text(query)).scalar_one())
