"""What strangers, owners and GitHub do while the service is in the middle of something."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
import sqlalchemy as sa

from bot.db.engine import engine_for
from bot.github.check import MOST_ANNOTATIONS
from tests.fake_github import FakeGitHub, people, shapes
from tests.fake_github.server import secondary
from tests.fake_github.state import Pull, Repository
from tests.workflows.conftest import SMALL_HEAD, Bot, ended, small, until
from tests.workflows.test_commands import WORKFLOW, answers, ask, failed, fork_pull, ran

_STEP = "\n\ndef step_{0}(accept_num):\n    return accept_num{1}\n"


@pytest.fixture
def alone(live) -> Repository:
    """The only repository of its owner, whose installation is no other test's."""
    return small(live, owner=f"owner{len(live.repositories)}")


@contextmanager
def held(fake: FakeGitHub, method: str, path: str) -> Iterator[threading.Event]:
    """The next such request stands still before it has its effect, until the `with` ends. Gives
    what is set when it is there."""
    begun, gone_on = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        gone_on.wait(60)

    fake.fault(method, path, wait)
    try:
        yield begun
    finally:
        gone_on.set()


@contextmanager
def reviewing(fake: FakeGitHub, repo: Repository) -> Iterator[Pull]:
    """Within, the review of a new pull request is about to be posted."""
    with held(fake, "POST", f"/{repo.name}/pulls/1/reviews$") as begun:
        pull = people.open_pull(fake, repo, "feature")
        assert begun.wait(120)
        yield pull


def page(bot: Bot, name: str) -> int:
    return httpx.get(f"{bot.url}/pr/{name}/1", trust_env=False, verify=False).status_code


def over(bot: Bot, repo: Repository) -> bool:
    """Whether nothing of the repository waits or is at work."""
    query = "SELECT COUNT(*) FROM workflow_status WHERE inputs LIKE :name AND status IN :states"
    asked = sa.text(query).bindparams(sa.bindparam("states", expanding=True))
    values = {"name": f"%{repo.full_name}%", "states": ["PENDING", "ENQUEUED"]}
    engine = engine_for(bot.database)
    with engine.connect() as connection:
        found = connection.execute(asked, values).scalar_one()
    engine.dispose()
    return found == 0


def wrote(fake: FakeGitHub, repo: Repository, since: int) -> list[str]:
    """What was written to the repository since then, and taken."""
    return [
        seen.operation
        for seen in fake.requests[since:]
        if seen.method != "GET" and f"/{repo.name}/" in seen.path and seen.status < 400
    ]


@pytest.mark.hostile("repositories")
def test_what_becomes_private_during_its_review_is_shown_to_nobody(live, running, alone):
    with reviewing(live, alone) as pull:
        alone.private = True
        people.webhook(live, alone, "repository", {"action": "privatized"}, "ada")
    until(lambda: ended(alone, pull.head_sha))
    until(lambda: over(running, alone))
    assert page(running, alone.full_name) == 404


@pytest.mark.hostile("repositories")
def test_what_is_renamed_during_its_review_is_reviewed(live, running, alone):
    """Under its old name GitHub leads to it; no page is left there."""
    old = alone.full_name
    changes = {"repository": {"name": {"from": alone.name}}}
    with reviewing(live, alone) as pull:
        alone.name = f"{alone.name}-renamed"
        live.repositories[alone.full_name] = alone
        people.webhook(live, alone, "repository", {"action": "renamed", "changes": changes}, "ada")
    until(lambda: ended(alone, pull.head_sha))
    until(lambda: over(running, alone))
    assert len(pull.live_reviews()) == 1
    assert page(running, old) == 404


@pytest.mark.hostile("repositories")
def test_what_goes_to_a_stranger_during_its_review_is_told_nothing(live, running, alone):
    """The new owner has not asked for us."""
    old, former = alone.full_name, alone.owner
    changes = {"owner": {"from": {"user": shapes.user(former)}}}
    with reviewing(live, alone) as pull:
        since = len(live.requests)
        live.uninstall(alone)
        alone.owner = live.user(f"{former.login}-new")
        live.repositories[alone.full_name] = live.repositories.pop(old)
        moved = {"action": "transferred", "changes": changes}
        people.webhook(live, alone, "repository", moved, "ada")
    until(lambda: over(running, alone))
    assert pull.reviews == [] and wrote(live, alone, since) == []
    assert [page(running, name) for name in (old, alone.full_name)] == [404, 404]


@pytest.mark.hostile("repositories")
def test_a_suspension_during_a_review(live, running, alone):
    """Nothing is written while it lasts; the review is made when somebody asks after it."""
    installation = live.installation_of(alone)
    with reviewing(live, alone) as pull:
        since = len(live.requests)
        installation.suspended = True
        more = {"installation": shapes.installation(installation, live.app_id)}
        people.webhook(live, alone, "installation", {"action": "suspend", **more}, "ada")
    until(lambda: over(running, alone))
    assert pull.reviews == [] and wrote(live, alone, since) == []
    assert page(running, alone.full_name) == 404
    installation.suspended = False
    people.say(live, alone, pull, "reopened")
    until(lambda: len(pull.live_reviews()) == 1)
    until(lambda: all(check.status == "completed" for check in alone.check_runs))


