"""What a person sees: push to GitHub, read the review."""

from __future__ import annotations

import json
import os
import re
import signal
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from tests.fake_github import Answer, people, state
from tests.workflows.conftest import SMALL_BASE, SMALL_HEAD, dry_run, ended, until


def test_the_review_is_what_the_dry_run_prints(live, running, example, tmp_path):
    repo = live.repository("octo/lantern")
    repo.git.adopt(example.repo, main=example.base, feature=example.head)
    pull = people.open_pull(live, repo, "feature", title=example.title, body=example.body)
    until(lambda: ended(repo, pull.head_sha))
    printed = dry_run(example, tmp_path)
    (review,) = pull.reviews
    posted = json.dumps(review.payload, ensure_ascii=False, indent=2) + "\n"
    assert _without_links(posted) == _without_links(printed.decode())
    assert len(review.comments) >= 5
    (check,) = repo.check_runs
    assert (check.name, check.conclusion) == ("specbot/review", "failure")
    assert "bugs" in (check.title or "") and len(check.annotations) > 5


def _without_links(payload: str) -> str:
    """A review as a clone gives it, which knows no address: places lead nowhere, and the digest
    of the texts is another."""
    text = re.sub(r"\[(`[^`]*`)\]\(http://127[^)]*\)", r"\1", payload)
    return re.sub(r"(specbot:review \w+) \w+", r"\1", text)


def test_a_pull_request_from_its_first_push_to_its_last(live, engine):
    draft = people.open_pull(live, engine, "feature", draft=True)
    pull = people.open_pull(live, engine, "feature", title="one")
    first = pull.head_sha
    until(lambda: ended(engine, first))
    assert [r.commit_id for r in pull.reviews] == [first]
    assert not draft.reviews

    assert "convention.title" not in pull.reviews[0].body.partition("<details>")[0]
    people.edit(live, engine, pull, title="[two]")
    until(lambda: len(pull.live_reviews()) == 1 and len(pull.reviews) == 2)
    assert "convention.title" in pull.live_reviews()[0].body.partition("<details>")[0]
    # What would say the same again is not posted, and its check ends.
    people.edit(live, engine, pull, body="As everybody knows.")
    until(lambda: [c.status for c in engine.check_runs] == ["completed"] * 3)
    assert len(pull.reviews) == 2

    second = engine.git.commit("feature", {"engine/step.py": SMALL_HEAD + "\n\nother(1)\n"})
    people.push(live, engine, pull, second)
    until(lambda: ended(engine, second))
    assert [r.commit_id for r in pull.live_reviews()] == [second]

    people.comment(live, engine, pull, "ada", "Thanks")
    draft.draft = False
    people.say(live, engine, draft, "ready_for_review")
    until(lambda: draft.reviews)
    assert len(pull.reviews) == 3


def test_a_newer_push_stops_the_review_of_the_older(live, engine):
    """The first review is held up between its start and its publication, as by a large change."""
    live.fault("POST", f"{engine.name}.git/git-upload-pack$", 3.0)
    pull = people.open_pull(live, engine, "feature")
    first = pull.head_sha
    until(lambda: any(c.head_sha == first for c in engine.check_runs))
    second = engine.git.commit("feature", {"engine/step.py": SMALL_HEAD + "\n\nother(1)\n"})
    people.push(live, engine, pull, second)
    until(lambda: ended(engine, second) and ended(engine, first))
    assert [r.commit_id for r in pull.reviews] == [second]
    assert [c.conclusion for c in engine.check_runs if c.head_sha == first] == ["cancelled"]


def test_a_fork_is_reviewed_from_the_base_repository(live, engine):
    fork = live.repository(f"mallory/{engine.name}", installed=False, fork=True)
    fork.git.adopt(engine.git.directory, main=engine.git.sha("main"))
    sha = fork.git.commit("feature", {"engine/new.py": "x = 1\n"}, parent="main")
    pull = people.open_pull(live, engine, "feature", fork=fork, author="mallory")
    until(lambda: ended(engine, sha))
    assert "engine/new.py" in pull.reviews[0].body


