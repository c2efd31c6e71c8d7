"""The bundled example's first push, whose own tests are really run: the report names each cause,
from evidence."""

import subprocess
import sys

import pytest

from bot.configuration import load_configuration
from bot.git import BlobStore, Git, change_set, resolve
from checks.ci.analyse import analyse
from checks.ci.message_keys import Advice, Root
from checks.ci.report import Category, Cause, Outcome, Rerun
from checks.core.change import PullRequest
from checks.core.finding import Confidence
from checks.registry import RULES
from checks.review import review
from tests.ci.runs import Files, job, run
from tests.example.build import build

PROCESSOR = "lantern/output/token_processor.py"
STALE = {
    "tests/output/test_process_batch_output.py::TestProcessBatchOutput::test_speculative_decoding_use_logprobs": {
        38,
        65,
    },
    "tests/output/test_process_batch_output.py::TestProcessBatchOutput::test_preempted_slot_does_not_stop_the_others": {
        78
    },
    "tests/output/test_token_processor.py::test_speculative_logprob_target_batch": {63},
    "tests/output/test_token_processor.py::test_speculative_logprob_draft_batch": {82},
}
BASELINE = "tests/e2e/test_mtp_logprob_baseline.py::test_mtp_top_logprobs_match_baseline"
SERVING = "tests/pooling/test_reward_serving.py::test_reward_serving_answers_every_step"
PASSED = """<testsuite><testcase classname="tests.output.test_token_processor"
name="test_speculative_logprob_draft_batch"/></testsuite>"""


@pytest.fixture(scope="module")
def first_push(tmp_path_factory):
    """(change, findings, config, log, JUnit) of the example; the tests run in its repository."""
    folder = tmp_path_factory.mktemp("example")
    example = build(folder / "repo")
    junit = folder / "report.xml"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        f"--junitxml={junit}",
        "tests",
    ]
    done = subprocess.run(command, cwd=example.repo, stdout=subprocess.PIPE, check=False)
    assert done.returncode == 1
    git = Git(example.repo)
    pull = PullRequest(example.title, example.body, (), example.target_branch, known=True)
    with BlobStore(git) as blobs:
        change = change_set(
            git, blobs, resolve(git, example.base, example.head, merge_base=False), pull
        )
        config = load_configuration(change.base, None, None)
        findings = review(change, config, RULES).findings
        yield change, findings, config, done.stdout.decode(), junit.read_text()


@pytest.fixture(scope="module", params=["junit", "log"])
def report(request, first_push):
    """The report with JUnit, and by the log alone."""
    change, findings, config, log, junit = first_push
    named = ("junit",) if request.param == "junit" else ()
    return analyse(run(job(junit=named)), Files(log=log, junit=junit), change, findings, config)


def failures(report):
    return {f.test: f for f in report.failed[0].failures}


def test_stale_fixtures_are_named_with_their_places(report):
    for test, lines in STALE.items():
        failure = failures(report)[test]
        assert (failure.cause, failure.confidence, failure.error) == (
            Cause.THIS_PR, Confidence.HIGH, "IndexError: list index out of range",
        )  # fmt: skip
        assert failure.root.key == Root.PREDICTED
        assert failure.root.args["value"] == "actual_topk = 0"
        assert failure.root.args["exception"] == failure.error
        fixtures = [
            s.location for s in failure.suggestions if s.message.key == Advice.UPDATE_FIXTURE
        ]
        assert {(f.path, f.start_line) for f in fixtures} == {
            (test.split("::")[0], n) for n in lines
        }
        assert PROCESSOR in {place.path for place in failure.related}


def test_the_baseline_difference_is_tied_to_the_changed_logprob_path(report):
    failure = failures(report)[BASELINE]
    assert (failure.category, failure.cause, failure.rerun) == (
        Category.NUMERICAL,
        Cause.THIS_PR,
        Rerun.SAMPLES,
    )
    assert (failure.root.key, failure.root.args["what"]) == (Root.BASELINE, "max_logprobs")
    assert failure.error == "AssertionError: logprobs differ from the baseline"
    assert failure.suggestions[0].message.key == Advice.CHECK_BASELINE
    assert failure.suggestions[0].location.path == BASELINE.split("::")[0]


def test_the_reset_connection_is_a_consequence(report):
    assert sorted(failures(report)) == sorted([*STALE, BASELINE, SERVING])
    failure = failures(report)[SERVING]
    assert failure.error == "ConnectionResetError: [Errno 104] Connection reset by peer"
    assert (failure.cause, failure.confidence, failure.rerun) == (
        Cause.CONSEQUENCE,
        Confidence.HIGH,
        Rerun.WITH_CAUSE,
    )
    assert failure.root.args["first"] == "IndexError: list index out of range"
    assert {e.location.path for e in failure.evidence if e.weight >= 5} == {PROCESSOR}


def test_the_job_speaks_with_its_surest_cause(report):
    failed = report.failed[0]
    assert (failed.main.cause, failed.main.confidence) == (Cause.THIS_PR, Confidence.HIGH)
    assert 0 < len(failed.lines) <= 10
    assert any("IndexError: list index out of range" in line.text for line in failed.lines)


def test_every_prediction_is_confirmed(report):
    assert {p.outcome for p in report.predictions} == {Outcome.CONFIRMED}
    assert {p.test for p in report.predictions} == set(STALE)


def test_a_prediction_is_refuted_by_a_test_that_passed(first_push):
    change, findings, config, _, _ = first_push
    test = "tests/output/test_token_processor.py::test_speculative_logprob_draft_batch"
    made = analyse(
        run(job(junit=("junit",))), Files(log="", junit=PASSED), change, findings, config
    )
    assert {p.outcome for p in made.predictions if p.test == test} == {Outcome.REFUTED}
    assert {p.outcome for p in made.predictions if p.test != test} == {Outcome.NOT_RUN}


def test_without_the_review_the_frames_still_lead_to_the_change(first_push):
    change, _, config, log, _ = first_push
    made = analyse(run(job()), Files(log=log), change, (), config)
    for test in STALE:
        failure = failures(made)[test]
        assert (failure.cause, failure.root.key) == (Cause.THIS_PR, Root.IN_CHANGED)
        assert failure.root.args["path"] == PROCESSOR
    assert failures(made)[BASELINE].cause is Cause.UNKNOWN
