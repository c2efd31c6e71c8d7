"""Dialogues: a comment on GitHub, and the answer that its author reads."""

from __future__ import annotations

import io
import json
import re
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.kernels.results import RESULTS
from bot.reports.kernelrun import results_json as text_of
from checks.kernelrun.model import CaseStatus, Confinement, KernelCase, KernelRunResult
from tests.fake_github import Answer, FakeGitHub, people, shapes
from tests.fake_github.state import (
    Artifact,
    CheckRun,
    Comment,
    Delivery,
    Job,
    Pull,
    Repository,
    WorkflowRun,
)
from tests.fake_github.state import Status as CommitStatus
from tests.workflows.conftest import SMALL_HEAD, ended, small, started, until

WORKFLOW = ".github/workflows/gpu-kernels.yml"


def answers(fake: FakeGitHub, pull: Pull, comment: Comment) -> list[str]:
    """What the bot answered to `comment`, without its mark."""
    mark = re.compile(rf"<!-- specbot:answer {comment.id} \d+ -->\n\n")
    return [
        mark.sub("", c.body) for c in pull.comments if c.user is fake.bot and mark.match(c.body)
    ]


def ask(
    fake: FakeGitHub, repo: Repository, pull: Pull, body: str, author: str = "ada", count: int = 1
) -> str:
    """Comment, and read the answers."""
    made = people.comment(fake, repo, pull, author, body)
    until(lambda: len(answers(fake, pull, made)) >= count)
    assert [(r[1], r[2]) for r in made.reactions] == [(fake.bot, "eyes")]
    return "\n\n".join(answers(fake, pull, made))


def fork_pull(fake: FakeGitHub, repo: Repository, send: bool = False) -> Pull:
    """A pull request from a fork whose branch has the name of one of ours."""
    fork = fake.repository(f"mallory/{repo.name}", installed=False, fork=True)
    fork.git.adopt(repo.git.directory, main=repo.git.sha("main"))
    fork.git.commit("feature", {"engine/new.py": "x = 1\n"}, parent="main")
    return people.open_pull(fake, repo, "feature", fork=fork, author="mallory", send=send)


def ran(repo: Repository, pull: Pull, *jobs: Job, name: str = "CI", **about: object) -> WorkflowRun:
    """A workflow run that has ended on the head."""
    made = WorkflowRun(
        name, f".github/workflows/{name}.yml", pull.head_sha, pull.head_ref, jobs=list(jobs)
    )
    made.conclusion = "failure" if any(j.conclusion != "success" for j in jobs) else "success"
    for key, value in about.items():
        setattr(made, key, value)
    repo.runs.append(made)
    return made


def failed(
    name: str, log: bytes = b"E   IndexError: list index out of range\n", **about: object
) -> Job:
    made = Job(name, log, conclusion="failure")
    for key, value in about.items():
        setattr(made, key, value)
    return made


@pytest.fixture
def pull(live, engine) -> Pull:
    """A pull request by ada, who may write; mallory may only read."""
    engine.roles |= {"ada": "write", "mallory": "read"}
    # All tests together would reach GitHub's limit of writes in a minute.
    live.content_writes.clear()
    return people.open_pull(live, engine, "feature", send=False)


def test_help(live, engine, pull):
    answer = ask(live, engine, pull, "Hello!\n\n/help", "mallory")
    assert answer.startswith("`/help`\n\n")
    for name in ("review", "explain", "re-run", "kernels", "help"):
        assert f"/{name}" in answer