def test_github_has_a_bad_day(live, engine):
    path = f"/{engine.name}/"
    faults = [
        live.fault("GET", f"{path}pulls/1$", Answer(404, {"message": "Not Found"})),
        live.fault(
            "GET", f"{path}commits/.*/check-runs$", Answer(502, {"message": "Server Error"})
        ),
        live.fault("POST", f"{path}check-runs$", "drop", when="after"),
        live.fault(
            "PATCH", f"{path}check-runs/", Answer(503, {"message": "Unavailable"}), when="after"
        ),
    ]
    live.secondary_limit("POST", f"{path}pulls/1/reviews$", retry_after=1)
    pull = people.open_pull(live, engine, "feature")
    # What comes after an effect is taken once the effect can be seen.
    until(lambda: ended(engine, pull.head_sha) and not any(f.times for f in faults))
    assert len(pull.reviews) == len(engine.check_runs) == 1


def test_a_mistake_in_the_configuration_is_said_on_the_check(live, engine):
    engine.git.commit("main", {".specbot.toml": "[rules]\ndisabel = []\n"})
    engine.git.commit("mistaken", {"engine/step.py": SMALL_HEAD}, parent="main")
    pull = people.open_pull(live, engine, "mistaken")
    until(lambda: ended(engine, pull.head_sha))
    check = engine.check_runs[0]
    assert (check.conclusion, check.title) == ("action_required", "Not reviewed")
    assert "unknown key `rules.disabel`" in (check.summary or "")
    assert not pull.reviews


def kill_reviews(parent: int) -> None:
    """kill -9 of every process that reviews now; one may still work for an earlier test."""
    for forking in children(parent):
        if b"bot.sandbox.forkserver" in commandline(forking):
            for pid in children(forking):
                os.kill(pid, signal.SIGKILL)


