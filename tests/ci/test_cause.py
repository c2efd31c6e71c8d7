"""Whose a failure is: every cause needs its own evidence, and what has none is unknown."""

from dataclasses import replace
from datetime import timedelta

import pytest

from checks.ci.analyse import analyse, signatures
from checks.ci.message_keys import Advice, Note, Reason, Root
from checks.ci.model import Attempt, Conclusion, Past, Requirement, Status, Step, Where
from checks.ci.report import Category, Cause, Rerun
from checks.core.finding import Confidence
from tests.ci.runs import NOW, Files, change, job, run

LOG = """============================= test session starts ==============================
tests/test_rows.py F
=================================== FAILURES ===================================
__________________________________ test_rows ___________________________________

    def test_rows():
>       assert first([[1]], 3 >> 8) == 1

tests/test_rows.py:5:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _
    def first(rows, topk):
>       return rows[0][:topk][0]
E       IndexError: list index out of range

/home/ci/engine/engine/rows.py:3: IndexError
=========================== short test summary info ============================
FAILED tests/test_rows.py::test_rows - IndexError: list index out of range
============================== 1 failed in 0.02s ===============================
"""
CLOSE = LOG.replace(
    "IndexError: list index out of range", "AssertionError: logprobs differ from the baseline"
)
TEST = "from engine.rows import first\n\n\ndef test_rows():\n    assert first([[1]], 3 >> 8) == 1\n"
ROWS = "def first(rows, topk):\n    # columns\n    return rows[0][:topk][0]\n"
BASE = {
    "engine/rows.py": ROWS.replace("[:topk]", ""),
    "engine/other.py": "A = 1\n",
    "tests/test_rows.py": TEST,
}
HEAD = {**BASE, "engine/rows.py": ROWS}
ELSEWHERE = {**BASE, "engine/rows.py": ROWS, "engine/other.py": "A = 2\n"}
RELATED = change(BASE, HEAD)
UNRELATED = change({**BASE, "engine/rows.py": ROWS}, ELSEWHERE)
(SIGNATURE,) = signatures(Files(log=LOG).open("log"))


def explained(a_job=None, log=LOG, linked=UNRELATED, **fields):
    report = analyse(run(a_job or job(), **fields), Files(log=log), linked)
    return report.failed[0].main


def keys(failure):
    return [e.message.key for e in failure.evidence]


def past(where, **fields):
    given = {"commit": "c0ffee", "date": NOW - timedelta(days=1), "conclusion": Conclusion.FAILURE}
    return Past(where, "unit", **{**given, "signature": SIGNATURE, **fields})


def test_a_frame_on_an_added_line_is_this_change():
    main = explained(linked=RELATED)
    assert (main.cause, main.confidence, main.category) == (
        Cause.THIS_PR,
        Confidence.HIGH,
        Category.TEST_FAILURE,
    )
    assert main.root.key == Root.IN_CHANGED
    assert (main.root.args["path"], main.root.args["line"], main.root.args["function"]) == (
        "engine/rows.py",
        3,
        "first",
    )
    assert keys(main)[:2] == [Reason.FRAME_LINE, Reason.IMPORTS]
    look_at, run_test = main.suggestions
    assert (look_at.message.key, look_at.location.path, look_at.location.start_line) == (
        Advice.LOOK_AT,
        "engine/rows.py",
        3,
    )
    assert (run_test.message.key, run_test.location) == (Advice.RUN_TEST, None)
    assert main.test == "tests/test_rows.py::test_rows"
    assert main.rerun is Rerun.AFTER_FIX


def test_without_evidence_it_is_unknown_and_never_flaky():
    main = explained()
    assert (main.cause, main.confidence, main.rerun) == (Cause.UNKNOWN, Confidence.LOW, Rerun.ASK)
    assert Reason.NO_PATH in keys(main)
    assert explained(linked=None).cause is Cause.UNKNOWN


def test_a_package_that_does_not_lie_at_the_top_is_imported_too():
    base, head = (
        {p.replace("engine/", "python/engine/"): text for p, text in tree.items()}
        for tree in (BASE, HEAD)
    )
    main = explained(linked=change(base, head))
    chains = [e.message.args["chain"] for e in main.evidence if e.message.key == Reason.IMPORTS]
    assert chains == ["tests/test_rows.py -> python/engine/rows.py"]
    assert Reason.NO_PATH not in keys(main)


def test_the_same_failure_on_the_merge_base_is_the_base_branch():
    main = explained(history=(past(Where.MERGE_BASE),))
    assert (main.cause, main.root.args["commit"]) == (Cause.BASE, "c0ffee")
    assert main.evidence[0].past is not None and main.rerun is Rerun.AFTER_FIX


