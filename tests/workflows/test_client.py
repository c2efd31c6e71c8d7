"""How the client waits, what it repeats and what it never repeats; against the fake, with a clock
that is told."""

from __future__ import annotations

import io
import itertools
import os
import random
import time
import zipfile
from types import SimpleNamespace

import pytest

from bot.context.retries import is_transient
from bot.errors import UserError
from bot.git import BlobStore, Git
from bot.git.tree import open_trees
from bot.github import GitHubError, RateLimited, UncertainWrite, download
from bot.github.app import ANALYSE, PUBLISH, READ_CI, RUN, App, Endpoint
from bot.github.checkout import Checkouts
from bot.github.rate_limit import RateLimiter
from tests.fake_github import Answer, FakeGitHub, people
from tests.fake_github.state import Artifact, Job, Repository, WorkflowRun
from tests.workflows.conftest import SMALL_HEAD

REPO = "/repos/octo/engine"


@pytest.fixture
def app(fake: FakeGitHub, repo: Repository) -> App:
    people.open_pull(fake, repo, "feature", send=False)
    return App(Endpoint(fake.url, fake.url, 0.0), fake.app_id, fake.private_key)


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def client(app, fake, repo, slept):
    """May publish and start runs; waits in no time and notes how long it would have."""
    made = app.client(fake.installations[0].id, repo.id, dict(PUBLISH) | RUN)
    made._sleep = slept.append
    return made


def test_the_key_is_read_once(app, monkeypatch):
    """It takes a tenth of a second, in which nothing else of the process goes on."""
    assert app.itself.get("/app")["slug"]
    monkeypatch.setattr("jwt.algorithms.load_pem_private_key", None)
    monkeypatch.setattr("cryptography.hazmat.primitives.serialization.load_pem_private_key", None)
    assert app.itself.get("/app")["slug"]


@pytest.mark.parametrize("status", [500, 502, 503])
def test_a_read_is_repeated(client, fake, slept, status):
    fake.fault("GET", "/pulls/1$", Answer(status, {"message": "Server Error"}), times=2)
    fake.fault("GET", "/pulls/1$", "drop")
    assert client.get(f"{REPO}/pulls/1")["number"] == 1
    assert len(slept) == 3 and slept == sorted(slept)


def test_a_read_is_given_up(client, fake):
    fake.fault("GET", "/pulls/1$", Answer(502, {"message": "Server Error"}), times=4)
    with pytest.raises(GitHubError, match="502"):
        client.get(f"{REPO}/pulls/1")


@pytest.mark.parametrize("fault", ["drop", Answer(502, {"message": "x"})])
def test_a_dispatch_is_sent_once_whatever_becomes_of_it(client, fake, repo, fault):
    repo.workflows[".github/workflows/gpu.yml"] = 7
    fake.fault("POST", "/dispatches$", fault, when="after", times=9)
    with pytest.raises(UncertainWrite):
        client.post(f"{REPO}/actions/workflows/gpu.yml/dispatches", {"ref": "main"})
    assert len(repo.dispatches) == 1


def test_a_token_that_was_taken_back_is_replaced(client, fake, repo, slept):
    fake.tokens.clear()
    client.post(f"{REPO}/pulls/1/reviews", {"body": "x", "event": "COMMENT"})
    assert len(fake.repositories["octo/engine"].pulls[1].reviews) == 1
    assert len(fake.asked("apps/create-installation-access-token")) == 2
    assert slept == []


def test_a_token_that_was_taken_back_is_not_used_by_others(app, client, fake, repo):
    fake.tokens.clear()
    assert client.get(f"{REPO}/pulls/1")["number"] == 1
    other = app.client(fake.installations[0].id, repo.id, dict(PUBLISH) | RUN)
    assert other.get(f"{REPO}/pulls/1")["number"] == 1
    assert len(fake.asked("apps/create-installation-access-token")) == 2


def test_a_new_token_that_is_refused_too_is_an_error(client, fake, slept):
    fake.fault("GET", "/pulls/1$", Answer(401, {"message": "Bad credentials"}), times=2)
    with pytest.raises(GitHubError, match="401"):
        client.get(f"{REPO}/pulls/1")
    assert slept == []