def children(parent: int) -> list[int]:
    """Those that live, of every thread of the process."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(entry.read_text().rsplit(") ", 1)[1].split()[1]) == parent:
                found.append(int(entry.parent.name))
    return found


def commandline(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
def test_an_analysis_that_breaks_is_said_on_the_check_and_breaks_nothing_else(
    live, running, engine
):
    pull = people.open_pull(live, engine, "feature")
    until(lambda: kill_reviews(running.processes[0].pid) or ended(engine, pull.head_sha))
    assert engine.check_runs[0].title == "The review failed, and it is SpecBot's fault"
    assert f"review-{live.deliveries[-1].guid}" in (engine.check_runs[0].summary or "")
    assert not pull.reviews
    people.edit(live, engine, pull, title="again")
    until(lambda: pull.reviews)


def test_the_log_tells_deliveries_and_reviews_and_no_secret(live, running, engine):
    pull = people.open_pull(live, engine, "feature")
    until(lambda: ended(engine, pull.head_sha))
    about = {"pull": f"{engine.full_name}#1", "delivery": live.deliveries[-1].guid}

    def said(event: str) -> list[dict[str, str]]:
        lines = [json.loads(line) for line in running.log.read_text().splitlines()]
        return [
            line
            for line in lines
            if line["event"] == event and line.get("delivery") == about["delivery"]
        ]

    until(lambda: said("review ended"))
    assert said("review ended")[0].items() >= about.items()
    assert said("review ended")[0]["workflow"] == said("webhook received")[0]["workflow"]
    log = running.log.read_text()
    for secret in (*live.tokens, live.webhook_secret, live.private_key.splitlines()[1]):
        assert secret not in log


def test_tokens_can_do_no_more_than_their_task(live, engine):
    pull = people.open_pull(live, engine, "feature")
    until(lambda: ended(engine, pull.head_sha))
    granted = [
        t.permissions
        for t in list(live.tokens.values())
        if t.repositories == frozenset({engine.id})
    ]
    assert {"metadata": "read", "contents": "read", "pull_requests": "read"} in granted
    # What reads code writes nothing. The report on CI, which may have begun, reads what ran.
    assert not [p for p in granted if "contents" in p and "write" in p.values()]
    assert {p.get("actions", "read") for p in granted} == {"read"}
    assert all(
        t.repositories for t in list(live.tokens.values()) if set(t.permissions) != {"metadata"}
    )


def test_a_review_has_its_pages(live, running, engine):
    pull = people.open_pull(live, engine, "feature", title="Pack <b>words</b>")
    until(lambda: ended(engine, pull.head_sha))
    address = f"/pr/{engine.full_name}/{pull.number}"
    with httpx.Client(base_url=running.url, headers={"Accept-Language": "en"}) as client:
        until(lambda: "The change, step by step" in client.get(address).text)
        page = client.get(address).text
        assert "Pack &lt;b&gt;words&lt;/b&gt;" in page and "Nobody has raised anything." in page
        # The review and the page of the change are written by two workflows, in either order.
        history = {"tab": "history"}
        until(lambda: "Findings over pushes" in client.get(address, params=history).text)
        assert pull.head_sha[:12] in client.get(address, params=history).text

        wanted = {"q": f"#{pull.number} {engine.full_name}"}
        assert f'href="{address}"' in client.get("/", params=wanted).text
        people.close(live, engine, pull)
        until(lambda: f'href="{address}"' not in client.get("/", params=wanted).text)
        assert f'href="{address}"' in client.get("/", params={**wanted, "state": "closed"}).text


def test_a_page_names_who_wrote_what_goes(live, running, engine):
    engine.git.commit("main", {"engine/step.py": SMALL_HEAD}, "Add another step (#7)")
    engine.git.commit("main", {"engine/step.py": SMALL_HEAD + "\n\nLAST = other(1)\n"})
    head = engine.git.commit(
        "fewer", {"engine/step.py": SMALL_BASE + "\n\nLAST = step(1)\n"}, parent="main"
    )
    pull = people.open_pull(live, engine, "fewer")
    assert pull.head_sha == head
    address = f"/pr/{engine.full_name}/{pull.number}"
    with httpx.Client(base_url=running.url, headers={"Accept-Language": "en"}) as client:
        until(lambda: "The change, step by step" in client.get(address).text)
        page = client.get(address).text
    assert "Add another step (#7)" in page and "this clone lacks" not in page


def test_a_clone_is_indexed_after_its_pages(live, running, engine):
    pull = people.open_pull(live, engine, "feature")
    graphs = running.clone(engine) / "objects" / "info" / "commit-graphs"
    known = graphs / "commit-graph-chain"
    until(known.exists)
    assert ended(engine, pull.head_sha)


def test_the_discussion_on_a_page_is_renewed(bot, fake, repo):
    bot.start(SPECBOT_CI_GATHER="0.5")
    pull = people.open_pull(fake, repo, "feature")
    until(lambda: ended(repo, pull.head_sha))
    address = f"/pr/{repo.full_name}/{pull.number}"
    with httpx.Client(base_url=bot.url, headers={"Accept-Language": "en"}) as client:
        until(lambda: "Nobody has raised anything." in client.get(address).text)
        said = state.ReviewComment(
            fake.user("bea"),
            "Is `other` called?",
            "engine/step.py",
            9,
            "RIGHT",
            None,
            None,
            pull.head_sha,
            1,
        )
        pull.threads.append(state.Thread([said]))
        known = {"action": "created", "pull_request": {"number": pull.number, "state": "open"}}
        people.webhook(fake, repo, "pull_request_review_comment", known, "bea")
        until(lambda: "Is other called?" in client.get(address).text)
        assert "unresolved" in client.get(address).text
        pull.threads[0].resolved_by = fake.user("bea")
        people.webhook(
            fake, repo, "pull_request_review_thread", known | {"action": "resolved"}, "bea"
        )
        until(lambda: "unresolved" not in client.get(address).text)
        people.comment(fake, repo, pull, "bea", "Shall we merge before the freeze?")
        until(lambda: "Shall we merge before the freeze?" in client.get(address).text)
    assert len(pull.reviews) == 1
