"""Every session of a log is read: each failing test once, with its own cause."""

from dataclasses import replace

import pytest

from checks.ci.analyse import analyse
from checks.ci.log_failures import failures_in_log
from checks.ci.model import Conclusion
from checks.ci.report import Category, Cause
from checks.core.finding import Confidence
from tests.ci import script_run
from tests.ci.runs import Files, change, job, run
from tests.ci.script_run import (
    BASELINE,
    CRASH,
    INDEX_ERROR,
    NOT_COLLECTED,
    PASSED,
    RESET,
    SERVER_LOG,
    interleave,
    one_file,
)

PROCESSOR = {
    "engine/token_processor.py": "def run(row):\n" + "    pass\n" * 10 + "    first = row[0]\n"
}
CHANGE = change({}, PROCESSOR)


def failing_tests(log):
    found, _ = failures_in_log(Files(log=log).open("log"))
    return {failure.test: failure for failure in found if failure.test}


def whole_log():
    return script_run.log(
        one_file("tests/e2e/test_a.py", PASSED),
        one_file("tests/e2e/test_mtp.py", BASELINE),
        one_file("tests/e2e/test_reward.py", RESET, SERVER_LOG),
        interleave(
            one_file("tests/output/test_tokens.py", INDEX_ERROR),
            one_file("tests/ops/test_gather.py", PASSED),
        ),
        interleave(
            one_file("tests/output/test_more_tokens.py", INDEX_ERROR),
            one_file("tests/ops/test_crash.py", CRASH),
        ),
        one_file("tests/ops/test_import.py", NOT_COLLECTED),
    )


def test_every_failing_test_is_listed_once_with_its_own_error():
    errors = {test: failure.error for test, failure in failing_tests(whole_log()).items()}
    assert errors == {
        "tests/e2e/test_mtp.py::test_logprobs": "AssertionError: logprobs differ from the baseline",
        "tests/e2e/test_reward.py::test_reward": (
            "ConnectionResetError: [Errno 104] Connection reset by peer"
        ),
        "tests/output/test_tokens.py::TestTokens::test_row": "IndexError: list index out of range",
        "tests/output/test_more_tokens.py::TestTokens::test_row": (
            "IndexError: list index out of range"
        ),
        "tests/ops/test_crash.py::test_large": "Fatal Python error: Segmentation fault",
        "tests/ops/test_import.py": "ImportError: cannot import name 'gather_all' from 'engine.ops'",
    }


def test_twelve_jobs_with_four_causes():
    good = [job(str(n), f"job-{n}", conclusion=Conclusion.SUCCESS, log="") for n in range(8)]
    bad = [
        job("tests", "run_tests_with_coverage"),
        job("approval", "Approval", log="approval"),
        job("build", "build", log="build"),
        job("lint", "lint", log="lint"),
    ]
    files = Files(
        log=whole_log(),
        approval="You must have one engine RD (ann(an), bo-b(bo)) approval for adding custom op.\n",
        build="engine/a.cu(3): error: identifier x is undefined\n",
        lint="engine/a.py:3:1: F401 'os' imported but unused\n",
    )
    report = analyse(run(*good, *bad), files, CHANGE)
    assert report.notes == ()
    by_name = {failed.job.name: failed for failed in report.failed}
    assert len(by_name) == 4
    causes = {f.test: f.cause for f in by_name["run_tests_with_coverage"].failures}
    assert causes == {
        "tests/e2e/test_mtp.py::test_logprobs": Cause.UNKNOWN,
        "tests/e2e/test_reward.py::test_reward": Cause.CONSEQUENCE,
        "tests/output/test_tokens.py::TestTokens::test_row": Cause.THIS_PR,
        "tests/output/test_more_tokens.py::TestTokens::test_row": Cause.THIS_PR,
        "tests/ops/test_crash.py::test_large": Cause.UNKNOWN,
        "tests/ops/test_import.py": Cause.UNKNOWN,
    }


