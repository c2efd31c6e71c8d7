"""Dialogues about a repository's own GPU jobs: their tests and logprobs, and what becomes the
baseline."""

from __future__ import annotations

import io
import json
import threading
import time
import zipfile
from collections.abc import Mapping

import httpx
import numpy as np
import pytest

from bot.logprobs.accept import move
from checks.logprobs.jsonl import write
from checks.logprobs.record import Record, RecordOrigin, prompt_hash
from tests.fake_github import people
from tests.fake_github.state import Pull
from tests.workflows.conftest import SMALL_HEAD, ended, until
from tests.workflows.test_commands import answers, ask, finish, kernels

CONFIG = """
[[gpu_job]]
name = "e2e"
workflow = "e2e.yml"
minutes = 5
junit = "report.xml"
logprobs = "head.jsonl"
paths = ["engine/ops/**"]
"""
PASSED = b'<testsuite><testcase classname="tests.test_ops" name="test_a"/></testsuite>'
FAILED = b'<testsuite><testcase classname="tests.test_ops" name="test_a"><failure message="got | 3"/></testcase></testsuite>'


def records(last: float = -2.0) -> bytes:
    table = np.array([[1, 2], [3, 4]])
    scores = np.array([[-0.5, -1.0], [-0.25, last]])
    origin = RecordOrigin("small", "raw", "H200", "engine", "1.0", "bfloat16")
    return write(
        Record(
            "a",
            table[:, 0].copy(),
            scores[:, 0].copy(),
            table,
            scores,
            prompt_hash("p"),
            "p",
            origin=origin,
        )
    )


