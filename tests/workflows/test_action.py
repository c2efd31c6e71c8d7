"""The review as a step of a workflow: a real process with an event's file, a checkout and the
workflow's token."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.action.publish import post
from bot.action.summary import workflow_commands, write_summary
from bot.comment_text import finding_mark, review_mark
from bot.errors import UserError
from bot.github.own_comments import PullPlace
from tests.fake_github import Answer, people, shapes
from tests.fake_github.state import Pull, Repository, Token
from tests.workflows.conftest import ROOT, SMALL_HEAD, dry_run


class Workflow:
    """Runs of a workflow for one pull request, each with a checkout of its own as `fetch-depth: 0`
    makes it."""

    def __init__(self, fake, repo: Repository, directory: Path) -> None:
        self.fake, self.repo, self.directory = fake, repo, directory
        self.runs = 0
        # What the machine has besides in its environment.
        self.environment: dict[str, str] = {}

    def run(
        self, pull: Pull, *args: str, event: dict | None = None, depth: str = "", **permissions: str
    ):
        """Run the step with a token that has `permissions`; gives the process, its output, and its
        summary."""
        self.runs += 1
        here = self.directory / str(self.runs)
        here.mkdir()
        (here / "event.json").write_text(json.dumps(self.event(pull) if event is None else event))
        self.checkout(here / "checkout", pull, depth)
        env = (
            {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
            | {
                "PYTHONPATH": str(ROOT),
                "GITHUB_API_URL": self.fake.url,
                "GITHUB_EVENT_NAME": "pull_request",
                "GITHUB_EVENT_PATH": str(here / "event.json"),
                "GITHUB_STEP_SUMMARY": str(here / "summary.md"),
                "GITHUB_TOKEN": self.token(permissions or {"pull_requests": "write"}),
                "GITHUB_WORKSPACE": str(here / "checkout"),
            }
            | self.environment
        )
        command = [sys.executable, "-m", "bot.action", *args]
        done = subprocess.run(
            command, env=env, cwd=here, capture_output=True, text=True, check=False
        )
        summary = here / "summary.md"
        return done, summary.read_text() if summary.exists() else ""

    def event(self, pull: Pull) -> dict:
        repository = {"full_name": self.repo.full_name}
        return {
            "action": "synchronize",
            "pull_request": shapes.pull(self.repo, pull),
            "repository": repository,
        }

    def token(self, permissions: dict[str, str]) -> str:
        value = f"ghs_workflow{len(self.fake.tokens)}"
        scope = frozenset({self.repo.id})
        self.fake.tokens[value] = Token(
            value, self.fake.installations[0].id, permissions, scope, time.time() + 3600
        )
        return value

    def checkout(self, folder: Path, pull: Pull, depth: str) -> None:
        subprocess.run(["git", "init", "-q", folder], check=True)
        wanted = [
            "+refs/heads/*:refs/remotes/origin/*",
            f"+refs/pull/{pull.number}/head:refs/remotes/pull/head",
        ]
        source = self.repo.git.directory.as_uri()
        subprocess.run(
            ["git", "fetch", "-q", *([depth] if depth else []), source, *wanted],
            cwd=folder,
            check=True,
        )


@pytest.fixture
def workflow(fake, tmp_path) -> Workflow:
    (tmp_path / "runs").mkdir()
    return Workflow(fake, fake.repository("octo/lantern"), tmp_path / "runs")


@pytest.fixture
def pull(fake, workflow, example) -> Pull:
    """The bundled example's pull request, with bugs in it."""
    workflow.repo.git.adopt(example.repo, main=example.base, feature=example.head)
    return people.open_pull(
        fake, workflow.repo, "feature", title=example.title, body=example.body, send=False
    )


def test_the_review_of_the_dry_run_is_posted_once(fake, workflow, pull, example, tmp_path):
    done, summary = workflow.run(pull, "--lang=en")
    assert (done.returncode, done.stderr) == (1, "")
    printed = dry_run(example, tmp_path)
    (review,) = pull.reviews
    assert json.dumps(review.payload, ensure_ascii=False, indent=2).encode() + b"\n" == printed
    assert len(pull.threads) >= 5
    assert (
        summary.startswith("The review was posted on the pull request.\n\n")
        and "protocol.unmasked-pack" in summary
    )
    place = "::error file=tests/output/test_process_batch_output.py,line=38,endLine=38,title=protocol.stale-fixture::"
    assert any(line.startswith(place) for line in done.stdout.splitlines())
    assert all(line.startswith("::") for line in done.stdout.splitlines())

    again, summary = workflow.run(pull, "--lang=en", "--fail-on=never")
    assert (again.returncode, len(pull.reviews)) == (0, 1)
    assert again.stdout == done.stdout
    assert summary.startswith("The same review stands on the pull request already")


@pytest.fixture
def small(fake, workflow) -> Pull:
    workflow.repo.git.commit("main", {"engine/step.py": "def step(x):\n    return x\n"})
    workflow.repo.git.commit("feature", {"engine/step.py": SMALL_HEAD}, parent="main")
    return people.open_pull(fake, workflow.repo, "feature", title="A change", send=False)


def test_a_token_that_may_only_read_gives_the_summary_and_the_exit_code_all_the_same(
    workflow, pull
):
    done, summary = workflow.run(pull, "--lang=zh", pull_requests="read", contents="read")
    assert (done.returncode, done.stderr) == (1, "")
    assert "::error file=" in done.stdout
    assert summary.startswith("本次运行的令牌不能写入 PR") and "protocol.stale-fixture" in summary
    assert not pull.reviews