def test_a_failure_that_the_base_branch_got_rid_of_is_not_the_base_branch():
    failed = past(Where.BASE, date=NOW - timedelta(days=3))
    passed = past(
        Where.BASE, conclusion=Conclusion.SUCCESS, signature="", date=NOW - timedelta(days=2)
    )
    assert explained(history=(failed,)).cause is Cause.BASE
    assert explained(history=(failed, passed)).cause is Cause.UNKNOWN
    assert explained(history=(replace(failed, job="lint"),)).cause is Cause.UNKNOWN


@pytest.mark.parametrize(
    ("others", "cause"),
    [
        ([{"pull": 8, "author": "bob"}, {"pull": 9, "author": "cy"}], Cause.FLAKY),
        ([{"pull": 8, "author": "bob"}], Cause.UNKNOWN),
        ([{"pull": 8, "author": "bob"}, {"pull": 8, "author": "bob"}], Cause.UNKNOWN),
        ([{"pull": 8, "author": "ann"}, {"pull": 9, "author": "cy"}], Cause.UNKNOWN),
        ([{"pull": 7, "author": "bob"}, {"pull": 9, "author": "cy"}], Cause.UNKNOWN),
        (
            [
                {"pull": 8, "author": "bob"},
                {"pull": 9, "author": "cy", "date": NOW - timedelta(days=8)},
            ],
            Cause.UNKNOWN,
        ),
        (
            [{"pull": 8, "author": "bob"}, {"pull": 9, "author": "cy", "signature": "0" * 16}],
            Cause.UNKNOWN,
        ),
    ],
)
def test_flaky_needs_two_other_pull_requests_of_others_within_seven_days(others, cause):
    assert explained(history=tuple(past(Where.PULL, **o) for o in others)).cause is cause


def test_passed_and_failed_on_one_commit_is_flaky_unless_the_change_is_where_it_failed():
    again = job(attempt=2, attempts=(Attempt(1, Conclusion.SUCCESS),))
    main = explained(again)
    assert (main.cause, main.root.key) == (Cause.FLAKY, Root.FLAKY_RERUN)
    linked = explained(again, linked=RELATED)
    assert linked.cause is Cause.UNKNOWN
    assert {Reason.FRAME_LINE, Reason.PASSED_ELSEWHERE} <= set(keys(linked))
    assert (
        explained(job(attempt=2, attempts=(Attempt(1, Conclusion.FAILURE),))).cause is Cause.UNKNOWN
    )


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({}, Cause.FLAKY),
        ({"test": "tests/test_rows.py::test_rows"}, Cause.FLAKY),
        ({"test": "tests/test_rows.py::test_other"}, Cause.UNKNOWN),
        ({"commit": "older"}, Cause.UNKNOWN),
        ({"where": Where.BASE, "pull": 0}, Cause.UNKNOWN),
        ({"job": "lint"}, Cause.UNKNOWN),
    ],
)
def test_another_run_of_this_pull_request_on_this_commit_passed(fields, cause):
    passed = past(Where.PULL, pull=7, commit="head", conclusion=Conclusion.SUCCESS, signature="")
    assert explained(history=(replace(passed, **fields),)).cause is cause


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"linked": RELATED},
        {
            "history": (
                replace(
                    past(Where.MERGE_BASE), signature=signatures(Files(log=CLOSE).open("log"))[0]
                ),
            )
        },
        {"a_job": job(attempt=2, attempts=(Attempt(1, Conclusion.SUCCESS),))},
    ],
)
def test_a_number_is_never_rerun_away(fields):
    main = explained(log=CLOSE, **fields)
    assert main.category is Category.NUMERICAL
    assert main.rerun is Rerun.SAMPLES
    assert Advice.NEVER_RERUN in [s.message.key for s in main.suggestions]


LOST = "##[error]The runner has received a shutdown signal. This can happen when the runner service is stopped.\n"


def test_infrastructure_is_rerun_once():
    first = explained(log=LOST)
    assert (first.cause, first.category, first.rerun) == (
        Cause.INFRASTRUCTURE,
        Category.RUNNER_LOST,
        Rerun.ONCE,
    )
    second = explained(job(attempt=2, attempts=(Attempt(1, Conclusion.FAILURE),)), log=LOST)
    assert (second.cause, second.rerun) == (Cause.INFRASTRUCTURE, Rerun.ASK)