@pytest.fixture
def set_clock(monkeypatch):
    """Lets the clock of the bot's requests, and not that of the fake, be wrong by some seconds."""

    def wrong_by(seconds: float) -> None:
        clock = SimpleNamespace(time=lambda: time.time() + seconds)
        for module in ("bot.github.client", "bot.github.app", "github.Auth"):
            monkeypatch.setattr(f"{module}.time", clock)

    return wrong_by


@pytest.mark.parametrize("seconds", [-3600, 3600])
def test_a_clock_that_is_an_hour_wrong(app, fake, repo, set_clock, seconds):
    """GitHub takes no key's token of another hour; what it answers says which hour it is."""
    set_clock(seconds)
    client = app.client(fake.installations[0].id, repo.id, PUBLISH)
    assert client.get(f"{REPO}/pulls/1")["number"] == 1
    app.client(fake.installations[0].id, repo.id, PUBLISH)
    refused, taken = fake.asked("apps/create-installation-access-token")
    assert (refused.status, taken.status) == (401, 201)


def test_the_end_of_a_limit_is_read_on_githubs_clock(client, fake, slept, set_clock):
    reset = f"{time.time() + 20:.0f}"
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": reset}
    fake.fault("GET", "/pulls/1$", Answer(403, {"message": "limit"}, headers))
    set_clock(-3600)
    assert client.get(f"{REPO}/pulls/1")["number"] == 1
    assert len(slept) == 1 and 15 < slept[0] < 30


def test_a_secondary_limit_is_waited_for_as_long_as_github_says(client, fake, slept):
    fake.secondary_limit("POST", "/reviews$", retry_after=17, times=2)
    client.post(f"{REPO}/pulls/1/reviews", {"body": "x", "event": "COMMENT"})
    assert slept == [17.0, 17.0]
    assert len(fake.repositories["octo/engine"].pulls[1].reviews) == 1


def test_a_secondary_limit_without_a_word_is_a_minute(client, fake, slept):
    fake.fault(
        "GET", "/pulls/1$", Answer(403, {"message": "You have exceeded a secondary rate limit."})
    )
    client.get(f"{REPO}/pulls/1")
    assert slept == [60.0]


def test_the_hourly_limit_is_waited_for_until_its_reset(client, fake, slept):
    fake.rate_remaining, fake.rate_reset = 0, time.time() + 2
    with pytest.raises(RateLimited):
        client.get(f"{REPO}/pulls/1")
    assert len(slept) == 3 and all(1.0 <= seconds <= 5.0 for seconds in slept)


def test_a_long_limit_is_not_for_a_worker_to_wait_for(client, fake, slept):
    fake.secondary_limit("GET", "/pulls/1$", retry_after=3600)
    with pytest.raises(RateLimited):
        client.get(f"{REPO}/pulls/1")
    assert slept == []


def test_a_refusal_is_final(client, fake, slept):
    with pytest.raises(GitHubError, match=r"403 .*not accessible"):
        client.post(f"{REPO}/statuses/{'0' * 40}", {"state": "success"})
    with pytest.raises(GitHubError, match="404"):
        client.get(f"{REPO}/pulls/99")
    assert slept == []
    assert [r.status for r in fake.requests[-2:]] == [403, 404]


def test_what_is_new_may_not_be_readable_yet(client, fake, slept):
    fake.fault("GET", "/pulls/1$", Answer(404, {"message": "Not Found"}), times=2)
    assert client.get_new(f"{REPO}/pulls/1")["number"] == 1
    with pytest.raises(GitHubError):
        client.get_new(f"{REPO}/pulls/99")


def test_all_pages(client, fake, repo):
    for n in range(230):
        people.comment(fake, repo, repo.pulls[1], "ada", f"comment {n}", send=False)
    assert [c["body"] for c in client.pages(f"{REPO}/issues/1/comments")] == [
        f"comment {n}" for n in range(230)
    ]


NO_ANSWERS = {
    "a page": Answer(200, b"<html>Sign in</html>", {"content-type": "text/html"}),
    "the half of one": Answer(200, b'{"id": 1, "bo', {"content-type": "application/json"}),
    "nothing": Answer(200, b""),
    "a list": Answer(200, []),
    "another object": Answer(200, {"status": "ok"}),
    "a redirection": Answer(307, {"message": "Moved Permanently", "url": "http://x.example"}),
}


