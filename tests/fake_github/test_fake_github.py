"""The fake is as strict as GitHub: it refuses what GitHub refuses, and its description can
say no."""

from __future__ import annotations

import json
import time
from pathlib import Path

import httpx
import jwt
import pytest

from tests.fake_github import FakeGitHub, description, people, serving
from tests.fake_github.filling import fill
from tests.fake_github.server import new_key
from tests.fake_github.state import Pull, Repository

BASE = "".join(f"line {n}\n" for n in range(1, 41))
HEAD = BASE.replace("line 10\n", "").replace("line 30\n", "line 30, changed\n")
API = "/repos/octo/lantern"


@pytest.fixture
def fake(tmp_path: Path):
    made = FakeGitHub(tmp_path)
    with serving(made):
        yield made


@pytest.fixture
def repo(fake: FakeGitHub) -> Repository:
    made = fake.repository("octo/lantern")
    made.git.commit("main", {"a.txt": BASE, "gone.txt": "x\n"})
    made.git.commit("feature", {"a.txt": HEAD, "gone.txt": None}, parent="main")
    return made


@pytest.fixture
def pull(fake: FakeGitHub, repo: Repository) -> Pull:
    return people.open_pull(fake, repo, "feature", send=False)


def app_token(fake: FakeGitHub, key: str | None = None, **claims: int) -> str:
    now = int(time.time())
    return jwt.encode(
        {"iat": now - 5, "exp": now + 300, "iss": str(fake.app_id)} | claims,
        key or fake.private_key,
        "RS256",
    )


def client(fake: FakeGitHub, token: str) -> httpx.Client:
    return httpx.Client(
        base_url=fake.url,
        headers={"authorization": f"Bearer {token}"},
        trust_env=False,
        verify=False,
    )


def installed(fake: FakeGitHub, **permissions: str) -> httpx.Client:
    """A client with an installation token of just these permissions."""
    asked = {"permissions": permissions} if permissions else {}
    path = f"/app/installations/{fake.installations[0].id}/access_tokens"
    answer = client(fake, app_token(fake)).post(path, json=asked)
    assert answer.status_code == 201, answer.text
    return client(fake, answer.json()["token"])


def test_the_requests_of_an_hour_come_back(fake, pull):
    reader = installed(fake)
    fake.rate_remaining = 0
    refused = reader.get(API)
    assert refused.status_code == 403 and refused.headers["x-ratelimit-remaining"] == "0"
    assert 3500 < int(refused.headers["x-ratelimit-reset"]) - time.time() <= 3601
    fake.rate_reset = time.time()
    assert reader.get(API).status_code == 200
    assert fake.rate_remaining == fake.rate_limit - 1


def review(fake: FakeGitHub, **comment: object) -> httpx.Response:
    body = {
        "body": "",
        "event": "COMMENT",
        "comments": [{"body": "Look", "path": "a.txt"} | comment],
    }
    return installed(fake).post(f"{API}/pulls/1/reviews", json=body)


@pytest.mark.parametrize(
    "comment",
    [
        {"line": 29},
        {"line": 29, "side": "RIGHT", "start_line": 27, "start_side": "RIGHT"},
        {"line": 10, "side": "LEFT"},
        {"line": 10, "side": "RIGHT", "start_line": 10, "start_side": "LEFT"},
        {"path": "gone.txt", "line": 1, "side": "LEFT"},
    ],
)
def test_a_comment_on_a_line_of_the_diff_is_taken(fake, pull, comment):
    answer = review(fake, **comment)
    assert answer.status_code == 200, answer.text
    assert [c.body for c in pull.reviews[0].comments] == ["Look"]


@pytest.mark.parametrize(
    ("comment", "why"),
    [
        ({"line": 20}, "Line could not be resolved"),
        ({"line": 41}, "Line could not be resolved"),
        ({"path": "b.txt", "line": 1}, "Path could not be resolved"),
        ({"path": "gone.txt", "line": 1, "side": "RIGHT"}, "Line could not be resolved"),
        ({"line": 29, "start_line": 9}, "Start line must be part of the same hunk"),
        ({"line": 29, "start_line": 29}, "Start line must precede"),
        ({}, "Line could not be resolved"),
        ({"line": 29, "body": " "}, "Body can't be blank"),
        ({"line": 29, "body": "x" * 65_537}, "Body is too long"),
    ],
)
def test_one_comment_in_a_wrong_place_and_nothing_is_taken(fake, pull, comment, why):
    answer = review(fake, **comment)
    assert answer.status_code == 422
    assert why in answer.text
    assert pull.reviews == []


def test_a_token_does_what_it_was_narrowed_to(fake, pull):
    reader = installed(fake, pull_requests="read")
    assert reader.get(f"{API}/pulls/1").status_code == 200
    assert reader.post(f"{API}/issues/1/comments", json={"body": "hi"}).status_code == 403
    assert reader.get(f"{API}/actions/runs").status_code == 403
    query = 'mutation { minimizeComment(input: {subjectId: "PRR_1", classifier: SPAM}) { minimizedComment { id } } }'
    assert "not accessible" in reader.post("/graphql", json={"query": query}).text