def archive(files: Mapping[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        for name, data in files.items():
            file.writestr(name, data)
    return made.getvalue()


@pytest.fixture
def pull(live, engine) -> Pull:
    """A pull request by ada, who may write, in a repository with a job of its own."""
    engine.roles |= {"ada": "write", "mallory": "read", "grace": "read"}
    engine.workflows[".github/workflows/e2e.yml"] = 6
    engine.git.commit("main", {".specbot.toml": CONFIG})
    engine.git.commit("own", {"engine/step.py": SMALL_HEAD}, parent="main")
    live.content_writes.clear()
    return people.open_pull(live, engine, "own", send=False)


@pytest.fixture
def run(live, engine, pull):
    """Run the job to its end with these files; the title of its check run."""

    def ran(conclusion: str = "success", **files: bytes) -> str:
        ask(live, engine, pull, "/kernels e2e")
        check = kernels(engine, pull)[-1]
        names = {"report": "report.xml", "head": "head.jsonl"}
        told = json.dumps({"base": engine.git.sha("main"), "head": pull.head_sha}).encode()
        data = archive({"kernels.json": told} | {names[name]: text for name, text in files.items()})
        finish(live, engine, engine.runs[-1], conclusion, data)
        until(lambda: check.status == "completed" and reported(check.title or ""))
        return check.title or ""

    def reported(title: str) -> bool:
        return any(title in comment.body for comment in pull.comments)

    return ran


def test_tests_and_logprobs_are_reported_and_accepted(live, engine, pull, run):
    assert "no GPU run of the head commit" in ask(
        live, engine, pull, "/baseline accept the first one"
    )
    assert (
        run(report=PASSED, head=records())
        == "There are logprob records and nothing to compare them with"
    )
    assert "1 passed" in pull.comments[-1].body
    assert "needs write access" in ask(
        live, engine, pull, "/baseline accept the first one", "mallory"
    )
    assert "give a reason" in ask(live, engine, pull, "/baseline accept")
    assert "say `/baseline accept`" in ask(live, engine, pull, "/baseline drop it all")
    answer = ask(live, engine, pull, "/baseline accept the *first* one")
    assert "1 request, by `ada`, because: the \\*first\\* one" in answer
    assert (
        "specbot logprobs accept head.jsonl --store DIR --who ada --why 'the *first* one'" in answer
    )
    assert "nothing changed" in ask(live, engine, pull, "/baseline accept the first one")
    assert run(report=PASSED, head=records()) == "The run on the GPU found nothing wrong"
    assert (
        run(report=PASSED, head=records(last=-2.5))
        == "Logprobs differ from what they were, and a person has to look"
    )
    assert "against the accepted baseline" in pull.comments[-1].body
    answer = ask(live, engine, pull, "/baseline accept the kernel is more precise now")
    assert "The comparison before said" in answer


def test_a_run_that_ends_before_its_answer_stands(live, engine, pull):
    """GitHub takes the answer to the command slowly; the report waits for it, stands in its place,
    and not beside it."""

    taken = threading.Event()

    def slowly() -> None:
        finish(live, engine, engine.runs[-1], "failure", None)
        time.sleep(3.0)  # the report has begun
        taken.set()

    live.fault("POST", f"/issues/{pull.number}/comments$", slowly)
    made = people.comment(live, engine, pull, "ada", "/kernels e2e")
    assert taken.wait(60)
    time.sleep(1.0)
    until(lambda: any("did not end well" in answer for answer in answers(live, pull, made)))
    assert len(answers(live, pull, made)) == 1
    assert [check.status for check in kernels(engine, pull)] == ["completed"]


def test_a_baseline_moved_by_who_was_killed_before_it_was_written_down(tmp_path):
    """The same order finds what it did; another finds that nothing is left to do."""
    (tmp_path / "head.jsonl").write_bytes(records())

    def moved(order: str) -> dict[str, object]:
        said = {
            "accepted": "2026-01-01T00:00:00Z",
            "who": "ada",
            "why": "better",
            "verdict": None,
            "order": order,
        }
        return move(tmp_path / "store", str(tmp_path / "head.jsonl"), said)

    first = moved("comment-1-0")
    assert first["old"] is None and moved("comment-1-0") == first
    other = moved("comment-2-0")
    assert other["old"] == other["new"] == first["new"]


def test_a_test_that_failed_is_named(run, pull):
    assert run("failure", report=FAILED, head=records()) == "Tests failed on the GPU"
    assert "- `tests/test_ops.py::test_a`: `got | 3`" in pull.comments[-1].body


def test_what_was_to_come_and_did_not(run, pull):
    assert run(head=records()) == "The run on the GPU left no results"
    assert "`report.xml`" in pull.comments[-1].body


def test_who_asks_too_often_is_told_so(live, engine, pull):
    for _ in range(6):
        ask(
            live,
            engine,
            pull,
            "/help\n/explain a\n/explain b\n/explain c\n/explain d",
            "grace",
            count=5,
        )
    assert "more than 30 commands within an hour" in ask(live, engine, pull, "/help", "grace")
    assert "lists the commands" in ask(live, engine, pull, "/help", "mallory")


def test_what_touches_its_paths_runs_when_only_trusted_people_could_push_it(live, engine, pull):
    files = {"engine/ops/new.py": "x = 1\n"}
    engine.git.commit("ops", files, parent="main")
    fork = live.repository(f"mallory/{engine.name}", installed=False, fork=True)
    fork.git.adopt(engine.git.directory, main=engine.git.sha("main"))
    fork.git.commit("ops", files, parent="main")
    theirs = people.open_pull(live, engine, "ops", fork=fork, author="mallory")
    until(lambda: ended(engine, theirs.head_sha))
    ours = people.open_pull(live, engine, "ops")
    until(lambda: any("`/kernels e2e`" in c.body for c in ours.comments))
    assert [d.inputs["head"] for d in engine.dispatches] == [ours.head_sha]
    people.edit(live, engine, ours, title="[Again]")  # a title of no words is found
    untouched = people.open_pull(live, engine, "own")
    until(
        lambda: (
            ended(engine, untouched.head_sha)
            and len(ours.live_reviews()) == 1
            and len(ours.reviews) == 2
        )
    )
    assert len(engine.dispatches) == 1
    assert not any("`/kernels e2e`" in c.body for c in theirs.comments)


def test_the_page_shows_what_was_compared(running, live, engine, pull, run):
    ask(live, engine, pull, "/review")
    assert (
        run(report=PASSED, head=records())
        == "There are logprob records and nothing to compare them with"
    )
    ask(live, engine, pull, "/baseline accept the first one")
    assert run(report=PASSED, head=records()) == "The run on the GPU found nothing wrong"

    def tab() -> str:
        there = f"{running.url}/pr/{engine.full_name}/{pull.number}?tab=logprobs"
        return httpx.get(
            there, headers={"Accept-Language": "en"}, trust_env=False, verify=False
        ).text

    until(lambda: "Logprobs against the accepted baseline" in tab())
    assert "Verdict: <code>identical</code>" in tab()
