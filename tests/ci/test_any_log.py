"""Whatever a log holds, the analysis answers: no crash, ten lines at most, and nothing flaky
without evidence."""

import random
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from checks.ci.analyse import analyse
from checks.ci.log_failures import failures_in_log
from checks.ci.log_ranges import lines_between
from checks.ci.message_keys import Note
from checks.ci.report import Cause
from tests.ci.runs import Files, change, job, run
from tests.ci_logs.windows import SETS, load

LINES = [line for name in SETS for window in load(name) for line in window.lines]
LINKED = change({}, {"engine/proposer.py": "def propose(step_idx):\n    return step_idx\n"})


def check(log, **fields):
    report = analyse(run(job(**fields)), Files(log=log, junit=log), LINKED)
    assert not [n for n in report.notes if n.key == Note.CRASHED]
    (failed,) = report.failed
    assert failed.main in failed.failures
    assert len(failed.lines) <= 10
    for failure in failed.failures:
        assert failure.cause not in (Cause.FLAKY, Cause.BASE)
        assert len(failure.lines) <= 10 and failure.suggestions
    return report


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 60), st.booleans())
def test_lines_of_many_failures_in_any_order(seed, count, colours):
    chance = random.Random(seed)
    lines = [chance.choice(LINES) for _ in range(count)]
    log = "\n".join(f"\x1b[31m{line}\x1b[0m" if colours else line for line in lines)
    assert check(log) == check(log)


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=600))
def test_any_bytes(log):
    check(log, junit=("junit",))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 40))
def test_lines_between_are_the_log_s_own(seed, first, length):
    chance = random.Random(seed)
    numbered = [f"{n}: {chance.choice('abc')}" for n in range(1, 41)]
    log = Files(log="\n".join(numbered)).open("log")
    found = [line.text for line in lines_between(log, first, first + length)]
    assert found == numbered[first - 1 : first + length]


def test_an_empty_log_is_said_and_unknown():
    report = check("")
    assert [n.key for n in report.failed[0].notes] == [Note.LOG_EMPTY]
    assert report.failed[0].main.cause is Cause.UNKNOWN
    assert failures_in_log(Files(log="").open("log"))[0] == ()


def test_a_log_of_many_failed_tests_is_read_in_linear_time():
    log = "".join(f"--- FAIL: Test{n}/x (0.1s)\n    a_test.go:{n}: no\n" for n in range(20_000))
    begun = time.process_time()
    check(log)
    # Two seconds; comparing each name with every other took forty.
    assert time.process_time() - begun < 15


def test_utf_16_without_its_mark_is_read():
    log = "loading the drafts\nRuntimeError: CUDA error: an illegal memory access was encountered\n"
    (failed,) = check(log.encode("utf-16-le")).failed
    assert failed.main.error == log.split("\n")[1]


def test_hundreds_of_failures_are_counted():
    cases = "".join(
        f'<testcase classname="tests.test_a" name="t{n}"><failure message="m">x</failure></testcase>'
        for n in range(70)
    )
    report = analyse(
        run(job(junit=("junit",))), Files(log="", junit=f"<testsuite>{cases}</testsuite>")
    )
    (failed,) = report.failed
    assert (len(failed.failures), failed.left_out) == (50, 20)
    assert Note.MANY_FAILURES in [n.key for n in failed.notes]