def review_of(pull: Pull, *fingerprints: str) -> dict:
    comments = [
        {"path": "engine/step.py", "line": 5, "side": "RIGHT", "body": finding_mark(f) + "Look"}
        for f in fingerprints
    ]
    made = {"commit_id": pull.head_sha, "event": "COMMENT", "body": "Report", "comments": comments}
    return made | {"body": review_mark(made) + "Report"}


@pytest.mark.parametrize("contents", ["read", "write"])
def test_what_is_fixed_is_resolved_where_the_token_may_and_folded_elsewhere(
    fake, workflow, small, monkeypatch, contents
):
    monkeypatch.setenv(
        "GITHUB_TOKEN", workflow.token({"pull_requests": "write", "contents": contents})
    )
    monkeypatch.setenv("GITHUB_API_URL", fake.url)
    place, fingerprints = PullPlace("octo/lantern", 1), ["a" * 16, "b" * 16]
    assert (
        post(place, review_of(small, *fingerprints), [{"fingerprint": f} for f in fingerprints])
        == "action.posted"
    )
    sha = workflow.repo.git.commit("feature", {"engine/other.py": "x = 1\n"})
    people.push(fake, workflow.repo, small, sha, send=False)
    assert (
        post(place, review_of(small, fingerprints[1]), [{"fingerprint": fingerprints[1]}])
        == "action.posted"
    )
    assert [r.minimized for r in small.reviews] == ["OUTDATED", None]
    if contents == "write":
        assert [t.resolved_by for t in small.threads] == [fake.bot, None]
    else:
        assert [t.comments[0].minimized for t in small.threads] == ["RESOLVED", None]


def test_a_pull_request_that_went_on_is_left_alone(fake, workflow, small):
    event = workflow.event(small)
    people.push(
        fake,
        workflow.repo,
        small,
        workflow.repo.git.commit("feature", {"b.py": "b = 1\n"}),
        send=False,
    )
    done, summary = workflow.run(small, event=event)
    assert done.returncode == 0
    assert summary.startswith("The pull request has a newer commit or was closed")
    assert not small.reviews


def test_nothing_is_asked_of_github_where_nothing_is_to_be_posted(fake, workflow, small):
    asked = len(fake.requests)
    done, summary = workflow.run(small, "--post=none")
    assert (done.returncode, len(fake.requests)) == (0, asked)
    assert summary.startswith("## Summary")


def test_what_cannot_be_posted_still_stands_in_the_summary(fake, workflow, small):
    fake.fault("POST", "/reviews$", Answer(422, {"message": "Unprocessable Entity"}), times=2)
    done, summary = workflow.run(small)
    assert done.returncode == 2
    sentence = "the review could not be posted: 422 POST: Unprocessable Entity"
    assert done.stderr == f"specbot: error: {sentence}\n"
    assert summary.startswith(f"{sentence}\n\n## Summary")


@pytest.mark.parametrize(
    ("args", "event", "said"),
    [
        ([], {"issue": {}}, "the event `pull_request` is not about a pull request"),
        ([], [], "the event `pull_request` is not about a pull request"),
        (["--fail-on=sometimes"], None, "--fail-on"),
        (["--profile=nosuch"], None, "nosuch"),
    ],
)
def test_a_mistake_is_one_sentence(workflow, small, args, event, said):
    done, _ = workflow.run(small, *args, event=event)
    assert done.returncode == 2
    assert said in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_checkout_without_history_is_told(fake, workflow, small):
    people.push(
        fake,
        workflow.repo,
        small,
        workflow.repo.git.commit("feature", {"b.py": "b = 1\n"}),
        send=False,
    )
    done, _ = workflow.run(small, depth="--depth=1")
    assert done.returncode == 2 and "shallow" in done.stderr


def test_posting_needs_a_token(monkeypatch):
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    with pytest.raises(UserError, match="action-token"):
        post(PullPlace("octo/lantern", 1), {}, [])


def note(path: str, title: str, message: str) -> dict:
    at = {"start_line": 1, "end_line": 2}
    return {"path": path, "annotation_level": "failure", "title": title, "message": message} | at


TEXT = st.text() | st.text(st.sampled_from(":,%=\r\nACD025"))


@given(TEXT, TEXT, TEXT)
def test_no_text_becomes_a_command_of_its_own(path, title, message):
    """The runner splits lines and fields as its documentation says, and reads back what was
    meant."""
    printed = workflow_commands([note(path, title, message)])
    assert printed.count("\n") == 1 and printed.endswith("\n") and "\r" not in printed
    head, _, data = printed[:-1].removeprefix("::").partition("::")
    fields = dict(field.split("=", 1) for field in head.removeprefix("error ").split(","))
    assert list(fields) == ["file", "line", "endLine", "title"]
    assert (read_back(fields["file"]), read_back(fields["title"]), read_back(data)) == (
        path,
        title,
        message,
    )


def read_back(text: str) -> str:
    for escaped, meant in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(escaped, meant)
    return text


def test_a_summary_that_github_would_not_show_is_made_shorter(tmp_path):
    file = tmp_path / "summary.md"
    file.write_text("before\n")
    write_summary(str(file), "Posted.", "x" * 999_000, "short")
    write_summary(str(file), "Posted.", "字" * 400_000, "short")
    assert file.read_text() == "before\nPosted.\n\n" + "x" * 999_000 + "Posted.\n\nshort\n"
