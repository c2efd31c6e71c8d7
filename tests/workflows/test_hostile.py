"""Strangers at the door of a bot that runs: nothing privileged is done, and the bot goes on
answering."""

from __future__ import annotations

import json
import random
import stat
import uuid
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.bot.test_ci_collect import LOG, job, run_of
from tests.fake_github import FakeGitHub, people, shapes, webhooks
from tests.fake_github.state import Comment, Pull, Repository, WorkflowRun
from tests.workflows.conftest import Bot, ended, until
from tests.workflows.test_ci import said
from tests.workflows.test_commands import (
    WORKFLOW,
    answers,
    ask,
    failed,
    finish,
    fork_pull,
    kernels,
    ran,
    results,
)
from tests.workflows.test_hostile_input import alive

PRIVILEGED = (
    "actions/re-run",
    "actions/create-workflow-dispatch",
    "checks/rerequest",
    "checks/create",
    "pulls/create",
)


def done(fake: FakeGitHub, repo: Repository, since: int) -> list[str]:
    """What was asked of GitHub since then that changes more than a comment, in this repository: the
    bot may still work for an earlier test in that one's."""
    asked = [r for r in fake.requests[since:] if r.path.startswith(f"/repos/{repo.full_name}/")]
    return [r.operation for r in asked if r.operation.startswith(PRIVILEGED)]


def settled(fake: FakeGitHub, repo: Repository, pull: Pull) -> None:
    """Everything that came before has been dealt with: a later command is answered."""
    ask(fake, repo, pull, "/help", "grace")


@pytest.fixture
def victim(live, engine) -> Pull:
    """A pull request with a red job and a GPU workflow, by ada, who may write. mallory may read,
    eve nothing."""
    engine.roles |= {
        "ada": "write",
        "grace": "read",
        "mallory": "read",
        "triager": "triage",
        "eve": "none",
    }
    engine.workflows[WORKFLOW] = 5
    live.content_writes.clear()
    pull = people.open_pull(live, engine, "feature", send=False)
    ran(engine, pull, failed("unit"))
    return pull


BODIES = {
    "quoted": "> /re-run all-failed\n> /kernels",
    "continued": "> see\n/re-run all-failed",
    "fenced": "```\n/re-run all-failed\n/kernels\n```",
    "inline": "`/re-run all-failed`",
    "hidden": "<!--\n/re-run all-failed\n-->",
    "prose": "You could say /re-run all-failed or /kernels here",
    "homoglyph": "/re-run \u0430ll-failed".replace("/re", "/r\u0435"),
    "zero-width": "/re-run\u200b all-failed",
    "right-to-left": "/re-run \u202eall-failed",
    "full-width": "\uff0fre-run all-failed",
    "capitals": "/RE-RUN all-failed",
    "indented": "    /re-run all-failed",
    "separators": "a\u2028/re-run all-failed\u2029/kernels\x0c/kernels",
    "empty lines": "\n" * 60_000,
    "backticks": "`" * 65_000,
    "quotes": ">" * 65_000,
    "comments": "<!--" * 16_000,
}


def test_comments_that_are_no_commands(live, engine, victim):
    since = len(live.requests)
    for body in BODIES.values():
        people.comment(live, engine, victim, "ada", body)
    settled(live, engine, victim)
    assert done(live, engine, since) == []
    assert len([c for c in victim.comments if c.user is live.bot]) == 1
    assert [c.reactions for c in victim.comments[: len(BODIES)]] == [[]] * len(BODIES)


@pytest.mark.hostile("logins")
@pytest.mark.parametrize("who", ["mallory", "triager", "eve", "nobody-ever-saw"])
def test_who_may_not_write_starts_nothing(live, engine, victim, who):
    engine.roles.setdefault(who, "none")
    since = len(live.requests)
    body = f"/re-run all-failed\n/re-run unit\n/kernels\n/kernels {victim.head_sha}"
    answer = ask(live, engine, victim, body, who, 4)
    assert answer.count("Not done") == 4
    assert done(live, engine, since) == []


def event(live: FakeGitHub, engine: Repository, pull: Pull, **changes: Any) -> None:
    """The webhook of a comment that says `/re-run all-failed`, by ada, but for `changes`."""
    made = Comment(live.user("ada"), "/re-run all-failed\n/kernels")
    known: dict[str, Any] = {
        "issue": shapes.issue(engine, pull),
        "comment": shapes.comment(engine, made),
    }
    known |= {"action": "created"}
    for path, value in changes.items():
        at = known
        *outer, last = path.split("__")
        for name in outer:
            at = at[name]
        at[last] = value
    if known["action"] == "edited":
        known["changes"] = {"body": {"from": "Thanks"}}
    people.webhook(live, engine, "issue_comment", known, "ada")