def test_a_token_reaches_its_repositories_alone(fake, pull, tmp_path):
    fake.repository("octo/other").git.commit("main", {"a": "1"})
    path = f"/app/installations/{fake.installations[0].id}/access_tokens"
    body = {"repository_ids": [fake.repositories["octo/lantern"].id]}
    narrow = client(fake, client(fake, app_token(fake)).post(path, json=body).json()["token"])
    assert narrow.get(API).status_code == 200
    assert narrow.get("/repos/octo/other").status_code == 404
    assert (
        narrow.get("/octo/other.git/info/refs?service=git-upload-pack", auth=None).status_code
        == 401
    )


def test_only_the_apps_key_opens_the_app(fake, repo, tmp_path):
    other = FakeGitHub(tmp_path / "other", new_key())
    assert client(fake, app_token(fake)).get("/app").status_code == 200
    assert client(fake, app_token(fake, other.private_key)).get("/app").status_code == 401
    assert client(fake, app_token(fake, exp=int(time.time()) + 3600)).get("/app").status_code == 401
    assert client(fake, "ghs_guess").get(API).status_code == 401


def test_check_runs_take_fifty_annotations_at_a_time(fake, pull):
    note = {
        "path": "a.txt",
        "start_line": 1,
        "end_line": 1,
        "annotation_level": "notice",
        "message": "x",
    }
    writer = installed(fake, checks="write")

    def body(count: int) -> dict[str, object]:
        return {"output": {"title": "t", "summary": "s", "annotations": [note] * count}}

    begun = {"name": "specbot/review", "head_sha": pull.head_sha, "status": "in_progress"}
    assert writer.post(f"{API}/check-runs", json=begun | body(51)).status_code == 404
    assert "at most 50 items" in fake.violations.pop()
    made = writer.post(f"{API}/check-runs", json=begun | body(50)).json()
    assert (
        writer.patch(f"{API}/check-runs/{made['id']}", json=body(5)).json()["output"][
            "annotations_count"
        ]
        == 55
    )
    assert fake.violations == []


@pytest.mark.parametrize(
    ("method", "path", "body", "why"),
    [
        ("POST", f"{API}/pulls/1/revews", {}, "no operation"),
        ("POST", f"{API}/issues/1/comments", {"text": "hi"}, "body"),
        ("POST", f"{API}/issues/1/comments", {"body": 7}, "body"),
        (
            "POST",
            f"{API}/issues/1/comments",
            {"body": "hi", "colour": "red"},
            "unknown keys: ['.colour']",
        ),
        ("POST", f"{API}/pulls/1/reviews", {"event": "SHOUT"}, "event"),
        (
            "POST",
            f"{API}/pulls/1/reviews",
            {"comments": [{"path": "a", "body": "b", "linee": 1}]},
            "linee",
        ),
        ("GET", f"{API}/pulls?page=1&colour=red", None, "no query parameters ['colour']"),
        (
            "POST",
            "/graphql",
            {"query": "{ viewer { shoeSize } }"},
            "'shoeSize' doesn't exist on type 'User'",
        ),
    ],
)
def test_what_the_description_does_not_know_is_a_violation(fake, pull, method, path, body, why):
    installed(fake).request(method, path, json=body)
    assert len(fake.violations) == 1
    assert why in fake.violations[0]


def test_an_answer_that_github_would_not_give_is_a_violation(fake, pull):
    reader = installed(fake)
    pull.state = "ajar"
    reader.get(f"{API}/pulls/1")
    assert "state" in fake.violations[0]


def test_a_webhook_that_github_would_not_send_is_refused(fake, repo, pull):
    with pytest.raises(description.Undescribed, match="title"):
        pull.title = 7  # type: ignore[assignment]
        people.say(fake, repo, pull, "opened", send=False)
    model = description.webhook_model("pull_request", "opened")
    with pytest.raises(description.Undescribed, match="unknown keys"):
        description.check_webhook(
            "pull_request", json.dumps(fill(model, {"action": "opened", "colour": 1})).encode()
        )


def test_faults_strike_before_or_after_the_effect(fake, pull):
    writer = installed(fake)
    path = f"{API}/issues/1/comments"
    fake.secondary_limit("POST", path, retry_after=7)
    answer = writer.post(path, json={"body": "one"})
    assert (answer.status_code, answer.headers["retry-after"], pull.comments) == (403, "7", [])
    fake.fault("POST", path, "drop", when="after")
    with pytest.raises(httpx.HTTPError):
        writer.post(path, json={"body": "two"})
    assert [c.body for c in pull.comments] == ["two"]


def test_an_unchanged_answer_is_304(fake, pull):
    reader = installed(fake)
    first = reader.get(f"{API}/pulls/1")
    assert (
        reader.get(f"{API}/pulls/1", headers={"if-none-match": first.headers["etag"]}).status_code
        == 304
    )
    pull.title = "Other"
    assert (
        reader.get(f"{API}/pulls/1", headers={"if-none-match": first.headers["etag"]}).status_code
        == 200
    )