def test_what_only_came_after_another_failure_may_follow_from_it():
    log = script_run.log(
        one_file("tests/output/test_tokens.py", INDEX_ERROR),
        one_file("tests/e2e/test_reward.py", RESET),
    )
    (failed,) = analyse(run(job("tests", "unit")), Files(log=log), CHANGE).failed
    (reset,) = [f for f in failed.failures if f.test == "tests/e2e/test_reward.py::test_reward"]
    assert (reset.cause, reset.confidence) == (Cause.CONSEQUENCE, Confidence.LOW)
    assert reset.root.args["likely"] is True


def test_the_category_is_each_test_s_own():
    categories = {test: failure.category for test, failure in failing_tests(whole_log()).items()}
    assert categories["tests/e2e/test_mtp.py::test_logprobs"] is Category.NUMERICAL
    assert categories["tests/ops/test_crash.py::test_large"] is Category.SIGNAL
    assert categories["tests/ops/test_import.py"] is Category.COLLECTION_ERROR


@pytest.mark.parametrize(
    ("log", "names"),
    [
        ("[ RUN      ] A.b\na.cc:3: Failure\nExpected: 1\n[  FAILED  ] A.b (3 ms)\n[  FAILED  ] A.b\n", ["A.b"]),
        ("--- FAIL: TestA (0.1s)\n    --- FAIL: TestA/x (0.0s)\n        a_test.go:3: no\nFAIL\n", ["TestA/x"]),
        ("FAIL: test_x (m.TestM)\n-----\nTraceback\nAssertionError: 1 != 2\n\nRan 1 test in 0.1s\n", ["test_x (m.TestM)"]),
        ("test a::b ... ok\ntest a::c ... FAILED\n", ["a::c"]),
        ("1/2 Test #1: one ...........   Passed    0.1 sec\n2/2 Test #2: two ...........***Failed    0.1 sec\n", ["two"]),
        ("        FAIL [   0.012s] crate tests::x\n", ["crate tests::x"]),
        ("[  FAILED  ] 1 test, listed below:\n[  FAILED  ] A/1.b, where TypeParam = double\n", ["A/1.b"]),
        ("The following tests FAILED:\n\t 6 - drafts (Failed)\n\t 32 - trace (Not Run)\n", ["drafts", "trace"]),
        ("2/2 Test #2: two ...........***Failed    0.1 sec\nThe following tests FAILED:\n\t 2 - two (Failed)\n", ["two"]),
        ("//ops:pass_test      PASSED in 2.1s\n//ops:verify_test    FAILED in 2 out of 2 in 0.6s\n", ["//ops:verify_test"]),
        ("//ops:slow_test     TIMEOUT in 900.0s\n", ["//ops:slow_test"]),
        ("[  FAILED  ] A.b (3 ms)\n//ops:verify_test    FAILED in 0.6s\n", ["A.b"]),
        ("---- a::b stdout ----\nthread 'a::b' panicked at src/a.rs:3:4:\nno\n", ["a::b"]),
        ("---- a::b stdout ----\naccepted 3 of 4\n", []),
        ("ERROR: setUpClass (m.TestM)\n-----\nTraceback\nValueError: no\n\nRan 0 tests in 0.1s\n", ["setUpClass (m.TestM)"]),
        ("Tue, 04 Mar 2031 08:10:02 GMT [gw3] [100%] FAILED tests/test_a.py::test_x\n", ["tests/test_a.py::test_x"]),
        ("[gw1] [ 50%] FAILED tests/test_a.py::test_x \n", ["tests/test_a.py::test_x"]),
        ("FAILED [310.02s] tests/test_a.py::test_x - RuntimeError: no\n", ["tests/test_a.py::test_x"]),
        ("FAIL src/a.test.ts\n  ● drafts › accepts › four\n\n    expect(received).toBe(expected)\n", ["drafts › accepts › four"]),
        (
            "=========== FAILURES ===========\n______ tests/test_a.py ______\n[gw1] linux -- Python 3.12\n"
            "worker 'gw1' crashed while running 'tests/test_a.py::TestA::test_x[1]'\n"
            "______ tests/test_a.py ______\n[gw0] linux -- Python 3.12\n"
            "worker 'gw0' crashed while running 'tests/test_a.py::TestA::test_y'\n",
            ["tests/test_a.py::TestA::test_x[1]", "tests/test_a.py::TestA::test_y"],
        ),
        ("unknown location(0): fatal error: in \"raft/leader\": memory access violation at address: 0x17\n", ["raft/leader"]),
        ("a.go:9: \n        \tError Trace:\ta.go:9\n        \tError:      \tno\n        \tTest:       \tTestA/x\n", ["TestA/x"]),
        ("/ci/Tests/A.swift:4: error: -[DraftTests.TreeTests test_depth] : XCTAssertEqual failed: (1) is not 2\n", ["-[DraftTests.TreeTests test_depth]"]),
        ("/ci/Tests/A.swift:4: error: TreeTests.testDepth : XCTAssertTrue failed - no\n", ["TreeTests.testDepth"]),
        ("[xUnit.net 00:00:02.40]     Drafts.TreeTests.Depth [FAIL]\n  Failed Drafts.TreeTests.Depth [2 s]\n", ["Drafts.TreeTests.Depth"]),
        ("octo.drafts.TreeTest > depth() FAILED\n    java.lang.AssertionError at TreeTest.java:4\n", ["octo.drafts.TreeTest > depth()"]),
        ("Gradle suite > Gradle test > octo.TreeTest.depth FAILED\n", ["Gradle suite > Gradle test > octo.TreeTest.depth"]),
        ("The following tests FAILED:\n\t  2 - Tree of two drafts (SEGFAULT)\n", ["Tree of two drafts"]),
        ("FAIL: DRAFT :: tree/depth.mlir (31 of 60)\n", ["DRAFT :: tree/depth.mlir"]),
        ("> Task :drafts:test FAILED\n", []),
        ("[ERROR] octo.TreeTest.depth -- Time elapsed: 0.1 s <<< FAILURE!\n[ERROR] Failures: \n[ERROR]   TreeTest.depth:4 no\n", ["octo.TreeTest.depth"]),
        ("[ERROR] Failures: \n[ERROR]   TreeTest.depth:4 expected: <1> but was: <2>\n", ["TreeTest.depth"]),
        ("Failed tests:   depth(octo.TreeTest): expected:<1> but was:<2>\n  width(octo.TreeTest): expected:<3> but was:<4>\n", ["depth(octo.TreeTest)", "width(octo.TreeTest)"]),
        (" 12: tree of one draft            FAILED (tree.at:708)\n 13: tree of two drafts           ok\n", ["tree of one draft"]),
        ("7: [ RUN      ] Tree.depth\n7: a.cc:3: Failure\n7: [  FAILED  ] Tree.depth (3 ms)\n", ["Tree.depth"]),
        ("Failing Tests (1):\n    DRAFT unit tests :: tree/depth.one\n", ["DRAFT unit tests :: tree/depth.one"]),
        (" FAIL src/a.test.ts > drafts > accepts four\n Error: no\n", ["src/a.test.ts > drafts > accepts four"]),
        (
            "Unsupported Tests (1):\n  TRITON :: a.mlir\n\n****\nFailed Tests (1):\n  TRITON :: b/c.mlir\n\n",
            ["TRITON :: b/c.mlir"],
        ),
        (" FAIL  src/a.test.ts > drafts > accepts four\nError: no\n ❯ src/a.test.ts:3:5\n", ["src/a.test.ts > drafts > accepts four"]),
        (
            "  drafts\n    1) accepts four\n\n  3 passing (8ms)\n  2 failing\n\n  1) drafts\n       of a tree\n         accepts four:\n"
            "     Error: Timeout of 2000ms exceeded.\n      at done (a.js:3:5)\n\n  2) loads:\n\n      AssertionError: 3 == 4\n",
            ["drafts of a tree accepts four", "loads"],
        ),
        ("Tests with failures:\n - octo.drafts.TreeTests.testDepth\n - octo.drafts.TreeTests.testWidth {p0=3}\n\n4 tests completed, 2 failed\n",
         ["octo.drafts.TreeTests.testDepth", "octo.drafts.TreeTests.testWidth {p0=3}"]),
        ("failures:\n\n---- a::b stdout ----\naccepted 3 of 4\n\nfailures:\n    a::b\n\ntest result: FAILED. 3 passed; 1 failed\n", ["a::b"]),
        ("ERROR: test_tree.TestTree.test_depth\n------\nTraceback\nValueError: no\n\nRan 1 test in 0.1s\n", ["test_tree.TestTree.test_depth"]),
        ("SUBFAIL tests/test_a.py::TestA::test_x - AssertionError: no\nSUBFAIL tests/test_a.py::TestA::test_x - AssertionError: no\n", ["tests/test_a.py::TestA::test_x"]),
        ("[depth] (n=3) SUBFAIL tests/test_a.py::test_x - assert 3 == 4\n", ["tests/test_a.py::test_x"]),
        ("SUBFAILED[depth] tests/test_a.py::test_x - assert 3 == 4\n", ["tests/test_a.py::test_x"]),
        (
            "tests/test_a.py::test_x [depth] (n=3) SUBFAIL [100%]\ntests/test_a.py::test_x PASSED [100%]\n"
            "=========== FAILURES ===========\n______ test_x [depth] (n=3) ______\nE   assert 3 == 4\n",
            ["tests/test_a.py::test_x"],
        ),
        ("FAILED test_a.py::test_x - worker 'gw0' crashed while running 'ops/test_a.py::test_x'\n", ["ops/test_a.py::test_x"]),
        ("  FAILED tests/test_a.py::test_x - ValueError: no\n  FAILED tests/test_a.py::test_y[a b] - ValueError: no\n", ["tests/test_a.py::test_x", "tests/test_a.py::test_y[a b]"]),
        ("  test_x (__main__.TestA) ... ERROR (0.007s)\nRuntimeError: ops/test_a failed! Received signal: SIGSEGV\n", ["test_x (__main__.TestA)"]),
        ("//ops:verify_test    (3/8 cached) FAILED in 2 out of 8 in 0.6s\n", ["//ops:verify_test"]),
        ("FAIL: //ops:verify_test (see /out/test.log)\nFAILED: //ops:verify_test (Summary)\n", ["//ops:verify_test"]),
        ("panic: Log in goroutine after TestDepth has completed: 3\n\ngoroutine 7 [running]:\n", ["TestDepth"]),
    ],
)  # fmt: skip
def test_other_frameworks_and_forms(log, names):
    assert list(failing_tests(log)) == names