@pytest.mark.parametrize("what", NO_ANSWERS)
def test_an_answer_that_is_not_githubs_says_nothing_of_a_write(client, fake, repo, slept, what):
    """A proxy gave it. What may be sent twice is; of the rest nobody knows."""
    comment = people.comment(fake, repo, repo.pulls[1], "ada", "before", send=False)
    fake.fault("PATCH", "/issues/comments/", NO_ANSWERS[what])
    client.patch(f"{REPO}/issues/comments/{comment.id}", {"body": "after"})
    assert comment.body == "after" and len(slept) == 1
    fake.fault("POST", "/reviews$", NO_ANSWERS[what])
    with pytest.raises(UncertainWrite):
        client.post(f"{REPO}/pulls/1/reviews", {"body": "x", "event": "COMMENT"}, key="id")
    assert len(slept) == 1


@pytest.mark.parametrize("what", ["a page", "the half of one", "nothing"])
def test_a_read_that_was_not_answered_by_github_is_repeated(client, fake, slept, what):
    fake.fault("GET", "/pulls/1$", NO_ANSWERS[what])
    assert client.get(f"{REPO}/pulls/1")["number"] == 1
    fake.fault("GET", "/pulls/1/comments$", NO_ANSWERS[what])
    assert list(client.pages(f"{REPO}/pulls/1/comments")) == []
    assert len(slept) == 2


@pytest.mark.parametrize("reset", ["soon", "nan", "1e300", ""])
def test_a_limit_whose_end_is_no_time_is_one_all_the_same(client, fake, reset):
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": reset}
    fake.fault("GET", "/pulls/1$", Answer(403, {"message": "limit"}, headers), times=9)
    with pytest.raises(GitHubError) as caught:
        client.get(f"{REPO}/pulls/1")
    assert is_transient(caught.value) and getattr(caught.value, "wait", 1) <= 3 * 3600


def test_an_unchanged_answer_costs_nothing(client, app, fake, repo):
    client.get(f"{REPO}/pulls/1")
    other = app.client(fake.installations[0].id, repo.id, PUBLISH)
    assert other.get(f"{REPO}/pulls/1")["title"] == "A change"
    assert fake.requests[-1].status == 304
    repo.pulls[1].title = "Another"
    assert other.get(f"{REPO}/pulls/1")["title"] == "Another"