def test_a_lost_runner_outranks_failed_tests():
    report = analyse(run(job()), Files(log=LOG + LOST), RELATED)
    assert report.failed[0].main.category is Category.RUNNER_LOST
    assert [f.test for f in report.failed[0].failures] == ["", "tests/test_rows.py::test_rows"]


def test_an_unexplained_end_of_the_job_does_not_hide_a_test_that_this_change_broke():
    report = analyse(
        run(job()), Files(log="Memory cgroup out of memory: Killed process 4\n" + LOG), RELATED
    )
    assert [f.category for f in report.failed[0].failures] == [
        Category.HOST_OOM,
        Category.TEST_FAILURE,
    ]
    assert report.failed[0].main.cause is Cause.THIS_PR


DOWNLOAD = "WARNING: Retrying (Retry(total=0)) after connection broken: /simple/torch/\n"


@pytest.mark.parametrize(
    ("head", "cause"),
    [
        ({"engine/other.py": "A = 3\n"}, Cause.INFRASTRUCTURE),
        ({"requirements/ci.txt": "torch\n"}, Cause.UNKNOWN),
        ({".github/workflows/ci.yml": "on: push\n"}, Cause.UNKNOWN),
    ],
)
def test_a_failed_download_may_be_the_change_s_own(head, cause):
    step = Step(3, "Install", conclusion=Conclusion.FAILURE)
    main = explained(job(steps=(step,)), log=DOWNLOAD, linked=change({}, head))
    assert (main.category, main.cause) == (Category.NETWORK, cause)


def test_a_download_inside_a_test_is_not_infrastructure():
    step = Step(3, "Run tests", conclusion=Conclusion.FAILURE)
    main = explained(
        job(steps=(step,)), log="=== test session starts ===\ncollected 1 item\n" + DOWNLOAD
    )
    assert main.cause is Cause.UNKNOWN


RESET = LOG.replace(
    "IndexError: list index out of range",
    "ConnectionResetError: [Errno 104] Connection reset by peer",
)
DIED = "[engine] ERROR engine worker 0 died unexpectedly\n"


def test_a_reset_connection_follows_from_the_server_that_died():
    main = explained(log=DIED + RESET)
    assert (main.cause, main.confidence, main.rerun) == (
        Cause.CONSEQUENCE,
        Confidence.MEDIUM,
        Rerun.WITH_CAUSE,
    )
    assert main.root.args["likely"] is False
    assert main.evidence[0].line is not None and main.evidence[0].line.text == DIED.strip()
    assert explained(log=RESET).cause is Cause.UNKNOWN


def test_a_job_that_needs_a_failed_one_follows_from_it():
    build = job("1", "build", log="")
    test = job("2", "test", log="", conclusion=Conclusion.SKIPPED, needs=("1",))
    report = analyse(run(build, test), Files())
    skipped = report.failed[1].main
    assert (skipped.category, skipped.cause) == (Category.SKIPPED_NEED, Cause.CONSEQUENCE)
    assert skipped.root.args == {"needs": "build"}


def test_what_needs_a_person():
    named = explained(job(name="Approval", log=""), log="")
    assert (named.cause, named.category, named.rerun) == (Cause.PERSON, Category.APPROVAL, Rerun.NO)
    waiting = explained(job(log="", conclusion=Conclusion.ACTION_REQUIRED))
    assert waiting.cause is Cause.PERSON
    template = explained(
        job(name="Check PR Template"), log="PR title does not start with a known tag\n"
    )
    assert (template.cause, template.category) == (Cause.PERSON, Category.PR_TEMPLATE)


def test_a_job_whose_tests_never_started():
    setup = (
        Step(1, "Set up job", conclusion=Conclusion.SUCCESS),
        Step(2, "Initialize containers", conclusion=Conclusion.FAILURE),
    )
    main = explained(job(log="", steps=setup))
    assert (main.cause, main.root.key, main.root.args["step"]) == (
        Cause.INFRASTRUCTURE,
        Root.NEVER_STARTED,
        "Initialize containers",
    )
    nothing = explained(job(log="", runner=""))
    assert (nothing.cause, nothing.root.key) == (Cause.UNKNOWN, Root.NO_LOG)
    assert Reason.NO_RUNNER in keys(nothing)


def test_a_crash_of_the_analysis_is_unknown():
    class Broken:
        def open(self, name):
            raise RuntimeError(name)

    report = analyse(run(job(), job("2", "other", log="")), Broken(), RELATED)
    assert [(f.main.cause, f.main.category) for f in report.failed] == [
        (Cause.UNKNOWN, Category.UNKNOWN)
    ] * 2
    assert [n.key for n in report.notes] == [Note.CRASHED]


