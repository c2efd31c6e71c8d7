"""What a stranger costs others: no more than one review's time, and a share of the hour's
writes."""

from __future__ import annotations

import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from types import SimpleNamespace

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.db.deliveries import Store
from bot.db.engine import engine_for
from bot.db.moments import Bucket, Limit, first_free
from bot.db.rate_limits import Payer, WriteLedger
from bot.github.app import Endpoint
from bot.github.check import MOST_ANNOTATIONS
from bot.jobs.ci import PullCIJob
from bot.jobs.requests import JobRequest
from tests.bot.test_ci_collect import LOG, job, run_of
from tests.fake_github import people, state
from tests.fake_github.server import Seen
from tests.workflows.conftest import ended, small, until
from tests.workflows.test_ci import QUICK, job_ended, said
from tests.workflows.test_commands import answers

HOUR = 3600.0
STRANGER, NORMAL = Payer(1, "octo/engine"), Payer(2, "octo/engine")


def ledger(folder, hourly: int = 40) -> WriteLedger:
    return WriteLedger(
        engine_for(f"sqlite:///{folder}/writes.sqlite"), Endpoint(gap=0.0, hourly=hourly)
    )


def test_one_account_gets_a_quarter_of_the_hour(tmp_path):
    writes = ledger(tmp_path)
    waits = [writes.reserve(9, f"w{n}", 2.0, STRANGER) for n in range(40)]
    assert sum(wait <= 0.01 for wait in waits) == 10
    assert all(wait > HOUR - 60 for wait in waits[10:])
    assert writes.reserve(9, "normal", 2.0, NORMAL) <= 0.01


def test_who_has_promised_moments_hours_ahead_is_not_in_the_way(tmp_path):
    writes = ledger(tmp_path, hourly=8)
    for n in range(30):
        writes.reserve(9, f"w{n}", 2.0, STRANGER)
    assert [writes.reserve(9, f"n{n}", 2.0, NORMAL) <= 0.01 for n in range(2)] == [True] * 2


def test_one_repository_leaves_a_quarter_to_the_others(tmp_path):
    writes = ledger(tmp_path)
    waits = [writes.reserve(9, None, 2.0, Payer(n, "octo/engine")) for n in range(40)]
    assert sum(wait <= 0.01 for wait in waits) == 30
    assert writes.reserve(9, None, 2.0, Payer(99, "octo/other")) <= 0.01


def test_who_has_many_writes_at_once_leaves_moments_to_others(tmp_path):
    """Forty answers of a stranger wait, a second apart; another one's write does not wait for all
    of them."""
    endpoint = Endpoint(gap=1.0, hourly=400)
    writes = WriteLedger(engine_for(f"sqlite:///{tmp_path}/writes.sqlite"), endpoint)
    stranger = [writes.reserve(9, f"w{n}", 2.0, STRANGER) for n in range(40)]
    assert stranger[5] < 6.5 and stranger[39] > 120
    normal = [writes.reserve(9, f"n{n}", 2.0, NORMAL) for n in range(4)]
    assert max(normal) < 7


def test_who_waits_is_in_nobodys_way_and_comes_a_gap_later(tmp_path, monkeypatch):
    endpoint = Endpoint(gap=1.0, hourly=400)
    writes = WriteLedger(engine_for(f"sqlite:///{tmp_path}/writes.sqlite"), endpoint)
    now = time.time()
    clock = SimpleNamespace(time=lambda: now, monotonic=time.monotonic)
    monkeypatch.setattr("bot.db.engine.time", clock)
    waits = [writes.reserve(9, f"w{n}", 0.0, STRANGER) for n in range(7)]
    assert waits == pytest.approx([0, 1, 2, 3, 4, 5, 6])
    clock.time = lambda: now + 5.5
    assert writes.reserve(9, "normal", 0.0, NORMAL) <= 0.0
    # The stranger's is due at 6.
    clock.time = lambda: now + 6.0
    assert writes.reserve(9, "w6", 2.0, STRANGER) == pytest.approx(0.5)


def test_who_writes_all_the_time_has_every_fourth_moment(tmp_path):
    """Whoever comes later has the three that are between."""
    endpoint = Endpoint(gap=1.0, hourly=400)
    writes = WriteLedger(engine_for(f"sqlite:///{tmp_path}/writes.sqlite"), endpoint)
    moments = [time.time() + writes.reserve(9, f"w{n}", 2.0, STRANGER) for n in range(20)]
    apart = [b - a for a, b in itertools.pairwise(moments[8:])]
    assert min(apart) > 3.5


