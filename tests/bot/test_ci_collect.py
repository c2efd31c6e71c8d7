"""`specbot ci collect` against a GitHub over real HTTP: everything of a run, refusals, limits and
hostile archives."""

from __future__ import annotations

import contextlib
import io
import json
import stat
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.ci import archives, joblogs, other_runs
from bot.ci.archives import reports
from bot.reports.ci.phrasing import name as shown_name
from bot.safe_zip import BadArchive
from checks.ci.folder import load, paths
from checks.ci.model import CIRun, Conclusion, Job, LogState, Requirement, Status, Where
from tests.fake_github import Answer, FakeGitHub, people, serving, state
from tests.fake_github.server import secondary

NOW = datetime.now(UTC).replace(microsecond=0)
LOG = b"""2026-05-22T11:50:01.0Z HEAD is now at 1f2e3d4c Merge %s into %s
2026-05-22T11:50:03.1Z =================================== FAILURES ===================================
2026-05-22T11:50:03.1Z __________________________________ test_pack ___________________________________
2026-05-22T11:50:03.2Z E   AssertionError: packed 3 instead of 5123
2026-05-22T11:50:03.3Z =========================== short test summary info ============================
2026-05-22T11:50:03.3Z FAILED tests/test_words.py::test_pack - AssertionError: packed 3 instead of 5123
2026-05-22T11:50:03.4Z ========================= 1 failed, 2 passed in 0.31s ==========================
"""
JUNIT = b"""<testsuites><testsuite name="pytest" tests="1"><testcase classname="tests.test_words" name="test_pack">
<failure message="AssertionError: packed 3 instead of 5123">E   AssertionError: packed 3 instead of 5123</failure>
</testcase></testsuite></testsuites>"""
COVERAGE = b'<?xml version="1.0" ?>\n<coverage version="7.4" line-rate="0.5"><packages/></coverage>'
WORKFLOW = ".github/workflows/unit.yml"


def ago(**time: int) -> str:
    return (NOW - timedelta(**time)).strftime("%Y-%m-%dT%H:%M:%SZ")


def job(
    name: str, conclusion: str | None = "success", *, at: int = 60, **more: object
) -> state.Job:
    times = {
        "started_at": ago(minutes=at),
        "completed_at": ago(minutes=at - 5) if conclusion else None,
    }
    more.setdefault("status", "completed" if conclusion else "in_progress")
    return state.Job(name, conclusion=conclusion, **times, **more)  # type: ignore[arg-type]


def zipped(**files: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeGitHub]:
    with serving(FakeGitHub(tmp_path_factory.mktemp("github"))) as fake:
        yield fake


@pytest.fixture
def fake(served: FakeGitHub) -> Iterator[FakeGitHub]:
    yield served
    violations, served.violations = served.violations, []
    served.faults.clear()
    served.rate_remaining = 5000
    assert violations == []


@pytest.fixture
def repo(fake: FakeGitHub) -> state.Repository:
    """A repository with a pull request, whose CI is up to the test."""
    made = fake.repository(f"octo/engine{len(fake.repositories)}")
    made.git.commit("main", {"engine/step.py": "a = 1\n"})
    made.git.commit("feature", {"engine/step.py": "a = 2\n"}, parent="main")
    people.open_pull(fake, made, "feature", title="Pack words", send=False)
    made.protection["main"] = []
    return made


@pytest.fixture
def collect(fake, repo, specbot, monkeypatch, tmp_path):
    """Runs the command; gives its result and the saved run."""

    def run(**permissions: str) -> tuple[str, CIRun]:
        read = dict.fromkeys(
            ("metadata", "contents", "actions", "checks", "statuses", "pull_requests"), "read"
        )
        token = state.Token("ghs_collect0123456789", fake.installations[0].id, {}, None, 9e18)
        token.permissions.update(
            {k: v for k, v in (read | {"administration": "read"} | permissions).items() if v}
        )
        fake.tokens[token.value] = token
        monkeypatch.setenv("GITHUB_TOKEN", token.value)
        monkeypatch.setenv("GITHUB_API_URL", fake.url)
        done = specbot("ci", "collect", "--pr", f"{repo.full_name}#1", "-o", tmp_path / "run")
        assert done.code == 0, done.err
        return done.out, load((tmp_path / "run/run.json").read_bytes())

    return run