def test_webhooks_that_are_no_persons_word(live, engine, victim):
    since = len(live.requests)
    event(live, engine, victim, action="edited")
    event(live, engine, victim, action="deleted")
    event(live, engine, victim, comment__user=shapes.user(live.bot))
    event(live, engine, victim, sender=shapes.user(live.user("mallory")))
    settled(live, engine, victim)
    assert done(live, engine, since) == []


def test_what_was_renamed_or_claimed_is_not_believed(live, engine, victim):
    """Another account has ada's old name, and the payload calls its author an owner."""
    since = len(live.requests)
    impostor = shapes.user(live.user("ada")) | {"id": 999_999}
    made = Comment(live.user("ada"), "/re-run all-failed")
    victim.comments.append(made)
    told = shapes.comment(engine, made) | {"user": impostor, "author_association": "OWNER"}
    known = {
        "action": "created",
        "issue": shapes.issue(engine, victim),
        "comment": told,
        "sender": impostor,
    }
    people.webhook(live, engine, "issue_comment", known, "ada")
    until(lambda: answers(live, victim, made))
    assert "only those who may write" in answers(live, victim, made)[0]
    assert done(live, engine, since) == []


def test_a_replay_does_nothing_twice(live, engine, victim):
    ask(live, engine, victim, "/re-run unit")
    delivery = next(d for d in reversed(live.deliveries) if d.event == "issue_comment")
    count = len(victim.comments)
    webhooks.attempt(live, delivery)
    for _ in range(5):
        delivery.guid = str(uuid.uuid4())
        webhooks.attempt(live, delivery)
    settled(live, engine, victim)
    assert len(engine.reruns) == 1
    assert len(victim.comments) == count + 2


def forged(running: Bot, body: bytes, **headers: str) -> int:
    """The status of a webhook that GitHub did not send."""
    known = {"x-github-event": "issue_comment", "x-github-delivery": str(uuid.uuid4())}
    with httpx.Client(trust_env=False, verify=False, timeout=60) as http:
        return http.post(
            f"{running.url}/webhook", content=body, headers=known | headers
        ).status_code


def signed(running: Bot, body: bytes, secret: str = "s3cret", **headers: str) -> int:
    return forged(running, body, **{SIGNATURE: webhooks.signature(secret, body)} | headers)


SIGNATURE = "x-hub-signature-256"
GENUINE = b'{"action": "created"}'
GOOD = webhooks.signature("s3cret", GENUINE)
FORGERIES: dict[str, Callable[[Bot], int]] = {
    "no signature": lambda b: forged(b, GENUINE),
    "an empty one": lambda b: forged(b, GENUINE, **{SIGNATURE: ""}),
    "a guess": lambda b: forged(b, GENUINE, **{SIGNATURE: "sha256=" + "0" * 64}),
    "another secret": lambda b: signed(b, GENUINE, "guess"),
    "the empty secret": lambda b: signed(b, GENUINE, ""),
    "of another body": lambda b: forged(b, GENUINE + b" ", **{SIGNATURE: GOOD}),
    "SHA-1": lambda b: forged(b, GENUINE, **{"x-hub-signature": "sha1=" + "0" * 40}),
    "without its prefix": lambda b: forged(b, GENUINE, **{SIGNATURE: GOOD[7:]}),
    "in capitals": lambda b: forged(b, GENUINE, **{SIGNATURE: GOOD.upper()}),
    "no digits": lambda b: forged(b, GENUINE, **{SIGNATURE: "sha256=" + "z" * 64}),
}


@pytest.mark.hostile("webhooks")
@pytest.mark.parametrize("what", FORGERIES)
def test_a_signature_that_is_none(live, running, what):
    assert FORGERIES[what](running) == 401


DEEP = 100_000
MALFORMED = {
    "nothing": b"",
    "no JSON": b"{",
    "no UTF-8": b'{"action": "\xff"}',
    "a list": b"[]",
    "a string": b'"created"',
    "deep lists": b"[" * DEEP + b"]" * DEEP,
    "deep objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "a long number": b'{"a": ' + b"9" * 10_000 + b"}",
}


@pytest.mark.hostile("webhooks")
@pytest.mark.parametrize("what", MALFORMED)
def test_signed_and_malformed(live, running, what):
    assert signed(running, MALFORMED[what]) == 400


