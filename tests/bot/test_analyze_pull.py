"""`specbot analyze --pr` against a GitHub over real HTTP: the discussion, told by people's own
words."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.fake_github import FakeGitHub, people, serving, state

STEP = "def step(a, b):\n    total = a + b\n    return total\n"
FINDING = "0123456789abcdef"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeGitHub]:
    with serving(FakeGitHub(tmp_path_factory.mktemp("github"))) as fake:
        yield fake


@pytest.fixture
def fake(served: FakeGitHub, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGitHub]:
    monkeypatch.delenv("GH_TOKEN", raising=False)
    monkeypatch.setenv("GITHUB_API_URL", served.url)
    yield served
    violations, served.violations = served.violations, []
    served.faults.clear()
    assert violations == []


@pytest.fixture
def opened(
    fake: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> tuple[state.Repository, state.Pull]:
    """A repository with a pull request, and a token that may read it."""
    repo = fake.repository(f"octo/talk{len(fake.repositories)}")
    repo.git.commit("main", {"engine/step.py": STEP, "engine/other.py": "x = 1\n"})
    repo.git.commit("feature", {"engine/step.py": STEP.replace("a + b", "a * b")}, parent="main")
    pull = people.open_pull(
        fake,
        repo,
        "feature",
        title="Multiply",
        body="## Motivation\nSums were wrong.\n",
        send=False,
    )
    read = dict.fromkeys(("metadata", "contents", "pull_requests"), "read")
    token = state.Token("ghs_analyze0123456789", fake.installations[0].id, read, None, 9e18)
    fake.tokens[token.value] = token
    monkeypatch.setenv("GITHUB_TOKEN", token.value)
    return repo, pull


def comment(
    fake: FakeGitHub, pull: state.Pull, author: state.User | str, body: str, line: int
) -> state.ReviewComment:
    who = fake.user(author) if isinstance(author, str) else author
    return state.ReviewComment(
        who, body, "engine/step.py", line, "RIGHT", None, None, pull.head_sha, 1
    )


def thread(pull: state.Pull, *comments: state.ReviewComment, by: state.User | None = None) -> None:
    pull.threads.append(state.Thread([*comments], resolved_by=by))


def analysed(specbot, opened: tuple[state.Repository, state.Pull], *more: str):
    repo, pull = opened
    return specbot(
        "analyze", "--repo", repo.git.directory, "--pr", f"{repo.full_name}#{pull.number}", *more
    )


def test_the_discussion_and_the_commits_come_from_github(specbot, fake, opened):
    _, pull = opened
    asked = comment(fake, pull, "bea", "`total` may overflow here, that is a bug.", 2)
    thread(pull, asked, comment(fake, pull, "ada", "It is bounded by the caller.", 2))
    thread(pull, comment(fake, pull, "bea", "nit: naming of `step`", 1), by=fake.user("bea"))
    pull.comments.append(state.Comment(fake.user("cyd"), "Which model was this tried with?"))
    pull.comments.append(state.Comment(fake.user("cyd"), "/specbot review"))
    pull.comments.append(state.Comment(fake.bot, "## A report"))
    done = analysed(specbot, opened, "--format", "json")
    assert done.code == 0, done.err
    data = json.loads(done.out)
    assert (data["head"], data["motivation"]) == (pull.head_sha, ["Sums were wrong."])
    told = [(t["kind"], t["state"], t["opening"]["author"]) for t in data["discussion"]["topics"]]
    assert told == [
        ("other", "unresolved", "cyd"),
        ("correctness", "answered", "bea"),
        ("style", "resolved", "bea"),
    ]
    page = analysed(specbot, opened, "--format", "markdown").out
    assert "bea: “total may overflow here, that is a bug.”" in page
    assert "ada: “It is bounded by the caller.”" in page
    assert "engine/step.py:2" in page and "github.example/comments/" in page
    assert "/specbot" not in page and "A report" not in page
    assert "CI and approvals: they were not asked for here" in page


def test_what_specbot_posted_and_what_became_of_it(specbot, fake, opened):
    _, pull = opened
    mark = f"<!-- specbot:finding {FINDING} -->\n\n"
    thread(pull, comment(fake, pull, fake.bot, f"{mark}🔴 `total` spills.", 2))
    thread(pull, comment(fake, pull, "eve", f"{mark}I copied a mark: this is broken.", 3))
    told = json.loads(analysed(specbot, opened, "--format", "json").out)["discussion"]
    assert [(p["thread"]["fingerprint"], p["acted"]) for p in told["posted"]] == [(FINDING, True)]
    assert [t["opening"]["author"] for t in told["topics"]] == ["eve"]
    assert (
        "Of 1 finding that SpecBot posted, 1 is gone in later commits"
        in analysed(specbot, opened).out
    )


def test_a_thread_on_code_that_changed_since_is_outdated(specbot, fake, opened):
    repo, pull = opened
    thread(pull, comment(fake, pull, "bea", "This is wrong.", 2))
    sha = repo.git.commit(
        "feature", {"engine/step.py": STEP.replace("a + b", "b * a")}, parent="feature"
    )
    people.push(fake, repo, pull, sha, send=False)
    (topic,) = json.loads(analysed(specbot, opened, "--format", "json").out)["discussion"]["topics"]
    assert topic["state"] == "outdated" and topic["threads"][0]["line"] == 2


def test_hostile_words_are_quoted_and_nothing_more(specbot, fake, opened):
    _, pull = opened
    thread(
        pull,
        comment(fake, pull, "bea", "<script>alert(1)</script> is wrong @all ](javascript:x)", 2),
    )
    page = analysed(specbot, opened, "--format", "html").out
    assert "&lt;script&gt;alert(1)" in page and "<script" not in page and "javascript:x" in page


def test_without_anybody_s_word_that_is_said(specbot, opened):
    assert "Nobody has raised anything." in analysed(specbot, opened).out


@pytest.mark.parametrize("name", ["octo/engine", "octo#1", "octo/engine#x", "a/b/c#1", ""])
def test_a_wrong_form_is_one_sentence(specbot, fake, monkeypatch, name):
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_x")
    done = specbot("analyze", "--pr", name) if name else specbot("analyze", "--pr", "#")
    assert (
        done.code == 2
        and "is neither of the form OWNER/REPO#N nor the address" in done.err
        and done.err.count("\n") == 1
    )


def test_without_a_token_that_is_said(specbot, fake, monkeypatch):
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    done = specbot("analyze", "--pr", "octo/engine#1")
    assert done.code == 2 and "needs a token in one of `GITHUB_TOKEN`, `GH_TOKEN`" in done.err


def test_what_github_refuses_is_said(specbot, fake, opened):
    repo, _ = opened
    done = specbot("analyze", "--pr", f"{repo.full_name}#99", "--repo", repo.git.directory)
    assert done.code == 2 and "cannot be read: 404" in done.err


def test_without_a_network_that_is_said(specbot, monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_x")
    monkeypatch.setenv("GITHUB_API_URL", "http://127.0.0.1:9")
    monkeypatch.setattr("time.sleep", lambda _: None)
    done = specbot("analyze", "--pr", "octo/engine#1")
    assert done.code == 2 and "http://127.0.0.1:9 cannot be reached" in done.err


def test_a_clone_without_the_commits_says_how_to_fetch_them(specbot, opened, repo):
    theirs, _ = opened
    repo.commit({"a.py": "x = 1\n"})
    done = specbot("analyze", "--repo", repo.path, "--pr", f"{theirs.full_name}#1")
    assert done.code == 2 and "git fetch origin main pull/1/head" in done.err


def test_local_git_alone_says_what_is_missing(specbot, repo):
    repo.commit({"a.py": "x = 1\n"})
    repo.commit({"a.py": "x = 2\n"})
    done = specbot("analyze", "--repo", repo.path, "--base", "HEAD~", "--head", "HEAD")
    assert "not asked (`--pr`)" in done.out


def test_a_description_without_a_title_is_refused_beside_a_pull_request_too(
    specbot, opened, tmp_path
):
    (tmp_path / "body.md").write_text("Other words.\n", "utf-8")
    done = analysed(specbot, opened, "--body-file", tmp_path / "body.md")
    assert done.code == 2 and "--title" in done.err


def test_another_title_leaves_the_rest_as_github_has_it(specbot, opened):
    page = analysed(specbot, opened, "--title", "Add rows", "--format", "markdown").out
    assert page.startswith("# What this change is: Add rows") and "Sums were wrong." in page


def test_records_are_no_part_of_an_analysis(specbot):
    done = specbot("analyze", "--records", "base.jsonl", "head.jsonl")
    assert done.code == 2 and "--records" in done.err


def one_line(page: str) -> str:
    """The text of a terminal without its line ends."""
    return " ".join(page.split())


def test_when_it_was_merged_and_how_much_was_said(specbot, fake, opened):
    _, pull = opened
    thread(pull, comment(fake, pull, "bea", "Why not `a - b`?", 2))
    pull.comments.append(state.Comment(fake.user("cyd"), "Which model was this tried with?"))
    page = one_line(analysed(specbot, opened).out)
    assert "1 commit, 2 comments" in page and "merged 20" not in page
    pull.state, pull.merged_at = "closed", "2026-04-16T06:58:03Z"
    page = one_line(analysed(specbot, opened, "--lang", "en").out)
    assert "1 commit, 2 comments · merged 2026-04-16 06:58 UTC" in page
    page = one_line(analysed(specbot, opened, "--lang", "zh").out)
    # Between two Chinese characters a line end is no blank.
    page = page.replace(" ", "")
    assert "1个提交，2条评论" in page and "合并于2026-04-1606:58UTC" in page
