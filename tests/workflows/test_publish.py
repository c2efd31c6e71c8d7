"""One review onto GitHub, once: what is posted again, what is folded, what is resolved, and what a
failure leaves."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bot.comment_text import finding_mark, review_mark
from bot.github import UncertainWrite, check
from bot.github.app import PUBLISH, RESOLVE, App, Endpoint
from bot.github.client import Client
from bot.github.own_comments import PullPlace
from bot.github.publish import close_outdated, post_review
from tests.fake_github import Answer, people
from tests.fake_github.state import Pull

PLACE = PullPlace("octo/engine", 1)
A, B, C = ("a" * 16, "b" * 16, "c" * 16)


@pytest.fixture
def pull(fake, repo) -> Pull:
    return people.open_pull(fake, repo, "feature", send=False)


@pytest.fixture
def contents() -> str:
    """What the App was granted on the contents of repositories."""
    return "read"


@pytest.fixture
def app(fake, repo, contents) -> App:
    fake.installations[0].permissions["contents"] = contents
    return App(Endpoint(fake.url, fake.url, 0.0), fake.app_id, fake.private_key)


@pytest.fixture
def client(app, fake, repo) -> Client:
    return app.client(fake.installations[0].id, repo.id, PUBLISH)


def payload(pull: Pull, *fingerprints: str, said: str = "Report", line: int = 8) -> dict:
    comments = [
        {
            "path": "engine/step.py",
            "line": line,
            "side": "RIGHT",
            "body": finding_mark(f) + f"About {f[0]}",
        }
        for f in fingerprints
    ]
    made = {"commit_id": pull.head_sha, "event": "COMMENT", "body": said, "comments": comments}
    return made | {"body": review_mark(made) + said}


@pytest.fixture
def publish(app, client, fake, repo) -> Callable[[dict], bool]:
    """Post a review and tidy up after it; False where it was there."""
    resolver = app.client_if_granted(fake.installations[0].id, repo.id, RESOLVE)

    def published(what: dict) -> bool:
        posted = post_review(client, PLACE, what)
        fingerprints = [c["body"].split()[2] for c in what["comments"]]
        close_outdated(client, PLACE, what, [{"fingerprint": f} for f in fingerprints], resolver)
        return posted

    return published


def bodies(pull: Pull) -> list[list[str]]:
    return [[c.body.splitlines()[-1] for c in review.comments] for review in pull.reviews]


@pytest.mark.parametrize("contents", ["read", "write"])
def test_a_new_review_says_what_is_new_folds_the_old_one_and_resolves_what_is_fixed(
    client, publish, fake, repo, pull
):
    assert publish(payload(pull, A, B))
    sha = repo.git.commit(
        "feature",
        {"engine/step.py": repo.git.run("show", f"{pull.head_sha}:engine/step.py") + "\n#\n"},
    )
    people.push(fake, repo, pull, sha, send=False)
    assert publish(payload(pull, B, C))
    assert bodies(pull) == [["About a", "About b"], ["About c"]]
    assert [r.minimized for r in pull.reviews] == ["OUTDATED", None]
    assert [t.comments[0].body[-1] for t in pull.open_threads()] == ["b", "c"]


def test_the_same_review_is_posted_once(client, publish, pull):
    assert publish(payload(pull, A))
    assert not publish(payload(pull, A))
    assert bodies(pull) == [["About a"]]
    assert [r.minimized for r in pull.reviews] == [None]


def test_the_same_claim_at_two_places_is_two_comments_and_one_when_one_is_fixed(
    client, publish, pull
):
    publish(payload(pull, A, A))
    assert bodies(pull) == [["About a", "About a"]]
    publish(payload(pull, A, said="Again"))
    assert bodies(pull)[1] == []
    assert len(pull.open_threads()) == 1


@pytest.mark.parametrize("contents", ["read", "write"])
def test_what_a_person_resolved_stays_resolved_and_a_fixed_finding_may_come_back(
    publish, contents, fake, pull
):
    publish(payload(pull, A, B))
    pull.threads[0].resolved_by = fake.user("ada")
    publish(payload(pull, A, said="Second"))
    assert (pull.threads[1].resolved_by is fake.bot) == (contents == "write")
    assert pull.threads[1].comments[0].minimized == (None if contents == "write" else "RESOLVED")
    publish(payload(pull, A, B, said="Third"))
    assert bodies(pull) == [["About a", "About b"], [], ["About b"]]


def test_a_mark_that_somebody_copied_proves_nothing(client, publish, fake, repo, pull):
    what = payload(pull, A)
    publish(what)
    pull.reviews[0].user = fake.user("mallory")
    pull.threads[0].comments[0].user = fake.user("mallory")
    assert publish(what)
    assert bodies(pull) == [["About a"], ["About a"]]
    assert pull.reviews[0].minimized is None
    assert pull.threads[0].resolved_by is None


def test_a_mark_below_the_first_line_is_quoted_and_not_ours(client, publish, pull):
    what = payload(pull, A)
    what["comments"][0]["body"] = "Look:\n" + what["comments"][0]["body"]
    post_review(client, PLACE, what)
    assert publish(payload(pull, A, said="Second"))
    assert [len(r.comments) for r in pull.reviews] == [1, 1]


def test_a_comment_that_github_refuses_moves_into_the_body(client, publish, pull):
    post_review(client, PLACE, payload(pull, A, line=400))
    (review,) = pull.reviews
    assert review.comments == []
    assert "### `engine/step.py:400`" in review.body
    assert "About a" in review.body


def test_comments_that_move_into_the_body_do_not_make_it_too_long(client, publish, pull):
    what = payload(pull, A, B, C, line=400)
    for comment in what["comments"]:
        comment["body"] += "\U0001f642" * 12_000
    post_review(client, PLACE, what)
    assert len(pull.reviews[0].body.encode("utf-16-le")) // 2 < 65_536


@pytest.mark.parametrize("fault", ["drop", Answer(502, {"message": "Bad gateway"})])
def test_a_review_that_may_have_been_posted_is_not_posted_again(client, publish, fake, pull, fault):
    fake.fault("POST", "/reviews$", fault, when="after")
    with pytest.raises(UncertainWrite):
        publish(payload(pull, A))
    assert not publish(payload(pull, A))
    assert len(pull.reviews) == 1


def test_more_than_a_hundred_threads(client, publish, fake, pull):
    many = [f"{n:016x}" for n in range(130)]
    for start in (0, 40, 80, 120):
        post_review(client, PLACE, payload(pull, *many[start : start + 40], said=str(start)))
    publish(payload(pull, *many[:129], said="all"))
    assert pull.reviews[-1].comments == []
    assert len(pull.open_threads()) == 129


def notes(count: int) -> list[dict]:
    one = {"path": "engine/step.py", "start_line": 1, "end_line": 1, "annotation_level": "notice"}
    return [one | {"message": f"note {n}"} for n in range(count)]


OUTPUT = {"title": "t", "summary": "s"}


@pytest.mark.parametrize("count", [0, 1, 50, 51, 100, 120])
def test_annotations_have_a_cap(client, publish, fake, repo, pull, count):
    run = check.begin(client, fake.app_id, "octo/engine", pull.head_sha, "order", OUTPUT)
    check.finish(client, "octo/engine", run, "neutral", OUTPUT, notes(count))
    (made,) = repo.check_runs
    shown = min(count, check.MOST_ANNOTATIONS)
    assert [a["message"] for a in made.annotations] == [f"note {n}" for n in range(shown)]
    assert (made.status, made.conclusion) == ("completed", "neutral")


def test_a_check_run_that_was_left_is_taken_up(client, publish, fake, repo, pull):
    run = check.begin(client, fake.app_id, "octo/engine", pull.head_sha, "first", OUTPUT)
    assert check.begin(client, fake.app_id, "octo/engine", pull.head_sha, "second", OUTPUT) == run
    check.abandon(client, "octo/engine", run, "first", "cancelled", OUTPUT)
    assert repo.check_runs[0].status == "in_progress"
    check.finish(client, "octo/engine", run, "neutral", OUTPUT, notes(20))
    other = check.begin(client, fake.app_id, "octo/engine", pull.head_sha, "third", OUTPUT)
    check.abandon(client, "octo/engine", other, "third", "cancelled", OUTPUT)
    assert [c.conclusion for c in repo.check_runs] == ["neutral", "cancelled"]


def test_annotations_are_not_sent_twice(client, publish, fake, repo, pull):
    """The worker died when GitHub had done it, and before that was written down."""
    run = check.begin(client, fake.app_id, "octo/engine", pull.head_sha, "first", OUTPUT)
    fake.fault("PATCH", "/check-runs/", Answer(502, {"message": "No"}), when="after")
    with pytest.raises(UncertainWrite):
        check.finish(client, "octo/engine", run, "neutral", OUTPUT, notes(20))
    check.finish(client, "octo/engine", run, "neutral", OUTPUT, notes(20))
    assert len(repo.check_runs[0].annotations) == 20