def run_of(repo: state.Repository, *jobs: state.Job, **more: object) -> state.WorkflowRun:
    given = {
        "head_sha": repo.pulls[1].head_sha,
        "head_branch": "feature",
        "created_at": ago(hours=2),
    } | more
    made = state.WorkflowRun("unit tests", WORKFLOW, jobs=list(jobs), **given)  # type: ignore[arg-type]
    repo.runs.append(made)
    return made


def only(run: CIRun, name: str) -> Job:
    (found,) = (j for j in run.jobs if j.name == name)
    return found


def test_a_whole_run(fake, repo, collect, tmp_path):
    head, base = repo.pulls[1].head_sha, repo.git.sha("main")
    step = {"name": "pytest", "number": 3, "status": "completed", "conclusion": "failure"}
    steps = [step | {"started_at": ago(minutes=59), "completed_at": ago(minutes=56)}]
    red = job(
        "unit",
        "failure",
        log=LOG % (head.encode(), base.encode()),
        runner_name="gpu-3",
        steps=steps,
    )
    run = run_of(repo, red, job("lint"))
    red.log += b"Artifact junit-files has been successfully uploaded! Artifact ID is %d\n" % (
        fake_id := state.number()
    )
    run.artifacts.append(
        state.Artifact("junit-files", zipped(**{"a/b.xml": JUNIT, "cov.xml": COVERAGE}), id=fake_id)
    )
    repo.check_runs.append(
        state.CheckRun("codecov/patch", head, 77, "completed", "failure", summary="60% of diff hit")
    )
    repo.statuses.append(
        state.Status(head, "Approval", "failure", fake.user("cla"), "needs approval")
    )
    repo.rulesets["main"] = [("unit", None), ("docs", None)]
    repo.protection["main"] = [("Approval", None), ("xpu", None)]
    repo.pulls[1].decision = "APPROVED"
    _, saved = collect()
    unit = only(saved, "unit")
    assert (unit.workflow, unit.runner, unit.conclusion, unit.seconds) == (
        "unit tests",
        "gpu-3",
        Conclusion.FAILURE,
        300,
    )
    assert unit.steps[0].name == "pytest" and unit.log_state is LogState.PRESENT
    assert [p.split("-")[-1] for p in unit.junit] == ["b.xml"] and saved.coverage[0].job == unit.id
    assert (saved.revisions.base, saved.revisions.merge, saved.revisions.merge_base) == (
        base,
        "1f2e3d4c",
        base,
    )
    required = {j.name for j in saved.jobs if j.requirement is Requirement.REQUIRED}
    assert required == {"unit", "docs", "xpu", "Approval"}
    assert only(saved, "lint").requirement is Requirement.OPTIONAL
    assert {j.name for j in saved.jobs if j.status is Status.EXPECTED} == {"docs", "xpu"}
    assert only(saved, "codecov/patch").summary == "60% of diff hit"
    assert saved.pull.approved is True and saved.required_known and saved.problems == ()
    assert all((tmp_path / "run" / path).is_file() for path in paths(saved))


def test_the_saved_run_is_reported_on_without_github(
    fake, repo, collect, specbot, tmp_path, monkeypatch
):
    run_of(repo, job("unit", "failure", log=LOG))
    collect()
    before = len(fake.requests)
    monkeypatch.delenv("GITHUB_TOKEN")
    out = specbot("ci", "report", tmp_path / "run", "--format", "markdown").out
    assert "AssertionError: packed 3 instead of 5123" in out
    assert len(fake.requests) == before


def test_reruns_are_attempts_and_listed_again_is_no_rerun(repo, collect):
    first, again = (
        job("unit", "failure", at=90, log=LOG),
        job("unit", "failure", at=30, attempt=2, log=LOG),
    )
    lint = job("lint", at=90)
    listed_again = state.Job(
        "lint", attempt=2, started_at=lint.started_at, completed_at=lint.completed_at
    )
    run_of(repo, first, lint, again, listed_again, attempt=2)
    _, saved = collect()
    unit = only(saved, "unit")
    assert (unit.id, unit.attempt, len(unit.attempts)) == (str(again.id), 2, 1)
    assert (
        unit.attempts[0].conclusion is Conclusion.FAILURE and len(unit.attempts[0].signatures) == 1
    )
    assert only(saved, "lint").attempt == 1