def test_review_and_explain(live, engine, pull, example):
    repo = live.repository(f"octo/lantern{len(live.repositories)}")
    repo.git.adopt(example.repo, main=example.base, feature=example.head)
    pull = people.open_pull(
        live, repo, "feature", title=example.title, body=example.body, send=False
    )
    assert "no review of this pull request has ended yet" in ask(
        live, repo, pull, "/explain protocol.unmasked-pack"
    )
    answer = ask(live, repo, pull, "/review", "mallory")
    assert pull.head_sha[:12] in answer
    until(lambda: ended(repo, pull.head_sha))
    until(lambda: "no review" not in ask(live, repo, pull, "/explain nothing-like-it", "mallory"))
    near = ask(live, repo, pull, "/explain protocol.unmasked-pak")
    assert "have no `protocol.unmasked-pak`" in near and "`protocol.unmasked-pack`" in near
    told = ask(live, repo, pull, "/explain protocol.unmasked-pack", "mallory")
    assert "### `protocol.unmasked-pack`" in told and pull.head_sha[:12] in told
    assert "takes no arguments" in ask(live, repo, pull, "/review now")


def test_the_ci_report(live, engine, pull):
    ran(engine, pull, failed("unit"))
    answer = ask(live, engine, pull, "/ci", "mallory")
    assert "is up to date" in answer
    (report,) = [c.body for c in pull.comments if c.user is live.bot and "specbot:ci" in c.body]
    assert "IndexError: list index out of range" in report


def test_a_failed_job_runs_again(live, engine, pull):
    """Once, though GitHub's answer is lost."""
    run = ran(engine, pull, failed("unit"), failed("lint"), Job("docs"))
    live.fault("POST", f"{engine.name}/actions/jobs/", "drop", when="after")
    answer = ask(live, engine, pull, "/re-run unit")
    assert engine.reruns == [f"job/{run.jobs[0].id}"]
    assert "`CI / unit`: running again, attempt 2" in answer


def test_all_that_failed_runs_again_each_by_its_way(live, engine, pull):
    run = ran(engine, pull, failed("unit"), failed("lint"), Job("docs"))
    check = CheckRun("sonar", pull.head_sha, 77, "completed", "failure")
    engine.check_runs.append(check)
    engine.statuses.append(CommitStatus(pull.head_sha, "jenkins", "failure", live.user("ci")))
    answer = ask(live, engine, pull, "/re-run all-failed")
    assert sorted(engine.reruns) == sorted([f"failed-jobs/{run.id}", f"check-run/{check.id}"])
    assert "`CI / unit, CI / lint`: running again" in answer
    assert "`sonar`: whoever provides it was asked" in answer
    assert "`jenkins`: a status of another system" in answer


def test_only_what_a_merge_waits_for_runs_again(live, engine, pull):
    engine.rulesets["main"] = [("unit", None)]
    run = ran(engine, pull, failed("unit"), failed("lint"))
    answer = ask(live, engine, pull, "/re-run required-failed")
    assert engine.reruns == [f"job/{run.jobs[0].id}"], answer


def test_a_number_that_was_off_is_not_taken_along(live, engine, pull):
    """Several of a run's jobs can only be run again with all of its failed ones, wanted or not."""
    engine.rulesets["main"] = [("unit", None), ("lint", None)]
    log = b"E   AssertionError: Not equal to tolerance rtol=1e-05, atol=0\n"
    run = ran(engine, pull, failed("unit"), failed("lint"), failed("numbers", log))
    answer = ask(live, engine, pull, "/re-run required-failed")
    assert engine.reruns == [f"job/{run.jobs[0].id}"], answer
    assert "`CI / lint`: another job of the same run must not run again" in answer


def test_jobs_that_running_again_does_not_help(live, engine, pull):
    ran(
        engine,
        pull,
        failed("numbers", b"E   AssertionError: Not equal to tolerance rtol=1e-05, atol=1e-08\n"),
        name="A",
    )
    ran(engine, pull, failed("old"), name="B", created_at="2020-01-01T00:00:00Z")
    ran(engine, pull, Job("green"), name="C")
    ran(
        engine,
        pull,
        Job("slow", status="in_progress", conclusion=None),
        name="D",
        status="in_progress",
        conclusion=None,
    )
    ran(engine, pull, failed("gate", conclusion="action_required"), name="E")
    body = "/re-run numbers\n/re-run old\n/re-run green\n/re-run slow\n/re-run gate"
    answer = ask(live, engine, pull, body, count=5)
    assert engine.reruns == []
    for said in (
        "numbers were off",
        "older than 30 days",
        "has not failed",
        "has not ended",
        "a person's approval",
    ):
        assert said in answer
    ran(engine, pull, name="F", conclusion="startup_failure")
    assert "that takes a new commit" in ask(live, engine, pull, "/re-run F")
    assert engine.reruns == []


