"""The report quotes the line in which a log names a failure, next to the one that tells why."""

from checks.ci.analyse import analyse
from checks.ci.message_keys import Reason
from checks.ci.report import Category, Failure
from tests.ci.runs import Files
from tests.ci_logs.measure import change_of, full, run_of
from tests.ci_logs.windows import Window

CHAIN = """\
Traceback (most recent call last):
  File "/src/tools/merge.py", line 40, in pick
    run("cherry-pick", commit)
subprocess.CalledProcessError: Command '['git', 'cherry-pick']' returned non-zero exit status 1.

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/src/tools/merge.py", line 44, in <module>
    main()
RuntimeError: the stack cannot be picked onto main
CONFLICT (content): Merge conflict in engine/draft.py
error: could not apply 4f1c2ab... verify: take the longest prefix"""

WRAPPER = """\
Traceback (most recent call last):
  File "/src/tests/test_draft.py", line 12, in <module>
    LIMIT = engine.draft_limit
AttributeError: module 'engine' has no attribute 'draft_limit'
Got exit code 1
Traceback (most recent call last):
  File "/src/tests/run.py", line 80, in <module>
    main()
RuntimeError: test_draft 1/1 failed!"""

TRACEBACK = """\
=================================== FAILURES ===================================
____________ TestVerify.test_longest_prefix ____________
Traceback (most recent call last):
  File "/src/tests/test_verify.py", line 31, in test_longest_prefix
    accept(draft, target)
/opt/env/lib/python3.11/site-packages/tensors/view.py:82: UserWarning: slow
engine.errors.ShapeError: 3 tokens for 4 places"""

BARE = """\
RuntimeError: NCCL error in: /src/csrc/group.cpp:404, unhandled system error, NCCL version 2.20.5
======================================================================
FAIL: test_gather (__main__.TestGroup)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "test_group.py", line 21, in test_gather
    self.join()
AssertionError
"""


def main_failure(log: str) -> Failure:
    window = Window("window", "unknown", "open", "own", tuple(log.split("\n")))
    report = analyse(
        run_of(window), Files(log=full(window, after=200)), change_of("engine/other.py")
    )
    return report.failed[0].main


def named(failure: Failure) -> list[str]:
    lines = [e.line for e in failure.evidence if e.message.key == Reason.NAMED]
    return [line.text for line in lines if line is not None]


def test_what_a_program_raised_from_another_error():
    assert named(main_failure(CHAIN)) == ["RuntimeError: the stack cannot be picked onto main"]


def test_an_exception_that_was_raised_from_none_is_not_quoted_twice():
    alone = CHAIN.split("\n\n")[0]
    assert named(main_failure(alone)) == []


def test_a_file_that_the_runner_says_to_have_failed():
    failure = main_failure(WRAPPER)
    assert failure.category is Category.TEST_FAILURE
    assert failure.error.startswith("AttributeError: ")
    assert named(failure) == ["RuntimeError: test_draft 1/1 failed!"]


def test_the_heading_of_a_test_and_no_file_of_an_installed_package():
    failure = main_failure(TRACEBACK)
    assert failure.test == "TestVerify.test_longest_prefix"
    assert named(failure) == ["____________ TestVerify.test_longest_prefix ____________"]


def test_a_device_that_failed_before_a_test_that_says_nothing():
    failure = main_failure(BARE)
    assert failure.category is Category.DEVICE_ERROR
    assert failure.error.startswith("RuntimeError: NCCL error in")


def test_a_test_that_says_something_speaks_for_itself():
    failure = main_failure(BARE.replace("AssertionError\n", "AssertionError: 3 != 4\n"))
    assert failure.test == "test_gather (__main__.TestGroup)"


TALLY = """\
Error:
SamplerTest#test_rejects:
Sampler::Template::Error: undefined method 'to_rows' for an instance of Sampler::Batch
    lib/sampler/batch.rb:42:in 'render'

116 runs, 259 assertions, 0 failures, 1 errors, 0 skips
ERROR: Command failed:"""

WHEEL = """\
      CMake Error at /opt/python/share/cmake/LoadDevice.cmake:70 (message):
        No architecture was given.
      error: command '/opt/python/bin/cmake' failed with exit code 1
  ERROR: Failed building wheel for engine-ops
Failed to build engine-ops"""


def test_a_tally_of_tests_is_not_quoted_where_an_error_stands_before_it():
    failure = main_failure(TALLY)
    assert failure.category is Category.TEST_FAILURE
    assert failure.error.startswith("Sampler::Template::Error: undefined method 'to_rows'")


def test_what_failed_inside_of_an_installation_and_what_was_installed():
    failure = main_failure(WHEEL)
    assert failure.category is Category.BUILD_ERROR
    assert failure.error.startswith("CMake Error at /opt/python")
    assert named(failure) == ["  ERROR: Failed building wheel for engine-ops"]


def test_a_panic_stands_for_the_tally_of_its_tests():
    log = (
        "    test store::tests::keeps_order ... FAILED\n"
        "    test result: FAILED. 0 passed; 1 failed; 0 ignored; finished in 0.00s\n"
        "    thread 'store::tests::keeps_order' (4119) panicked at src/store.rs:225:5:\n"
        "    assertion failed: rows.is_sorted()"
    )
    failure = main_failure(log)
    assert failure.error.startswith("thread 'store::tests::keeps_order'")
    assert failure.category is Category.TEST_FAILURE


def test_the_package_stands_for_the_solver():
    log = (
        "Encountered problems while solving:\n"
        "  - nothing provides requested words\n"
        "critical libmamba UnsatisfiableError"
    )
    assert main_failure(log).error == "- nothing provides requested words"


def test_the_process_speaks_for_the_step_of_its_container():
    log = (
        "#14 [stage 3/5] RUN draftctl install --offline\n"
        "#14 0.412 error: the index of drafts has no entry for this machine\n"
        "------\n > [stage 3/5] RUN draftctl install --offline:\n"
        "0.412 error: the index of drafts has no entry for this machine\n------\nDockerfile:9\n"
        'ERROR: failed to solve: process "/bin/sh -c draftctl install --offline" did not complete'
        " successfully: exit code: 3\n"
    )
    failure = main_failure(log)
    assert failure.category is Category.BUILD_ERROR
    assert failure.error == "error: the index of drafts has no entry for this machine"