def test_the_past_of_what_failed(fake, repo, collect):
    base = repo.git.sha("main")
    run_of(repo, job("unit", "failure", log=LOG), job("lint", None))
    run_of(
        repo,
        job("unit", "failure", log=LOG),
        job("lint"),
        head_sha=base,
        head_branch="main",
        event="push",
    )
    old = {"head_branch": "main", "event": "push", "created_at": ago(days=9)}
    run_of(repo, job("unit", "failure", log=LOG), head_sha="d" * 40, **old)
    for n in range(2):
        repo.git.commit(f"other{n}", {"engine/step.py": f"a = 1{n}\n"}, parent="main")
        pull = people.open_pull(fake, repo, f"other{n}", author=f"bob{n}", send=False)
        run_of(repo, job("unit", "failure", log=LOG), head_sha=pull.head_sha, conclusion="failure")
    _, saved = collect()
    places = [
        (p.where, p.job, p.conclusion, p.pull, p.author)
        for p in saved.history
        if p.test or p.job == "lint"
    ]
    assert (Where.MERGE_BASE, "unit", Conclusion.FAILURE, 0, "") in places
    assert (Where.MERGE_BASE, "lint", Conclusion.SUCCESS, 0, "") in places
    assert [(p[3], p[4]) for p in places if p[0] is Where.PULL] in (
        [(2, "bob0"), (3, "bob1")],
        [(3, "bob1"), (2, "bob0")],
    )
    assert len({p.signature for p in saved.history if p.job == "unit"}) == 1
    assert "d" * 40 not in {p.commit for p in saved.history}


def test_requests_are_bounded(fake, repo, collect, monkeypatch):
    for where, name in ((joblogs, "MOST_LOGS"), (joblogs, "MOST_NOTES"), (other_runs, "MOST_LOGS")):
        monkeypatch.setattr(where, name, 3)
    monkeypatch.setattr(other_runs, "MOST_BASE_RUNS", 4)
    run_of(repo, *(job(f"unit {n}", "failure", log=LOG) for n in range(joblogs.MOST_LOGS + 2)))
    on_base = {"event": "push", "head_branch": "main"}
    for n in range(other_runs.MOST_BASE_RUNS + 2):
        run_of(
            repo,
            job("unit 0", "failure", log=LOG),
            job("unit 1", "failure"),
            head_sha=f"{n:040x}",
            **on_base,
        )
    before = len(fake.requests)
    collect()
    asked = [r.path for r in fake.requests[before:]]
    assert sum(p.endswith("/logs") for p in asked) == joblogs.MOST_LOGS + other_runs.MOST_LOGS
    assert sum(p.endswith("/annotations") for p in asked) == joblogs.MOST_NOTES
    assert sum(p.endswith("/jobs") for p in asked) == 1 + other_runs.MOST_BASE_RUNS


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        (True, LogState.EXPIRED),
        (403, LogState.DENIED),
        (404, LogState.FAILED),
        (500, LogState.FAILED),
    ],
)
def test_a_log_that_cannot_be_had(fake, repo, collect, gone, said):
    red = job("unit", "failure", log=LOG, log_gone=gone is True)
    run_of(repo, red)
    if gone is not True:
        fake.fault("GET", f"/jobs/{red.id}/logs", Answer(gone, {"message": "no"}), times=9)
    out, saved = collect()
    assert only(saved, "unit").log_state is said and only(saved, "unit").log == ""
    assert ("a log could not be downloaded" in out) == (gone is not True)


@pytest.mark.parametrize(
    ("without", "problem"),
    [
        ("actions", "problem-jobs"),
        ("checks", "problem-checks"),
        ("statuses", "problem-checks"),
        ("administration", "problem-required"),
        ("contents", "problem-history"),
    ],
)
def test_what_the_token_may_not_read_is_a_problem(repo, collect, without, problem):
    run_of(repo, job("unit", "failure", log=LOG))
    repo.rulesets["main"] = [("unit", None)]
    _, saved = collect(**{without: ""})
    assert problem in saved.problems
    assert saved.required_known == (without != "administration")
    if without == "administration":
        run_of(repo, job("lint"))
        # Of what has reported, GitHub itself says whether a merge waits for it.
        assert only(collect(administration="")[1], "lint").requirement is Requirement.OPTIONAL