def test_names_that_no_job_has(live, engine, pull):
    assert "nothing has run on" in ask(live, engine, pull, "/re-run unit")
    ran(engine, pull, failed("unit-tests"), failed("lint"), name="Linux")
    ran(engine, pull, failed("lint"), name="Windows")
    answer = ask(live, engine, pull, "/re-run unit-tets\n/re-run lint\n/re-run")
    assert "no job called `unit-tets`" in answer and "What comes near: `unit-tests`" in answer
    until(lambda: len([c for c in pull.comments if c.user is live.bot]) == 4)
    said = "\n".join(c.body for c in pull.comments)
    assert "`Linux / lint`, `Windows / lint`" in said and "name a job" in said
    assert engine.reruns == []


FASTDEPLOY = """profile = "fastdeploy"
[ci.aliases]
cov = ["Gone / before", "Unit Tests and Coverage / run_tests_with_coverage"]
"""


@pytest.fixture
def fastdeploy(live, example) -> tuple[Repository, Pull]:
    """A repository with FastDeploy's short names, and a pull request of someone who may only read,
    as almost all contributors do."""
    repo = small(live)
    repo.git.commit("main", {".specbot.toml": FASTDEPLOY}, parent="main")
    repo.git.commit("feature", {"engine/new.py": "x = 1\n"}, parent="main")
    repo.roles |= {"ada": "write", "huicongyao": "read", "mallory": "read"}
    return repo, people.open_pull(live, repo, "feature", author="huicongyao", send=False)


def test_the_commands_of_pull_request_7192(live, fastdeploy):
    """Both comments of PaddlePaddle/FastDeploy#7192, by its author, who may not write."""
    repo, pull = fastdeploy
    gate = ran(repo, pull, failed("Approval"), name="Approval")
    xpu = ran(
        repo,
        pull,
        Job("FD-Clone-Linux-XPU / code-clone"),
        failed("xpu_build_test / xpu-build-test"),
        name="CI_XPU",
    )
    assert "running again, attempt 2" in ask(live, repo, pull, "/re-run approval", "huicongyao")
    assert "running again, attempt 2" in ask(live, repo, pull, "/re-run ci_xpu", "huicongyao")
    assert repo.reruns == [f"failed-jobs/{gate.id}", f"failed-jobs/{xpu.id}"]


@pytest.mark.parametrize(
    "written",
    [
        "Unit Tests and Coverage / run_tests_with_coverage",
        "RUN_TESTS_WITH_COVERAGE",
        "run tests with coverage",
        "unit tests",
        "cov",
        "tests_with",
        "PR Build and Test",
    ],
)
def test_what_a_job_is_called(live, fastdeploy, written):
    repo, pull = fastdeploy
    name = "Unit Tests and Coverage / run_tests_with_coverage"
    run = ran(repo, pull, failed(name), Job("Base Tests / base_tests"), name="PR Build and Test")
    answer = ask(live, repo, pull, f"/re-run {written}")
    assert repo.reruns == [f"failed-jobs/{run.id}"], answer


def test_a_job_is_called_by_its_id(live, fastdeploy):
    repo, pull = fastdeploy
    run = ran(repo, pull, failed("lint"), failed("lint-docs"), name="CI")
    ask(live, repo, pull, f"/re-run {run.jobs[1].id}")
    assert repo.reruns == [f"job/{run.jobs[1].id}"]