@pytest.mark.hostile("webhooks")
@pytest.mark.parametrize("named", ["repository", "installation", "name"])
def test_a_signed_webhook_of_one_that_names_anothers(live, running, alone, named):
    """Nothing happens to the other's, and nothing of it is shown."""
    other = small(live, owner=f"other{len(live.repositories)}")
    pull = people.open_pull(live, alone, "feature", send=False)
    victim = people.open_pull(live, other, "feature", send=False)
    told = shapes.repository(alone)
    more = {
        "repository": {"repository": shapes.repository(other)},
        "installation": {"installation": {"id": live.installation_of(other).id, "node_id": "MDI"}},
        "name": {"repository": told | {"full_name": other.full_name, "name": other.name}},
    }[named]
    since = len(live.requests)
    people.say(live, alone, pull, "opened", more)
    until(lambda: over(running, alone) and over(running, other))
    assert wrote(live, other, since) == [] and victim.reviews == [] and other.check_runs == []
    assert page(running, other.full_name) == 404


@pytest.mark.hostile("repositories")
def test_a_head_that_is_forced_back_has_its_review_again(live, engine):
    """The one that it had was folded when there was another head."""
    pull = people.open_pull(live, engine, "feature")
    first = pull.head_sha
    until(lambda: ended(engine, first))
    second = engine.git.commit("feature", {"engine/step.py": SMALL_HEAD + "\n\nother(1)\n"})
    people.push(live, engine, pull, second)
    until(lambda: ended(engine, second))
    assert [review.commit_id for review in pull.live_reviews()] == [second]
    people.push(live, engine, pull, first)
    until(
        lambda: sum(c.head_sha == first and c.status == "completed" for c in engine.check_runs) > 1
    )
    assert [review.commit_id for review in pull.live_reviews()] == [first]


@pytest.mark.hostile("repositories")
@pytest.mark.parametrize(("when", "answer"), [("before", secondary(1)), ("after", "drop")])
def test_limits_while_annotations_are_written(live, engine, when, answer):
    """Each is there once, also where the answer is lost."""
    for branch, more in (("main", ""), ("many", " + unknown_{0}")):
        text = "".join(_STEP.format(n, more.format(n)) for n in range(60))
        engine.git.commit(branch, {"engine/spec_decode/many.py": text}, parent="main")
    live.fault("PATCH", f"/{engine.name}/check-runs/", answer, when=when)
    pull = people.open_pull(live, engine, "many")
    until(lambda: ended(engine, pull.head_sha))
    (check,) = engine.check_runs
    places = {(note["path"], note["start_line"], note["title"]) for note in check.annotations}
    assert len(places) == len(check.annotations) == MOST_ANNOTATIONS
    assert check.conclusion == "failure"


@pytest.mark.hostile("logins")
@pytest.mark.parametrize("command", ["/re-run all-failed", "/kernels"])
def test_who_may_no_more_when_it_is_to_happen(live, engine, command):
    """The permission is taken after the command was looked at, and before anything is asked."""
    engine.roles["ada"] = "write"
    engine.workflows[WORKFLOW] = 5
    live.content_writes.clear()
    pull = people.open_pull(live, engine, "feature", send=False, author="grace")
    ran(engine, pull, failed("unit"))
    if command == "/kernels":
        command += f" {pull.head_sha}"
    asks = f"/{engine.name}/collaborators/ada/permission$"
    with held(live, "GET", asks) as first:
        made = people.comment(live, engine, pull, "ada", command)
        assert first.wait(120)
        second = live.fault("GET", f"/repos/{engine.full_name}/pulls/1$", lambda: take(engine))
    until(lambda: answers(live, pull, made))
    assert second.times == 0
    assert engine.reruns == [] and engine.dispatches == []


def take(repo: Repository) -> None:
    repo.roles["ada"] = "read"


@pytest.mark.hostile("commands")
def test_an_approval_is_of_one_commit(live, engine):
    """An edit of the comment that gave it approves nothing else, nor does it go with the branch."""
    engine.roles["ada"] = "write"
    engine.workflows[WORKFLOW] = 5
    live.content_writes.clear()
    pull = fork_pull(live, engine)
    approved = pull.head_sha
    ask(live, engine, pull, f"/kernels {approved}")
    made = [comment for comment in pull.comments if comment.body.startswith("/kernels")][-1]
    pushed = pull.head_repo.git.commit("feature", {"engine/evil.py": "x = 1\n"})
    people.push(live, engine, pull, pushed, send=False)
    made.body = f"/kernels {pushed}"
    edited = {
        "action": "edited",
        "issue": shapes.issue(engine, pull),
        "comment": shapes.comment(engine, made),
        "changes": {"body": {"from": f"/kernels {approved}"}},
    }
    people.webhook(live, engine, "issue_comment", edited, "ada")
    assert "name the commit" in ask(live, engine, pull, "/kernels")
    assert [asked.inputs["head"] for asked in engine.dispatches] == [approved]