def test_the_base_s_coverage_comes_along(repo, collect, tmp_path):
    """By name what came at the head, and what did not; from the base branch's own run and from no
    pull request's."""
    base = repo.git.sha("main")
    run = run_of(repo, job("unit"))
    run.artifacts.append(state.Artifact("unit-report", zipped(**{"cov.xml": COVERAGE})))
    for event, names in (
        ("push", ("unit-report", "coverage-gpu", "junit-report")),
        ("pull_request", ("coverage-x",)),
    ):
        there = run_of(repo, job("unit"), head_sha=base, head_branch="main", event=event)
        there.artifacts += [
            state.Artifact(name, zipped(**{"cov.xml": COVERAGE, "b.xml": JUNIT})) for name in names
        ]
    _, saved = collect()
    found = [(f.flag, "base" if f.commit == base else "head", f.job != "") for f in saved.coverage]
    assert found == [
        ("unit-report", "head", True),
        ("unit-report", "base", False),
        ("coverage-gpu", "base", False),
    ]
    assert all((tmp_path / "run" / path).is_file() for path in paths(saved))


def test_a_run_without_jobs_waits_for_an_approval(repo, collect):
    run_of(repo, conclusion="action_required")
    _, saved = collect()
    assert [(j.name, j.conclusion) for j in saved.jobs] == [
        ("unit tests", Conclusion.ACTION_REQUIRED)
    ]


@pytest.mark.parametrize("limit", [Answer(429, {"message": "later"}), secondary(60)])
def test_limits_end_what_is_optional(fake, repo, collect, limit):
    red = job("unit", "failure", log=LOG)
    run_of(repo, red)
    fake.fault("GET", f"/jobs/{red.id}/logs", limit, times=9)
    before = len(fake.requests)
    _, saved = collect()
    asked = [r.path for r in fake.requests[before:]]
    assert sum(p.endswith("/logs") for p in asked) == 1 and not any(
        "artifacts" in p or "compare" in p for p in asked
    )
    assert {"problem-logs", "problem-artifacts", "problem-history"} <= set(saved.problems)
    assert only(saved, "unit").log_state is LogState.FAILED


def test_limits_before_the_jobs_are_known_are_said(fake, repo, collect, specbot, tmp_path):
    collect()
    later = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW.timestamp()) + 3000)}
    fake.fault(
        "GET", "/actions/runs$", Answer(403, {"message": "API rate limit exceeded"}, later), times=9
    )
    done = specbot("ci", "collect", "--pr", f"{repo.full_name}#1", "-o", tmp_path / "run")
    assert done.code == 2 and "limits are reached" in done.err


def test_mistakes_in_the_call(fake, repo, collect, specbot, tmp_path, monkeypatch):
    collect()
    for text in ("octo/engine", "octo#1", "a/b/c#1", "octo/engine#x", "octo/engine#-1"):
        done = specbot("ci", "collect", "--pr", text, "-o", tmp_path / "x")
        assert done.code == 2 and "OWNER/REPO#N" in done.err
    done = specbot("ci", "collect", "--pr", f"{repo.full_name}#99", "-o", tmp_path / "x")
    assert done.code == 2 and "cannot be read: 404" in done.err
    (tmp_path / "full").mkdir()
    (tmp_path / "full/precious").write_text("keep")
    done = specbot("ci", "collect", "--pr", f"{repo.full_name}#1", "-o", tmp_path / "full")
    assert done.code == 2 and (tmp_path / "full/precious").read_text() == "keep"
    monkeypatch.delenv("GITHUB_TOKEN")
    monkeypatch.delenv("GH_TOKEN", raising=False)
    done = specbot("ci", "collect", "--pr", f"{repo.full_name}#1", "-o", tmp_path / "x")
    assert done.code == 2 and "`GITHUB_TOKEN`" in done.err


def test_results_are_given_to_no_job_where_it_is_not_certain(repo, collect):
    run = run_of(repo, job("unit", "failure", log=LOG), job("gpu"))
    run.artifacts.append(state.Artifact("test-results", zipped(**{"a.xml": JUNIT})))
    run.artifacts.append(state.Artifact("report-gpu", zipped(**{"a.xml": JUNIT})))
    _, saved = collect()
    assert only(saved, "unit").junit == () and len(only(saved, "gpu").junit) == 1
    assert [a.name for a in saved.artifacts] == ["test-results", "report-gpu"]


def test_the_token_is_nowhere(repo, collect, tmp_path):
    run_of(repo, job("unit", "failure", log=LOG))
    out, _ = collect()
    assert "ghs_" not in out
    assert all(
        b"ghs_" not in path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()
    )