def test_signed_and_strange(live, running):
    """Keys without end, a key twice, a body for another event: taken, and nothing comes of it."""
    wide = json.dumps({f"k{n}": n for n in range(200_000)}).encode()
    assert signed(running, wide) == 202
    assert signed(running, b'{"action": "created", "action": "edited", "comment": {}}') == 202
    assert signed(running, GENUINE, **{"x-github-event": "no_such_event"}) == 202
    assert signed(running, GENUINE, **{"x-github-event": "x" * 100}) == 400
    assert signed(running, GENUINE, **{"x-github-delivery": "x" * 100}) == 400
    assert signed(running, b"x" * (26 << 20)) == 413


_MEGABYTES = 24 << 20
LARGE = {
    "one key": b'"action": "created",',
    "lists in lists": b'"a": ' + b"[" * 500 + b"]" * 500 + b",",
    "numbers": b'"a": [' + b"1," * 999 + b"1],",
    "escapes": b'"' + b"\\ud83d\\ude00" * 100 + b'": "",',
}


@pytest.mark.hostile("webhooks")
@pytest.mark.parametrize("what", LARGE)
def test_signed_and_as_large_as_may_be(live, running, what):
    """It is taken, nothing comes of it, and others are answered."""
    part = LARGE[what]
    body = b"{" + part * (_MEGABYTES // len(part)) + b'"end": 1}'
    assert signed(running, body) == 202
    with httpx.Client(trust_env=False, verify=False, timeout=10) as http:
        assert http.get(f"{running.url}/healthz").status_code == 200
        assert http.get(f"{running.url}/readyz").status_code == 200


def test_a_fork_whose_branch_is_called_like_ours(live, engine, victim):
    """Its code is a stranger's though the branch has a name of ours, and though it changes the
    workflow and the configuration that would run it."""
    pull = fork_pull(live, engine)
    evil = {
        WORKFLOW: "on: workflow_dispatch\n",
        ".specbot.toml": '[[gpu_job]]\nname = "x"\nworkflow = "evil.yml"\n',
    }
    sha = pull.head_repo.git.commit("feature", evil)
    people.push(live, engine, pull, sha, send=False)
    since = len(live.requests)
    assert "name the commit" in ask(live, engine, pull, "/kernels")
    assert "name the commit" in ask(live, engine, pull, "/kernels x")
    assert "not the head commit" in ask(live, engine, pull, f"/kernels {victim.head_sha}")
    assert done(live, engine, since) == []
    ask(live, engine, pull, f"/kernels {sha}")
    (asked,) = engine.dispatches
    assert (asked.workflow, asked.ref, asked.inputs["base"]) == (
        WORKFLOW,
        "main",
        engine.git.sha("main"),
    )


def test_an_author_without_write_on_our_own_branch(live, engine, victim):
    """People who may only read can open a pull request from a branch that exists."""
    pull = people.open_pull(live, engine, "feature", author="mallory", send=False)
    assert "name the commit" in ask(live, engine, pull, "/kernels")
    assert engine.dispatches == []


def test_runs_that_are_not_ours_are_not_reported(live, engine, victim):
    """Somebody who may write starts the same workflow, with a result of their own."""
    run = WorkflowRun(
        WORKFLOW, WORKFLOW, engine.git.sha("main"), "main", "workflow_dispatch", "queued", None
    )
    run.display_title = str(uuid.uuid4())
    engine.runs.append(run)
    since = len(live.requests)
    finish(live, engine, run, "success", results(engine.git.sha("main"), victim.head_sha))
    settled(live, engine, victim)
    assert done(live, engine, since) == [] and kernels(engine, victim) == []


def test_marks_that_others_write_are_not_ours(live, engine, victim):
    """A copy of the mark under the comment does not become our answer, and is not edited."""
    people.comment(live, engine, victim, "mallory", "x", send=False)
    guess = victim.comments[-1].id + 1
    for n in range(guess, guess + 4):
        copy = Comment(live.user("mallory"), f"<!-- specbot:answer {n} 0 -->\n\nApproved!")
        victim.comments.append(copy)
    answer = ask(live, engine, victim, "/help", "grace")
    assert "lists the commands" in answer
    assert all(not c.edits for c in victim.comments)


def test_names_of_jobs_are_text(live, engine, victim):
    """A workflow of the pull request names its job to call somebody, to open a tag, to be our
    mark."""
    names = [
        "@octo/all <img src=x>",
        "<!-- specbot:answer 1 0 -->",
        "`x` [y](https://evil.example)",
        "a | b #1",
    ]
    for name in names:
        ran(engine, victim, failed(name), name=name[:20])
    answer = ask(live, engine, victim, "/re-run all-failed")
    assert answer.count("running again") == 5
    for living in ("@octo", "<img", "<!--", "](http"):
        assert living not in alive(answer)


def test_tokens_are_narrow(live, engine, victim):
    """The right to start runs is asked for alone, and only when a run was started."""
    known = set(live.tokens)
    ask(live, engine, victim, "/re-run all-failed\n/kernels", "mallory", 2)
    here = [
        t
        for v, t in list(live.tokens.items())
        if v not in known and (not t.repositories or engine.id in t.repositories)
    ]
    mine = [t for t in here if set(t.permissions) != {"metadata"}]
    assert mine and all(t.permissions.get("actions", "read") == "read" for t in mine)
    assert all(t.repositories == frozenset({engine.id}) for t in mine)
    ask(live, engine, victim, "/re-run unit")
    made = [
        t
        for v, t in list(live.tokens.items())
        if v not in known and t.repositories == frozenset({engine.id})
    ]
    strong = [t for t in made if t.permissions.get("actions") == "write"]
    assert [set(t.permissions) for t in strong] == [{"metadata", "actions"}]


def test_a_closed_pull_request_and_a_draft(live, engine, victim):
    victim.state = "closed"
    since = len(live.requests)
    answer = ask(live, engine, victim, "/re-run unit\n/kernels\n/review", "ada", 3)
    assert answer.count("is closed") == 3
    victim.state, victim.draft = "open", True
    assert "is a draft" in ask(live, engine, victim, "/review")
    assert done(live, engine, since) == []


def test_more_commands_than_anybody_needs(live, engine, victim):
    body = "\n".join(f"/explain {n}" for n in range(500))
    made = people.comment(live, engine, victim, "mallory", body)
    until(lambda: any("were not done" in c.body for c in victim.comments))
    assert len(answers(live, victim, made)) == 6


@pytest.fixture
def large(repo) -> Repository:
    """A repository with a branch of a file of some megabytes."""
    noise = "".join(f"{random.random()}\n" for _ in range(200_000))
    repo.git.commit("large", {"engine/noise.txt": noise}, parent="main")
    return repo


def test_a_repository_that_would_fill_the_disk_is_refused_on_the_check(fake, bot, large):
    """And what the service keeps is its owner's alone."""
    repo = large
    bot.start(SPECBOT_LARGEST_FETCH_MIB="1")
    pull = people.open_pull(fake, repo, "large")
    until(lambda: ended(repo, pull.head_sha))
    (check,) = repo.check_runs
    assert check.conclusion == "action_required"
    assert "1 MiB" in check.summary
    assert not [*bot.clone(repo).rglob("tmp_pack_*")]
    data = bot.directory / "data"
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    assert stat.S_IMODE((data / "specbot.sqlite").stat().st_mode) == 0o600


def test_whatever_else_fetches_too_much_says_so(fake, bot, large):
    """The merge queue's check, a command, and the report on CI, which goes on without the change."""
    bot.start(SPECBOT_LARGEST_FETCH_MIB="1", SPECBOT_CI_GATHER="0.5")
    large.roles["ada"] = "write"
    pull = people.open_pull(fake, large, "large", draft=True, send=False)
    group = {"head_sha": pull.head_sha, "base_ref": "refs/heads/main"}
    queued = {"action": "checks_requested", "merge_group": group}
    people.webhook(fake, large, "merge_group", queued, "ada")
    until(lambda: ended(large, pull.head_sha))
    (check,) = large.check_runs
    assert check.conclusion == "action_required" and "1 MiB" in check.summary
    assert "1 MiB" in ask(fake, large, pull, "/kernels")
    assert large.dispatches == []
    run_of(large, job("unit", "failure", log=LOG), head_sha=pull.head_sha)
    ask(fake, large, pull, "/ci")
    assert "AssertionError: packed 3" in said(pull) and "`largest_fetch_mib`" in said(pull)


def test_a_gpu_worker_that_may_not_fetch_as_much_says_so(fake, bot, large):
    """It has clones of its own."""
    large.roles["ada"] = "write"
    bot.settings["SPECBOT_LOCAL_KERNELS"] = "cpu"
    pull = people.open_pull(fake, large, "large", draft=True, send=False)
    bot.start("--role", "web")
    bot.run("worker", "--queues", "commands")
    own = {"SPECBOT_DATA_DIR": f"{bot.directory}/gpu", "SPECBOT_DATABASE_URL": bot.database}
    bot.run("worker", "--queues", "gpu", SPECBOT_LARGEST_FETCH_MIB="1", **own)
    ask(fake, large, pull, "/kernels verify")
    until(lambda: kernels(large, pull)[-1].status == "completed")
    check = kernels(large, pull)[-1]
    assert check.conclusion == "failure" and "1 MiB" in check.summary