def test_a_part_of_several_names_starts_nothing(live, fastdeploy):
    repo, pull = fastdeploy
    ran(repo, pull, failed("4-card cases"), failed("8-card cases"), Job("docs"), name="XPU")
    answer = ask(live, repo, pull, "/re-run card", "huicongyao")
    assert "`XPU / 4-card cases`, `XPU / 8-card cases`" in answer and repo.reruns == []


def test_what_authors_and_strangers_may(live, fastdeploy):
    repo, pull = fastdeploy
    run = ran(repo, pull, failed("unit"), Job("docs"), name="CI")
    stranger = WorkflowRun("Build", "build.yml", pull.head_sha, pull.head_ref)
    stranger.conclusion = "action_required"
    repo.runs.append(stranger)
    assert "and the author of this pull request" in ask(live, repo, pull, "/re-run unit", "mallory")
    assert "has not failed" in ask(live, repo, pull, "/re-run docs", "huicongyao")
    assert "a person's approval" in ask(live, repo, pull, "/re-run Build", "huicongyao")
    assert "needs write access" in ask(live, repo, pull, "/re-run base unit", "huicongyao")
    assert repo.reruns == []
    assert "author of the pull request (10 an hour" in ask(live, repo, pull, "/help", "mallory")
    ask(live, repo, pull, "/re-run unit", "huicongyao")
    assert repo.reruns == [f"failed-jobs/{run.id}"]


def test_an_author_has_so_many_an_hour(live, fastdeploy):
    repo, pull = fastdeploy
    for number in range(12):
        ran(repo, pull, failed(f"job {number}"), name=f"W{number}")
    answer = ask(live, repo, pull, "/re-run all-failed", "huicongyao")
    assert len(repo.reruns) == 10
    assert answer.count("may run 10 an hour again") == 2
    # Who may write is not limited so.
    ask(live, repo, pull, "/re-run job 0")
    assert len(repo.reruns) == 11


def test_the_same_job_on_the_base_branch(live, fastdeploy):
    repo, pull = fastdeploy
    ran(repo, pull, failed("unit"), failed("lint"), name="CI")
    base = ran(repo, pull, Job("unit"), Job("docs"), name="CI", head_branch="main", event="push")
    base.head_sha = repo.git.sha("main")
    # A fork's branch may have the name of ours.
    ran(repo, pull, failed("unit"), name="CI", head_branch="main", event="pull_request")
    answer = ask(live, repo, pull, "/re-run base unit\n/re-run base lint", count=2)
    assert repo.reruns == [f"job/{base.jobs[0].id}"]
    assert f"On `{base.head_sha[:12]}` of `main`" in answer
    assert "`CI / lint`: no recent run of this branch has this job" in answer


def test_why_a_job_failed(live, engine, pull):
    ran(engine, pull, failed("unit"), Job("docs"))
    assert "no review of this pull request" in ask(live, engine, pull, "/explain unit", "mallory")
    ask(live, engine, pull, "/ci")
    answer = ask(live, engine, pull, "/explain UNIT", "mallory")
    assert "### `CI / unit`" in answer and "IndexError: list index out of range" in answer
    assert pull.head_sha[:12] in answer