def test_an_op_is_followed_to_its_device_code():
    kernel = "__global__ void verify_kernel(int* out) {{\n  out[0] = {};\n}}\n"
    host = "void Verify(const paddle::Tensor& t) {\n  verify_kernel<<<1, 32>>>(t.data<int>());\n}\n"
    op = 'PD_BUILD_STATIC_OP(speculate_verify).Inputs({"t"}).SetKernelFn(PD_KERNEL(Verify));\n'
    files = {"csrc/verify.cu": kernel.format(1) + host + op}
    linked = change(files, {"csrc/verify.cu": kernel.format(2) + host + op})
    main = explained(log=LOG.replace("first(", "speculate_verify("), linked=linked)
    assert (main.cause, main.root.key) == (Cause.THIS_PR, Root.OP)
    assert (main.root.args["op"], main.root.args["path"]) == ("speculate_verify", "csrc/verify.cu")


def test_the_failed_step_is_read_first():
    def stamped(second, line):
        return f"2026-06-10T11:00:{second:02}.5000000Z {line}\n"

    log = stamped(1, "torch.OutOfMemoryError: CUDA out of memory") + stamped(
        9, "E   ValueError: no draft"
    )
    at = NOW.replace(hour=11, minute=0)
    step = Step(
        4,
        "Test",
        conclusion=Conclusion.FAILURE,
        started=at + timedelta(seconds=5),
        completed=at + timedelta(seconds=10),
    )
    assert explained(job(steps=(step,)), log=log).category is Category.TEST_FAILURE
    assert explained(log=log).category is Category.DEVICE_OOM
    late = replace(step, started=at + timedelta(seconds=20), completed=at + timedelta(seconds=30))
    assert explained(job(steps=(late,)), log=log).category is Category.DEVICE_OOM


def test_signatures_do_not_change_with_numbers_paths_and_lines():
    other = (
        LOG.replace("/home/ci/engine", "/data/9/ws")
        .replace("rows.py:3", "rows.py:77")
        .replace("0.02s", "9.1s")
    )
    assert signatures(Files(log=other).open("log")) == (SIGNATURE,)
    numbers = [
        LOG.replace("list index", f"row {n} at 0x7f{n}0 of /tmp/a{n}/b.bin,") for n in (3, 418)
    ]
    assert len({signatures(Files(log=log).open("log")) for log in numbers}) == 1
    assert signatures(Files(log=LOG.replace("list index", "tuple index")).open("log")) != (
        SIGNATURE,
    )
    assert signatures(Files(log="##[error]Process completed with exit code 1.\n").open("log")) == ()


def test_totals_missing_and_running():
    start = NOW - timedelta(minutes=30)
    jobs = (
        job("1", "unit", attempt=3),
        job("2", "lint", conclusion=Conclusion.SUCCESS),
        job("3", "doc", conclusion=Conclusion.SUCCESS, requirement=Requirement.OPTIONAL),
        job(
            "4",
            "e2e",
            status=Status.IN_PROGRESS,
            conclusion=Conclusion.NONE,
            started=start,
            queued=start,
        ),
        job("5", "xpu", status=Status.EXPECTED, conclusion=Conclusion.NONE),
        job("6", "skip", conclusion=Conclusion.SKIPPED),
    )
    took = [
        Past(Where.BASE, "e2e", "c", NOW, Conclusion.SUCCESS, seconds=s) for s in (2400, 3600, 2700)
    ]
    report = analyse(run(*jobs, history=tuple(took)), Files(log=LOG))
    totals = report.totals
    assert (
        totals.jobs,
        totals.passed,
        totals.failed,
        totals.running,
        totals.waiting,
        totals.skipped,
    ) == (
        6,
        2,
        1,
        1,
        1,
        1,
    )
    assert (totals.reruns, totals.required, totals.required_passed) == (2, 5, 2)
    assert [(m.job.name, m.waited) for m in report.missing] == [("xpu", 1800)]
    assert [(r.job.name, r.elapsed, r.remaining, r.runs) for r in report.running] == [
        ("e2e", 1800, 900, 3)
    ]
    assert analyse(run(*jobs, required_known=False), Files(log=LOG)).totals.required is None


def test_the_report_is_the_same_every_time():
    a_run = run(
        job(),
        job("2", "other", requirement=Requirement.OPTIONAL),
        history=(past(Where.MERGE_BASE),),
    )
    first, second = (analyse(a_run, Files(log=DIED + RESET), change(BASE, HEAD)) for _ in range(2))
    assert first == second