def test_graphql_errors_are_errors(client, fake):
    with pytest.raises(GitHubError, match="Could not resolve"):
        client.graphql('{ repository(owner: "octo", name: "other") { nameWithOwner } }', {})
    limited = Answer(
        200, {"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}
    )
    fake.fault("POST", "/graphql", limited)
    with pytest.raises(RateLimited):
        client.graphql("{ viewer { login } }", {})


def test_tokens_are_used_again_and_renewed(app, fake, repo):
    installation = fake.installations[0].id
    first = app.token(installation, repo.id, ANALYSE)
    assert app.token(installation, repo.id, ANALYSE) == first
    assert app.token(installation, repo.id, PUBLISH) != first
    assert fake.tokens[first].repositories == frozenset({repo.id})
    next(t for t in app._tokens.values() if t.value == first).expires_at -= 3600
    assert app.token(installation, repo.id, ANALYSE) != first
    assert first not in repr(app._tokens)


def test_writes_are_a_second_apart_and_four_hundred_an_hour():
    now, slept = [0.0], []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    pace = RateLimiter(clock=lambda: now[0], sleep=sleep)
    moments = []
    for _ in range(1000):
        pace.wait()
        moments.append(now[0])
    assert all(b - a >= 1.0 for a, b in itertools.pairwise(moments))
    assert all(b - a >= 3600.0 for a, b in zip(moments, moments[400:], strict=False))
    assert moments[399] == 399.0


def logs(fake: FakeGitHub, repo: Repository) -> tuple[Job, Artifact]:
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("report.xml", "<testsuite/>")
    job, artifact = Job("test", log=b"2026 ok\n" * 1000), Artifact("report", zipped.getvalue())
    repo.runs.append(
        WorkflowRun("CI", "ci.yml", "0" * 40, "feature", jobs=[job], artifacts=[artifact])
    )
    return job, artifact


def test_logs_and_artifacts_come_from_elsewhere_without_our_token(app, fake, repo):
    job, artifact = logs(fake, repo)
    token = app.token(fake.installations[0].id, repo.id, READ_CI)
    assert download.job_log(fake.url, token, "octo/engine", job.id, 10_000) == job.log
    assert download.artifact(fake.url, token, "octo/engine", artifact.id, 10_000) == artifact.data
    with pytest.raises(download.TooLarge):
        download.job_log(fake.url, token, "octo/engine", job.id, 100)
    job.log_gone = True
    with pytest.raises(GitHubError) as caught:
        download.job_log(fake.url, token, "octo/engine", job.id, 10_000)
    assert caught.value.status == 410


@pytest.mark.parametrize(
    "address",
    [
        "http://localhost:{port}/_blobs/log/{id}",
        "http://169.254.169.254/latest/meta-data",
        "https://[::1]:{port}/",
        "ftp://files.example/log",
        "http://[::1",
        "/no/host",
        "",
    ],
)
@pytest.mark.parametrize("hops", [1, 2])
def test_a_log_comes_from_no_machine_that_only_the_service_can_reach(
    app, fake, repo, address, hops
):
    """Nor where the address that GitHub gave leads on to another."""
    job, _ = logs(fake, repo)
    token = app.token(fake.installations[0].id, repo.id, READ_CI)
    port = int(fake.url.rsplit(":", 1)[1])
    leads = Answer(302, None, {"location": address.format(port=port, id=job.id)})
    fake.fault("GET", "/logs$" if hops == 1 else "/_blobs/log/", leads)
    with pytest.raises(GitHubError):
        download.job_log(fake.url, token, "octo/engine", job.id, 10_000)
    assert len([r for r in fake.requests if r.path.startswith("/_blobs")]) == hops - 1


def test_a_clone_has_what_a_review_reads_and_no_token(app, fake, repo, tmp_path):
    checkouts = Checkouts(tmp_path / "clones", fake.url)
    token = app.token(fake.installations[0].id, repo.id, ANALYSE)
    clone, compared = checkouts.fetch("octo/engine", token, "main", repo.git.sha("feature"))
    assert compared.base == repo.git.sha("main")
    repo.git.commit("main", {"engine/step.py": "moved on\n"})
    again, later = checkouts.fetch("octo/engine", token, "main", repo.git.sha("feature"))
    assert (again, later) == (clone, compared)
    with BlobStore(Git(clone)) as blobs:
        _, head = open_trees(Git(clone), blobs, compared.base, compared.head)
        assert head.read("engine/step.py") == SMALL_HEAD.encode()
    for file in clone.rglob("*"):
        if file.is_file():
            assert token.encode() not in file.read_bytes(), file


def test_git_ends_at_once_where_a_clone_lacks_the_past(app, fake, repo, tmp_path):
    """A clone that is configured as a partial one is looked through for each file that it lacks."""
    token = app.token(fake.installations[0].id, repo.id, ANALYSE)
    before = repo.git.run("rev-parse", "main:engine/step.py")
    main = repo.git.commit("main", {"engine/step.py": "written anew\n"})
    head = repo.git.commit("later", {"engine/step.py": "once more\n"}, parent="main")
    checkouts = Checkouts(tmp_path / "clones", fake.url)
    for _ in range(2):
        clone, compared = checkouts.fetch("octo/engine", token, "main", head)
        assert compared.base == main
        assert Git(clone).attempt("cat-file", "-e", before) is None
        assert Git(clone).attempt("config", "--get-regexp", "promisor|partial") is None


def test_a_clone_has_the_past_where_that_is_asked_for(app, fake, repo, tmp_path):
    checkouts = Checkouts(tmp_path / "clones", fake.url)
    token = app.token(fake.installations[0].id, repo.id, ANALYSE)
    lines = ["first = 1\n", "second = 2\n", "third = 3\n"]
    wrote = repo.git.commit(
        "main", {":(exclude)old.py": "".join(lines), "other.py": "x = 1\n"}, "Write it (#7)"
    )
    repo.git.commit(
        "main", {":(exclude)old.py": "".join(lines) + "fourth = 4\n", "other.py": "x = 2\n"}
    )
    head = repo.git.commit("later", {":(exclude)old.py": lines[0] + "fourth = 4\n"}, parent="main")

    def blamed(*, with_past: bool) -> bytes | None:
        clone, compared = checkouts.fetch("octo/engine", token, "main", head, with_past=with_past)
        other = repo.git.run("rev-parse", f"{wrote}:other.py")
        assert Git(clone).attempt("cat-file", "-e", other) is None
        return Git(clone).attempt(
            "blame", "-l", "-s", "-L", "2,3", compared.base, "--", ":(exclude)old.py"
        )

    assert blamed(with_past=False) is None
    assert (blamed(with_past=True) or b"").count(wrote.encode()) == 2


def test_a_clone_is_told_which_commits_touched_what(app, fake, repo, tmp_path):
    checkouts = Checkouts(tmp_path / "clones", fake.url)
    token = app.token(fake.installations[0].id, repo.id, ANALYSE)
    clone, compared = checkouts.fetch("octo/engine", token, "main", repo.git.sha("feature"))
    touched = "log", "--format=%H", compared.head, "--", "engine/step.py"
    before, graphs = Git(clone).run(*touched), clone / "objects" / "info" / "commit-graphs"
    checkouts.index(clone)
    known = (graphs / "commit-graph-chain").read_text()
    checkouts.index(clone)
    assert (graphs / "commit-graph-chain").read_text() == known
    # One that was killed leaves its lock.
    (graphs / "commit-graph-chain.lock").touch()
    repo.git.commit("feature", {"engine/step.py": "moved on\n"})
    checkouts.fetch("octo/engine", token, "main", repo.git.sha("feature"))
    checkouts.index(clone)
    assert (graphs / "commit-graph-chain").read_text() != known
    assert Git(clone).run(*touched) == before
    assert Git(clone).attempt("commit-graph", "verify") is not None
    # A look at what the index says of the files, which git has no plain way to show.
    assert any(b"BDAT" in graph.read_bytes() for graph in graphs.glob("*.graph"))


def test_a_fetch_that_is_too_large_is_refused_and_leaves_nothing(app, fake, repo, tmp_path):
    noise = "".join(f"{random.random()}\n" for _ in range(200_000))
    head = repo.git.commit("large", {"noise.txt": noise}, parent="main")
    token = app.token(fake.installations[0].id, repo.id, ANALYSE)
    checkouts = Checkouts(tmp_path / "clones", fake.url, largest_mib=1)
    with pytest.raises(UserError) as caught:
        checkouts.fetch("octo/engine", token, "main", head)
    assert caught.value.as_data() == {"key": "fetch-too-large", "args": {"mib": "1"}}
    assert not [*tmp_path.rglob("tmp_pack_*")]
    checkouts.fetch("octo/engine", token, "main", repo.git.sha("feature"))
    Checkouts(tmp_path / "clones", fake.url).fetch("octo/engine", token, "main", head)


def test_clones_go_by_age_and_size_and_those_in_use_stay(app, fake, repo, tmp_path):
    checkouts = Checkouts(tmp_path / "clones", fake.url)
    token = app.token(fake.installations[0].id, repo.id, ANALYSE)
    clone, _ = checkouts.fetch("octo/engine", token, "main", repo.git.sha("feature"))
    assert checkouts.remove_unused(age=0.0, size=0) == 0
    two_days_ago = time.time() - 2 * 86_400
    os.utime(clone / "specbot.lock", (two_days_ago, two_days_ago))
    assert checkouts.remove_unused(age=30 * 86_400.0, size=1 << 30) == 0
    assert checkouts.remove_unused(age=30 * 86_400.0, size=1000) == 1
    assert not clone.exists()
    checkouts.fetch("octo/engine", token, "main", repo.git.sha("feature"))
    os.utime(clone / "specbot.lock", (two_days_ago, two_days_ago))
    assert checkouts.remove_unused(age=86_400.0, size=1 << 30) == 1


def test_git_failures_name_no_token(app, fake, repo, tmp_path):
    checkouts = Checkouts(tmp_path / "clones", fake.url)
    with pytest.raises(GitHubError) as caught:
        checkouts.fetch("octo/engine", "ghs_wrong0123456789", "main", repo.git.sha("feature"))
    assert "ghs_" not in str(caught.value)
    token = app.token(fake.installations[0].id, repo.id, ANALYSE)
    with pytest.raises(GitHubError, match="git"):
        checkouts.fetch("octo/engine", token, "main", "0" * 40)
    with pytest.raises(ValueError):
        checkouts.fetch("octo/engine", token, "main", "--upload-pack=touch /tmp/x")