def test_the_evidence_of_a_finding_and_one_that_is_ignored(live, engine, example):
    repo = live.repository(f"octo/lantern{len(live.repositories)}")
    repo.git.adopt(example.repo, main=example.base, feature=example.head)
    repo.roles |= {"ada": "write", "mallory": "read"}
    pull = people.open_pull(
        live, repo, "feature", title=example.title, body=example.body, send=False
    )
    ask(live, repo, pull, "/review")
    until(lambda: ended(repo, pull.head_sha))
    until(lambda: "no review" not in ask(live, repo, pull, "/explain nothing-like-it", "mallory"))
    told = ask(live, repo, pull, "/explain protocol.unmasked-pack", "mallory")
    fingerprint = re.findall(r"`/why` with `([0-9a-f]{16})`", told)[0]
    why = ask(live, repo, pull, f"/why {fingerprint[:8]}", "mallory")
    assert "Counterexample" in why and "```diff" in why and fingerprint in why
    assert "write one fingerprint" in ask(live, repo, pull, "/why protocol.stale-fixture")
    assert "needs write access" in ask(live, repo, pull, f"/ignore {fingerprint} fine", "mallory")
    assert "give a reason" in ask(live, repo, pull, f"/ignore {fingerprint}")
    ask(live, repo, pull, f"/ignore {fingerprint} the caller masks it\n/review", count=2)
    until(lambda: len(pull.reviews) == 2)
    body = pull.reviews[1].body
    assert "`ada` ignored it with `/ignore`, because: the caller masks it" in body
    assert all(fingerprint not in c.body for c in pull.reviews[1].comments)