@given(st.lists(st.integers(0, 400), max_size=60), st.integers(1, 6), st.integers(0, 400))
def test_a_bucket_gives_no_more_than_it_gets(times, most, now):
    """In no stretch of time are there more writes than it held and got."""
    taken: list[float] = []
    for begun in sorted([*times, now]):
        taken.append(first_free(begun, [Bucket(taken, most, 4.0)]))
    for first, last in itertools.combinations_with_replacement(range(len(taken)), 2):
        assert last - first + 1 <= most + (taken[last] - taken[first]) / 4.0 + 1e-6


def test_a_bucket_is_full_after_a_pause():
    times = [0.0, 0.0, 4.0]
    assert first_free(5.0, [Bucket(times, 2, 4.0)]) == 8.0
    assert first_free(12.0, [Bucket(times, 2, 4.0)]) == 12.0
    assert first_free(12.0, [Bucket([*times, 12.0], 2, 4.0)]) == 12.0


@given(
    st.lists(st.integers(0, 3 * 3600), max_size=60),
    st.integers(1, 6),
    st.integers(0, 3 * 3600),
    st.sampled_from([20.0, HOUR]),
)
def test_a_free_moment_breaks_no_limit(times, most, now, window):
    times = sorted(times)
    moment = first_free(now, [Limit(times, most, 0.5, window)])
    assert moment >= now
    assert all(abs(moment - taken) >= 0.499 for taken in times)
    assert sum(moment - window < taken <= moment for taken in times) < most


def test_many_findings_are_one_write(live, engine):
    """And the check run is ended with the weightiest of them."""
    step = "\n\ndef step_{0}(accept_num):\n    return accept_num{1}\n"
    for branch, more in (("main", ""), ("many", " + unknown_{0}")):
        text = "".join(step.format(n, more.format(n)) for n in range(120))
        engine.git.commit(branch, {"engine/spec_decode/many.py": text}, parent="main")
    pull = people.open_pull(live, engine, "many")
    until(lambda: ended(engine, pull.head_sha))
    (check,) = engine.check_runs
    assert len(check.annotations) == MOST_ANNOTATIONS
    path = f"/repos/{engine.full_name}/check-runs/"

    def updates() -> list[Seen]:
        return [r for r in live.requests if r.method == "PATCH" and path in r.path]

    # A request is kept when it was answered, a moment after what it changed is seen.
    until(updates)
    assert len(updates()) == 1


def test_a_long_queue_of_one_is_no_longer_way_for_another(fake, bot):
    """Forty commands of a stranger wait, on one place; another one's is answered among the first."""
    repo, other = small(fake), small(fake)
    pulls = [
        people.open_pull(fake, one, "feature", draft=True, send=False) for one in (repo, other)
    ]
    bot.start("--role", "web")
    asked = [people.comment(fake, repo, pulls[0], "eve", "/help") for _ in range(40)]
    told = people.comment(fake, other, pulls[1], "ada", "/help")
    told_of = [delivery for delivery in fake.deliveries if delivery.event == "issue_comment"]
    assert {delivery.status_code for delivery in told_of} == {202}
    bot.run("worker", SPECBOT_COMMANDS_PER_HOUR="100")
    until(lambda: answers(fake, pulls[1], told))
    assert sum(bool(answers(fake, pulls[0], one)) for one in asked) < 20


def test_of_pushes_that_others_followed_github_is_not_asked(fake, bot):
    """Who pushes all the time would spend the requests that an installation has in an hour."""
    repo = small(fake)
    bot.start("--role", "web")
    pull = people.open_pull(fake, repo, "feature", author="mallory")
    for number in range(20):
        text = f"STEP = {number}\n"
        head = repo.git.commit("feature", {"engine/step.py": text}, parent="feature")
        people.push(fake, repo, pull, head)
    bot.run("worker")
    until(lambda: ended(repo, pull.head_sha))
    asked = [r for r in fake.requests if r.path.endswith(f"/pulls/{pull.number}")]
    assert len(asked) < 8


def test_one_account_has_one_place_in_however_many_repositories(fake, bot):
    """A worker has two; who fills as many repositories with work leaves one of them to others."""
    stranger = [small(fake), small(fake)]
    other = small(fake)
    begun, gone_on = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        gone_on.wait(120)

    for one in stranger:
        # A bot that has waited long asks once more.
        fake.fault("POST", f"{one.full_name}/check-runs$", wait, times=100)
    bot.start("--role", "web")
    waiting = [people.open_pull(fake, one, "feature", author="mallory") for one in stranger]
    bot.run("worker")
    assert begun.wait(60)
    # Long enough for the second to take the other place.
    time.sleep(2.0)
    pull = people.open_pull(fake, other, "feature", author="ada")
    until(lambda: ended(other, pull.head_sha), 100)
    assert not any(ended(one, pull.head_sha) for one, pull in zip(stranger, waiting, strict=True))
    gone_on.set()
    until(
        lambda: all(ended(one, pull.head_sha) for one, pull in zip(stranger, waiting, strict=True))
    )