@pytest.mark.parametrize(
    ("log", "error"),
    [
        ("=== RUN   TestA\n    a_test.go:9: loaded\n    a_test.go:12: got 3, want 4\n--- FAIL: TestA (0.00s)\nFAIL\n", "got 3, want 4"),
        ("--- FAIL: TestA (0.1s)\n    a_test.go:12: got 3, want 4\n--- FAIL: TestB (0.1s)\n    b_test.go:1: no\n", "got 3, want 4"),
        (
            "--- FAIL: TestA (64.00s)\n    a_test.go:20: \n        \tError Trace:\t/ci/a_test.go:32\n"
            "        \tError:      \tCondition never satisfied\n        \tTest:       \tTestA\nFAIL\n",
            "Condition never satisfied",
        ),
        ("drafts.cc(31): error: in \"trie/deep\": check depth == 4 has failed [3 != 4]\n", "check depth == 4 has failed [3 != 4]"),
        ("  Failed Drafts.TreeTests.Depth [2 s]\n  Error Message:\n   Assert.Equal() Failure: Values differ\nExpected: 1\n", "Assert.Equal() Failure: Values differ"),
        ("octo.TreeTest > depth FAILED\n    java.lang.AssertionError: expected:<1>\n        at org.junit.Assert.fail(Assert.java:88)\n", "java.lang.AssertionError: expected:<1>"),
        ("  ● a › b\n\n    expect(received).toBe(expected)\n\n    Expected: 4\n", "expect(received).toBe(expected)"),
        ("  ● a › b\n\n    TypeError: x is undefined\n\n      3 |     expect(x)\n", "TypeError: x is undefined"),
        (" FAIL  a.test.ts > b\nError: Condition not met\n ❯ a.test.ts:3:5\n", "Error: Condition not met"),
        ("  1 failing\n\n  1) drafts accept:\n     Uncaught TypeError: x is no draft\n      at f (a.js:3:5)\n", "Uncaught TypeError: x is no draft"),
        (
            "FAIL: DRAFT :: tree/depth.mlir (3 of 6)\n******* TEST 'DRAFT :: tree/depth.mlir' FAILED *******\nExit Code: 134\n"
            "draft-opt: Tree.cpp:41: int Tree::depth() const: Assertion `depth > 0' failed.\n"
            "PLEASE submit a bug report to https://bugs.example.org/\nStack dump:\n0.\tProgram arguments: draft-opt a.mlir\n**********\n",
            "draft-opt: Tree.cpp:41: int Tree::depth() const: Assertion `depth > 0' failed.",
        ),
        (
            "FAIL: DRAFT :: tree/depth.mlir (3 of 6)\n******* TEST 'DRAFT :: tree/depth.mlir' FAILED *******\n"
            "tree/depth.mlir:4:12: error: CHECK: expected string not found in input\n**********\n",
            "tree/depth.mlir:4:12: error: CHECK: expected string not found in input",
        ),
    ],
)  # fmt: skip
def test_the_error_is_what_the_framework_says_of_the_test(log, error):
    found, _ = failures_in_log(Files(log=log).open("log"))
    assert found[0].error == error