def results(base: str, head: str, worse: bool = False) -> bytes:
    """The artifact of a GPU run."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        file.writestr("kernels.json", json.dumps({"base": base, "head": head, "edited": []}))
        for side in ("base", "head"):
            status = CaseStatus.CRASHED if worse and side == "head" else CaseStatus.OK
            run = KernelRunResult(
                {"specbot": "1"},
                {"gpu": "H20"},
                "h",
                Confinement("bwrap", True),
                (KernelCase("verify", "small", status),),
            )
            file.writestr(f"under-base/{side}/{RESULTS}", text_of(run))
            file.writestr(f"under-base/{side}/outputs.safetensors", b"\x02\0\0\0\0\0\0\0{}")
    return made.getvalue()


def finish(
    fake: FakeGitHub,
    repo: Repository,
    run: WorkflowRun,
    conclusion: str,
    artifact: bytes | None,
    *,
    send: bool = True,
) -> Delivery:
    """The workflow run ends, and GitHub tells."""
    with fake.lock:
        run.status, run.conclusion = "completed", conclusion
        if artifact is not None:
            run.artifacts.append(Artifact(f"kernels-{run.display_title}", artifact))
    names = (
        "id",
        "name",
        "display_title",
        "path",
        "event",
        "status",
        "conclusion",
        "run_attempt",
        "head_sha",
    )
    told = {name: value for name, value in shapes.run(repo, run).items() if name in names}
    known = {"action": "completed", "workflow_run": told}
    return people.webhook(fake, repo, "workflow_run", known, "ada", send=send)


def kernels(repo: Repository, pull: Pull) -> list[CheckRun]:
    return [
        c for c in repo.check_runs if c.name == "specbot/kernels" and c.head_sha == pull.head_sha
    ]


@pytest.fixture
def gpu(engine) -> Repository:
    engine.workflows[WORKFLOW] = 5
    return engine


def test_kernels_from_the_command_to_the_result(live, gpu, pull):
    answer = ask(live, gpu, pull, "/kernels verify,accept")
    (asked,) = gpu.dispatches
    assert asked.ref == "main" and asked.workflow == WORKFLOW
    base = gpu.git.sha("main")
    inputs = {
        "base": base,
        "head": pull.head_sha,
        "ops": "verify,accept",
        "request": asked.inputs["request"],
    }
    assert asked.inputs == inputs
    assert asked.inputs["request"] in answer and "60 minutes at most" in answer
    (check,) = kernels(gpu, pull)
    assert check.status == "in_progress"
    finish(live, gpu, gpu.runs[-1], "success", results(base, pull.head_sha, worse=True))
    until(lambda: check.status == "completed")
    assert (check.conclusion, check.title) == ("failure", "A kernel got worse")
    until(lambda: "A kernel got worse" in pull.comments[-1].body)
    assert len(pull.comments) == 2 and "`verify/small`" in pull.comments[-1].body


def test_a_short_name_of_a_commit_is_no_op(live, gpu, pull):
    assert "Asked for" in ask(live, gpu, pull, f"/kernels {pull.head_sha[:7]} verify")
    (asked,) = gpu.dispatches
    assert (asked.inputs["head"], asked.inputs["ops"]) == (pull.head_sha, "verify")
    other = gpu.git.sha("main")[:7]
    assert f"`{other}` is not the head commit" in ask(live, gpu, pull, f"/kernels {other} verify")
    assert len(gpu.dispatches) == 1


@pytest.mark.parametrize("wrong", ["head", "broken", "nothing", "failed"])
def test_results_that_are_not_believed(live, gpu, pull, wrong):
    ask(live, gpu, pull, "/kernels")
    (check,) = kernels(gpu, pull)
    base = gpu.git.sha("main")
    good = results(base, pull.head_sha)
    data = {"head": results(base, base), "broken": b"PK", "nothing": None, "failed": good}[wrong]
    finish(live, gpu, gpu.runs[-1], "failure" if wrong == "failed" else "success", data)
    until(lambda: check.status == "completed")
    assert check.conclusion == "failure"
    said = {
        "head": "not of the commits",
        "broken": "cannot be read",
        "nothing": "left no results",
        "failed": "did not end well",
    }
    assert said[wrong] in (check.title or "")


def test_results_behind_a_limit_are_fetched_again(live, gpu, pull):
    ask(live, gpu, pull, "/kernels")
    (check,) = kernels(gpu, pull)
    live.secondary_limit("GET", f"{gpu.name}/actions/artifacts/", retry_after=1)
    finish(live, gpu, gpu.runs[-1], "success", results(gpu.git.sha("main"), pull.head_sha))
    until(lambda: check.status == "completed")
    assert (check.conclusion, check.title) == ("success", "No kernel got worse")


def test_a_forks_code_runs_when_its_commit_is_named(live, gpu):
    gpu.roles |= {"ada": "write", "mallory": "read"}
    pull = fork_pull(live, gpu)
    first = pull.head_sha
    assert "needs write access" in ask(live, gpu, pull, f"/kernels {first}", "mallory")
    assert f"name the commit: `/kernels` with `{first}`" in ask(live, gpu, pull, "/kernels")
    assert "cannot be read" in ask(live, gpu, pull, f"/kernels {first[:12]}!")
    short = ask(live, gpu, pull, f"/kernels {first[:12]}")
    assert f"name the commit: `/kernels` with `{first}`" in short
    assert gpu.dispatches == []
    assert "Asked for a comparison" in ask(live, gpu, pull, f"/kernels {first}")
    assert [d.inputs["head"] for d in gpu.dispatches] == [first]
    assert "Asked for a comparison" in ask(live, gpu, pull, "/kernels")
    second = pull.head_repo.git.commit("feature", {"engine/new.py": "x = 2\n"})
    people.push(live, gpu, pull, second, send=False)
    assert f"name the commit: `/kernels` with `{second}`" in ask(live, gpu, pull, "/kernels")
    assert "is not the head commit any more" in ask(live, gpu, pull, f"/kernels {first}")
    assert {d.inputs["head"] for d in gpu.dispatches} == {first}


@pytest.mark.parametrize("whose", ["a fork's", "ours"])
def test_a_push_between_the_command_and_the_run(live, gpu, whose):
    gpu.roles |= {"ada": "write"}
    ours = whose == "ours"
    pull = people.open_pull(live, gpu, "feature", send=False) if ours else fork_pull(live, gpu)
    second = pull.head_repo.git.commit("feature", {"engine/new.py": "x = 2\n"})
    pull.head_repo.git.set_ref("refs/heads/feature", pull.head_sha)

    def push() -> Answer | None:
        people.push(live, gpu, pull, second, send=False)
        return None

    live.fault("POST", f"{gpu.name}.git/git-upload-pack$", push, when="after")
    answer = ask(live, gpu, pull, "/kernels" if ours else f"/kernels {pull.head_sha}")
    assert gpu.dispatches == []
    assert "newer commit" in answer or "not the head commit" in answer


def test_the_minutes_on_gpus_are_counted(live, gpu, pull):
    for _ in range(4):
        assert "Asked for" in ask(live, gpu, pull, "/kernels")
    assert "no GPU time left for 60 minutes, of 240 in all" in ask(live, gpu, pull, "/kernels")
    assert len(gpu.dispatches) == 4


def test_a_run_that_ends_before_its_command_does(live, gpu, pull):
    """Its result is found by the request in its name, and stays the answer."""
    base = gpu.git.sha("main")

    def ended() -> None:
        finish(live, gpu, gpu.runs[-1], "success", results(base, pull.head_sha))

    live.fault("POST", f"{gpu.name}/actions/workflows/", ended, when="after")
    ask(live, gpu, pull, "/kernels\n/help", count=2)
    until(lambda: "No kernel got worse" in pull.comments[1].body)
    assert [c.title for c in kernels(gpu, pull)] == ["No kernel got worse"]
    assert ["No kernel got worse" in c.body for c in pull.comments[1:]] == [True, False]


def test_a_run_that_ends_while_its_check_is_made(live, gpu, pull):
    """There is one check, which ends."""
    base = gpu.git.sha("main")

    def ended() -> None:
        finish(live, gpu, gpu.runs[-1], "success", results(base, pull.head_sha))
        # Long enough for the report to come to its check.
        time.sleep(3.0)

    live.fault("POST", f"{gpu.name}/check-runs$", ended)
    ask(live, gpu, pull, "/kernels")
    until(lambda: "No kernel got worse" in pull.comments[-1].body)
    assert [c.status for c in kernels(gpu, pull)] == ["completed"]


def test_an_unanswered_dispatch_is_found_and_not_sent_again(live, gpu, pull):
    live.fault("POST", f"{gpu.name}/actions/workflows/", "drop", when="after")
    assert "Asked for" in ask(live, gpu, pull, "/kernels")
    live.fault("POST", f"{gpu.name}/actions/workflows/", "drop", when="before")
    assert "Nobody knows whether it was started" in ask(live, gpu, pull, "/kernels")
    assert len(gpu.dispatches) == 1


def test_a_job_of_the_repositorys_own(live, engine, pull):
    config = '[[gpu_job]]\nname = "ops"\nworkflow = "ops.yml"\ninputs = ["sha=head", "id=request"]\nminutes = 5\n'
    engine.git.commit("main", {".specbot.toml": config})
    engine.git.commit("own", {"engine/step.py": SMALL_HEAD, ".specbot.toml": ""}, parent="main")
    engine.workflows[".github/workflows/ops.yml"] = 6
    pull = people.open_pull(live, engine, "own", send=False)
    ask(live, engine, pull, "/kernels ops")
    (asked,) = engine.dispatches
    assert asked.inputs.keys() == {"sha", "id"} and asked.inputs["sha"] == pull.head_sha
    assert "does not take names of ops" in ask(live, engine, pull, "/kernels ops verify")


def test_killed_in_the_middle_of_a_command(fake, bot, repo):
    """After a run was started and after something was said, before either was written down."""
    repo.roles["ada"] = "write"
    repo.workflows[WORKFLOW] = 5
    pull = people.open_pull(fake, repo, "feature", send=False)
    run = ran(repo, pull, failed("unit"), failed("lint"))
    bot.start()
    for path in ("/dispatches$", "/comments$"):
        fake.fault("POST", path, bot.kill, when="after")
    made = people.comment(fake, repo, pull, "ada", "/re-run unit\n/kernels\n/help")
    while len(answers(fake, pull, made)) < 3:
        until(lambda: not bot.alive() or len(answers(fake, pull, made)) == 3)
        if not bot.alive():
            bot.start()
    assert all(fault.times == 0 for fault in fake.faults)
    until(lambda: len(fake.asked("reactions/create-for-issue-comment")) >= 1)
    assert repo.reruns == [f"job/{run.jobs[0].id}"]
    assert len(repo.dispatches) == 1 and len(answers(fake, pull, made)) == 3
    assert [a.split("\n")[0] for a in answers(fake, pull, made)] == [
        "`/re-run unit`",
        "`/kernels`",
        "`/help`",
    ]


@pytest.fixture
def chinese(tmp_path: Path) -> Iterator[FakeGitHub]:
    """A GitHub with a bot that speaks Chinese."""
    with started(tmp_path, SPECBOT_LANGUAGE="zh") as made:
        yield made.fake


def test_a_dialogue_in_chinese(chinese):
    repo = small(chinese)
    repo.roles |= {"ada": "write", "mallory": "read"}
    repo.workflows[WORKFLOW] = 5
    pull = people.open_pull(chinese, repo, "feature", send=False)
    assert "重新审查当前的最新提交" in ask(chinese, repo, pull, "/help", "mallory")
    assert "只有对本仓库有写权限的人和本 PR 的作者" in ask(
        chinese, repo, pull, "/re-run all-failed", "mallory"
    )
    run = ran(repo, pull, failed("单元测试"))
    assert "相近的名称：`单元测试`" in ask(chinese, repo, pull, "/re-run 单元测验")
    assert "已重新运行，第 2 次" in ask(chinese, repo, pull, "请重跑：\n/re-run 单元测试")
    assert repo.reruns == [f"failed-jobs/{run.id}"]
    assert "已请求在 GPU 上比较" in ask(chinese, repo, pull, "/kernels")
    assert "还没有完成过审查" in ask(chinese, repo, pull, "/explain kernel.host-sync")
    assert "开始审查" in ask(chinese, repo, pull, "/review")
    assert chinese.violations == []


def test_a_rule_that_is_left_out_and_a_first_contribution(live, engine, example):
    repo = live.repository(f"octo/lantern{len(live.repositories)}")
    repo.git.adopt(example.repo, main=example.base, feature=example.head)
    repo.roles |= {"ada": "write", "mallory": "read"}
    pull = people.open_pull(
        live, repo, "feature", title=example.title, body=example.body, send=False
    )
    pull.association = "FIRST_TIME_CONTRIBUTOR"
    assert "needs write access" in ask(
        live, repo, pull, "/skip protocol.unmasked-pack it is fine", "mallory"
    )
    assert "`protocol.unmasked-pack`" in ask(
        live, repo, pull, "/skip protocol.unmasked-pak it is fine"
    )
    assert "give a reason" in ask(live, repo, pull, "/skip protocol.unmasked-pack")
    ask(live, repo, pull, "/skip protocol.unmasked-pack masked by the caller\n/review", count=2)
    until(lambda: ended(repo, pull.head_sha))
    body = pull.reviews[0].body
    assert "did not run: `ada` left it out with `/skip`, because: masked by the caller" in body
    assert all("protocol.unmasked-pack" not in c.body for c in pull.reviews[0].comments)
    until(lambda: any("Welcome" in c.body for c in pull.comments))
    greeting = next(c.body for c in pull.comments if "Welcome" in c.body)
    assert "still to be filled in:\n\n- " in greeting


def test_who_returns_is_greeted_in_one_line_and_once(live, engine):
    pull = people.open_pull(live, engine, "feature", send=False)
    assert pull.association == "CONTRIBUTOR"
    people.say(live, engine, pull, "opened")
    until(lambda: [c for c in pull.comments if "Thanks for your contribution" in c.body])
    head = engine.git.commit("feature", {"engine/more.py": "x = 1\n"}, parent="feature")
    people.push(live, engine, pull, head)
    until(lambda: ended(engine, head))
    (greeting,) = [c.body for c in pull.comments if "contribution" in c.body]
    assert greeting.count("\n\n") == 1 and "`/help` lists the commands" in greeting
    assert not any("Welcome" in c.body for c in pull.comments)