def test_one_account_has_one_place_for_the_ci_of_however_many_pull_requests(fake, bot, repo):
    """A worker has two for reports on CI."""
    begun, gone_on = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        gone_on.wait(120)

    def red(author: str) -> tuple[state.Pull, state.WorkflowRun]:
        branch = f"change-{len(repo.pulls)}"
        repo.git.commit(branch, {"engine/step.py": f"a = {len(repo.pulls)}\n"}, parent="main")
        pull = people.open_pull(fake, repo, branch, author=author, draft=True, send=False)
        return pull, run_of(repo, job("unit", "failure", log=LOG), head_sha=pull.head_sha)

    bot.start("--role", "web", **QUICK)
    waiting = [red("mallory") for _ in range(4)]
    for pull, run in waiting:
        fake.fault("GET", f"commits/{pull.head_sha}/check-runs$", wait, times=100)
        job_ended(fake, repo, run, run.jobs[0])
    bot.run("worker", **QUICK)
    assert begun.wait(60)
    # Long enough for a second to take the other place.
    time.sleep(2.0)
    other, run = red("ada")
    job_ended(fake, repo, run, run.jobs[0])
    until(lambda: said(other), 100)
    assert not any(said(pull) for pull, _ in waiting)
    gone_on.set()
    until(lambda: all(said(pull) for pull, _ in waiting))


def test_one_account_has_one_place_for_the_ci_of_commits_on_no_pull_request(fake, bot, repo):
    begun, gone_on = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        gone_on.wait(120)

    bot.start("--role", "web", **QUICK)
    repo.git.commit("change", {"engine/step.py": "b = 1\n"}, parent="main")
    pull = people.open_pull(fake, repo, "change", author="ada", draft=True, send=False)
    for number in range(4):
        text = f"a = {number}\n"
        sha = repo.git.commit(f"push-{number}", {"engine/step.py": text}, parent="main")
        run = run_of(repo, job("unit", "failure", log=LOG), head_sha=sha)
        fake.fault("GET", f"commits/{sha}/pulls$", wait, times=100)
        job_ended(fake, repo, run, run.jobs[0], sender="mallory")
    bot.run("worker", **QUICK)
    assert begun.wait(60)
    # Long enough for a second to take the other place.
    time.sleep(2.0)
    run = run_of(repo, job("unit", "failure", log=LOG), head_sha=pull.head_sha)
    job_ended(fake, repo, run, run.jobs[0], sender="ada")
    until(lambda: said(pull), 100)
    gone_on.set()


def test_a_ci_report_that_an_earlier_version_ordered_apart_joins_its_authors_others(fake, bot):
    repo = small(fake)
    pull = people.open_pull(fake, repo, "feature", author="mallory", draft=True, send=False)
    run_of(repo, job("unit", "failure", log=LOG))
    bot.start("--role", "web")
    stored = PullCIJob(fake.installations[0].id, repo.id, repo.full_name, pull.number)
    apart = f"{repo.full_name}#{pull.number}"
    earlier = JobRequest("ci-report", "ci", "ci-earlier", (asdict(stored),), partition=apart)
    store = Store(bot.database)
    store.enqueue(earlier)
    bot.run("worker")
    until(lambda: said(pull))
    reports = store.client.list_workflows(name="ci-report")
    outcomes = {one.queue_partition_key: one.output for one in reports}
    store.close()
    assert outcomes.keys() == {apart, f"octo@{pull.user.id}"}
    assert outcomes[apart] == "moved"


def test_who_looks_at_pages_keeps_no_webhook_waiting(fake, bot, repo):
    """GitHub is slow to say whether the repository is public, and more people ask for its page than
    there are threads."""
    bot.start("--role", "all")
    pull = people.open_pull(fake, repo, "feature")
    page = f"/pr/{repo.full_name}/{pull.number}"
    until(lambda: httpx.get(bot.url + page, trust_env=False).status_code == 200)
    bot.kill()
    begun, gone_on = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        gone_on.wait(120)

    fake.fault("GET", f"{repo.full_name}$", wait, times=100)
    bot.start("--role", "web")
    with ThreadPoolExecutor(60) as pool:
        views = [
            pool.submit(httpx.get, bot.url + page, trust_env=False, timeout=150) for _ in range(60)
        ]
        assert begun.wait(60)
        time.sleep(2.0)
        assert httpx.get(f"{bot.url}/readyz", trust_env=False, timeout=60).status_code == 200
        people.comment(fake, repo, pull, "ada", "/help")
        assert fake.deliveries[-1].status_code == 202
        gone_on.set()
        assert {view.result().status_code for view in views} == {200}