def test_what_stands_below_a_list_tells_nothing_of_its_tests():
    log = (
        "  1 failing\n\n  1) drafts accept:\n     Error: no\n      at f (a.js:3:5)\n\n"
        "npm error code 1\ncurl: (28) Operation timed out\n  2) is no test\n"
    )
    found = failing_tests(log)
    assert {test: failure.category for test, failure in found.items()} == {
        "drafts accept": Category.TEST_FAILURE
    }


def test_what_is_known_of_the_job_comes_before_a_list_that_only_names():
    log = (
        "RuntimeError: CUDA error: an illegal memory access was encountered\n"
        "//ops:verify_test    FAILED in 0.6s\n"
    )
    found, _ = failures_in_log(Files(log=log).open("log"))
    assert [(f.category, f.test) for f in found] == [
        (Category.DEVICE_ERROR, ""),
        (Category.TEST_FAILURE, "//ops:verify_test"),
    ]


SUMMARY = """=========================== short test summary info ============================
FAILED [0.3790s] ops/test_shapes.py::ShapesTests::test_vars - NameError: name 'cell' is not defined
================= 1 failed, 1107 deselected, 2 rerun in 1.66s ==================
"""


@pytest.mark.parametrize(
    ("named_again", "tests"),
    [
        # A script that runs each file from another folder, such as PyTorch's.
        ("FAILED CONSISTENTLY: test/ops/test_shapes.py::ShapesTests::test_vars", 1),
        ("FAILED CONSISTENTLY: test/ops/test_shapes.py::ShapesTests::test_other", 2),
        ("FAILED CONSISTENTLY: test/ops/test_more_shapes.py::ShapesTests::test_vars", 2),
        ("FAILED test/ops/test_shapes.py::ShapesTests::test_vars - ValueError: of its own", 2),
    ],
)
def test_a_test_that_is_named_again_by_a_longer_path_is_no_other_test(named_again, tests):
    found = failing_tests(f"{SUMMARY}{named_again}\n")
    assert len(found) == tests
    error = found["ops/test_shapes.py::ShapesTests::test_vars"].error
    assert error == "NameError: name 'cell' is not defined"


def test_a_session_that_passed_after_a_crash_keeps_the_job_alive():
    log = "\n".join([*one_file("tests/a.py", CRASH), *one_file("tests/b.py", PASSED)])
    found, _ = failures_in_log(Files(log=log).open("log"))
    assert [failure.test for failure in found] == ["tests/a.py::test_large"]


def test_what_follows_a_failed_step_is_no_cause():
    log = (
        "##[error]Process completed with exit code 1.\n"
        "cat: out.log: No such file or directory\nUnable to locate credentials\n"
    )
    (failure,) = failures_in_log(Files(log="foo: no rule for this\n" + log).open("log"))[0]
    assert failure.rule == "exit"
    assert replace(failure, rule="").error.startswith("Process completed")