# Archives of a stranger.


def test_a_bomb_is_refused(repo, collect):
    run = run_of(repo, job("unit", "failure", log=LOG))
    bomb = b"<testsuite>" + b"\0" * (30 << 20)
    run.artifacts.append(state.Artifact("junit", zipped(**{"a.xml": bomb})))
    _, saved = collect()
    assert only(saved, "unit").junit == () and "problem-artifacts" in saved.problems


def test_links_names_that_lead_elsewhere_and_other_files_are_left_out():
    link = zipfile.ZipInfo("link.xml")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(link, "<testsuite>/etc/passwd")
        for name in ("../../a.xml", "/abs.xml", "C:\\a.xml", "a.py", "plain.xml", "..\\b.xml"):
            archive.writestr(name, JUNIT)
        archive.writestr("other.xml", "<project/>")
        archive.writestr("sub dir/lcov.info", "TN:\nSF:a.py\n")
    found = list(reports(made.getvalue()))
    assert [(f.kind, f.name) for f in found] == [("junit", "plain.xml"), ("coverage", "lcov.info")]


def test_limits_of_an_archive(monkeypatch):
    monkeypatch.setattr(archives, "MOST_FILES", 2)
    with pytest.raises(BadArchive):
        list(reports(zipped(**{f"{n}.xml": JUNIT for n in range(3)})))
    monkeypatch.setattr(archives, "MOST_MEMBERS", 2)
    with pytest.raises(BadArchive):
        list(reports(zipped(**{f"{n}.txt": b"" for n in range(3)})))
    monkeypatch.setattr(archives, "LARGEST_ALL", len(JUNIT) + 1)
    with pytest.raises(BadArchive):
        list(reports(zipped(**{f"{n}.xml": JUNIT for n in range(2)})))


@given(st.binary(max_size=400), st.integers(0, 400), st.binary(min_size=1, max_size=9))
def test_a_broken_archive_never_crashes(junk, at, change):
    whole = zipped(**{"a.xml": JUNIT, "b.info": b"SF:a\n"})
    for data in (junk, whole[:at], whole[:at] + change + whole[at + len(change) :]):
        with contextlib.suppress(BadArchive):
            assert all(f.name and "/" not in f.name for f in reports(data))


def test_json_keeps_to_the_format(repo, collect, tmp_path):
    run_of(repo, job("unit", "failure", log=LOG))
    collect()
    raw = json.loads((tmp_path / "run/run.json").read_text("utf-8"))
    assert raw["version"] == 1 and raw["jobs"][0]["log"].startswith("logs/")


def test_the_last_try_of_the_merge_queue_belongs_to_its_pull_request(repo, collect):
    run_of(repo, job("unit"), event="pull_request")
    queue = f"gh-readonly-queue/main/pr-%d-{repo.git.sha('main')}"
    tries = (
        ("a", queue % 1, 3, "of-an-earlier-head"),
        ("b", queue % 1, 1.5, "before-the-last"),
        ("c", queue % 1, 1, "unit"),
        ("d", queue % 77, 1, "of-another-pull-request"),
        ("e", "feature-of-somebody", 1, "of-no-queue"),
    )
    for sha, branch, hours, name in tries:
        red = job(name, "failure", log=b"E   AssertionError: queue\n", runner_name="gpu-1")
        at = {"head_sha": sha * 40, "head_branch": branch, "created_at": ago(hours=hours)}
        run_of(repo, red, event="merge_group", **at)
    _, saved = collect()
    events = {(found.name, found.event): found.conclusion for found in saved.jobs}
    assert events == {
        ("unit", "pull_request"): Conclusion.SUCCESS,
        ("unit", "merge_group"): Conclusion.FAILURE,
    }
    assert [found.log_state for found in saved.jobs if found.failed] == [LogState.PRESENT]


def test_a_job_that_ran_for_two_events_says_for_which(repo, collect):
    run_of(repo, job("unit"), job("docs"), event="pull_request")
    run_of(repo, job("unit", "failure", log=b"x\n", runner_name="gpu-1"), event="push")
    _, saved = collect()
    assert {shown_name(found): found.conclusion for found in saved.jobs} == {
        "unit tests / unit (pull_request)": Conclusion.SUCCESS,
        "unit tests / unit (push)": Conclusion.FAILURE,
        "unit tests / docs": Conclusion.SUCCESS,
    }
