"""A process that died: the test that was running in it is named, and none where that is not known."""

from __future__ import annotations

import pytest

from checks.ci.analyse import analyse
from checks.ci.message_keys import Reason
from checks.ci.report import Category
from tests.ci.runs import Files, job, run

SEGV = "ci/run.sh: line 7:  811 Segmentation fault      (core dumped) ./run\n"
STACK = (
    "Fatal Python error: Segmentation fault\n\n"
    "Current thread 0x00007f2a (most recent call first):\n"
    '  File "/workspace/engine/ops.py", line 8 in gather\n'
    '  File "/home/ci/work/engine/tests/ops/test_gather.py", line 30 in test_large\n'
    '  File "/usr/lib/python3/site-packages/_pytest/python.py", line 183 in pytest_pyfunc_call\n'
)


def main(log, **files):
    (failed,) = analyse(run(job("log", "job")), Files(log=log, **files)).failed
    return failed.main


@pytest.mark.parametrize(
    ("log", "name"),
    [
        # pytest, where the death stands on the test's line, below it, or below its output
        (f"tests/test_a.py::test_one PASSED\ntests/test_a.py::test_two {SEGV}", "tests/test_a.py::test_two"),
        (f"tests/test_a.py::test_one[4] \nloading 3 of 4\nloaded\n{SEGV}", "tests/test_a.py::test_one[4]"),
        (f"tests/test_a.py::test_one loading\nPASSED\ntests/test_a.py::test_two \n{SEGV}", "tests/test_a.py::test_two"),
        (f"tests/test_a.py::test_one SKIPPED (no card) [ 50%]\ntests/test_a.py::test_two \n{SEGV}", "tests/test_a.py::test_two"),
        # an end that a server's line hides
        (f"tests/test_a.py::test_one \nPASSED(worker) stopped\ntests/test_a.py::test_two \n{SEGV}", "tests/test_a.py::test_two"),
        # what went through a pipe comes after what the shell says
        (f"{SEGV}  812 Done    | tee test.log\ntests/test_a.py::test_two \n", "tests/test_a.py::test_two"),
        # without -v: the file, and its function where the stack has one
        (f"tests/ops/test_sum.py ..  [ 50%]\ntests/ops/test_gather.py .{SEGV}", "tests/ops/test_gather.py"),
        (f"tests/ops/test_sum.py ..  [ 50%]\ntests/ops/test_gather.py .{STACK}", "tests/ops/test_gather.py::test_large"),
        (f"tests/test_a.py ........ [ 53%]\n....FF{SEGV}", "tests/test_a.py"),
        ("tests/test_a.py ..FFFatal Python error: Aborted\n", "tests/test_a.py"),
        (STACK, "tests/ops/test_gather.py::test_large"),
        # workers: one is open
        (
            "tests/test_a.py::test_one \ntests/test_a.py::test_two \n"
            f"[gw0] [ 50%] PASSED tests/test_a.py::test_one \n{SEGV}",
            "tests/test_a.py::test_two",
        ),
        (f"test_one (m.TestM.test_one) ... ok\ntest_two (m.TestM.test_two) ... {SEGV}", "test_two (m.TestM.test_two)"),
        (f"test_one (m.TestM) ... loading\nok\ntest_two (m.TestM)\nTwo drafts are accepted. ... {SEGV}", "test_two (m.TestM)"),
        (f"[ RUN      ] A.one\n[       OK ] A.one (0 ms)\n[ RUN      ] A.two/3\n{SEGV}", "A.two/3"),
        (f"=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n=== RUN   TestB/x\n{SEGV}", "TestB/x"),
        (f"running 2 tests\ntest trie::one ... ok\ntest trie::two ... {SEGV}", "trie::two"),
        (f"      Start  1: one\n1/2 Test  #1: one ....   Passed    0.1 sec\n      Start  2: two\n{SEGV}", "two"),
        (f"[INFO] Running org.ATest\n[INFO] Tests run: 3, Failures: 0 - in org.ATest\n[INFO] Running org.BTest\n{SEGV}", "org.BTest"),
        (f"python3 test_a.py\nfilename='test_a.py', elapsed=30\npython3 test_b.py\n{SEGV}", "test_b.py"),
        # the death's own line, and lists below it
        ("thread 'trie::tests::deep' panicked at src/trie.rs:30:5:\nassertion `left == right` failed\n", "trie::tests::deep"),
        ("sh: line 4: 99 Aborted    (core dumped) pytest -s tests/test_a.py::test_two[x]\n", "tests/test_a.py::test_two[x]"),
        ("panic: test timed out after 10m0s\nrunning tests:\n\tTestB (9m58s)\n\tTestB/x (9m58s)\n\ngoroutine 8 [running]:\n", "TestB/x"),
        ("panic: test timed out after 5m0s\n\ngoroutine 9 [chan receive]:\nexample.org/router.TestB(0xc0001)\n", "TestB"),
        (
            "panic: test timed out after 5m0s\n\ngoroutine 8 [chan receive]:\ntesting.(*T).Parallel(0xc0002)\n"
            "example.org/router.TestA(0xc0002)\n\ngoroutine 9 [select]:\nexample.org/router.TestB(0xc0001)\n",
            "TestB",
        ),
        (f"3: [ RUN      ] Trie.one\n3: [       OK ] Trie.one (0 ms)\n3: [ RUN      ] Trie.two\n{SEGV}", "Trie.two"),
        ("[ERROR] The forked VM terminated without properly saying goodbye. VM crash?\n[ERROR] Crashed tests:\n[ERROR] org.BTest\n", "org.BTest"),
    ],
)  # fmt: skip
def test_the_test_that_was_running_is_named(log, name):
    said = main(log)
    assert said.test == name
    assert [e.line is not None for e in said.evidence if e.message.key == Reason.RUNNING] == [True]


@pytest.mark.parametrize(
    "log",
    [
        f"tests/test_a.py::test_one PASSED\n{SEGV}",
        f"tests/test_a.py::test_one \nPASSED [ 50%]\n{SEGV}",
        # two workers, two tests: which one is not known
        (
            "tests/test_a.py::test_one \ntests/test_a.py::test_two \ntests/test_a.py::test_three \n"
            f"[gw0] [ 50%] PASSED tests/test_a.py::test_one \n{SEGV}"
        ),
        "panic: test timed out after 10m0s\nrunning tests:\n\tTestB (9s)\n\tTestC (9s)\n\n",
        f"=== RUN   TestA\n=== PAUSE TestA\n=== RUN   TestB\n--- PASS: TestB (0.1s)\n{SEGV}",
        # a test of the next session, and one of the session before
        f"{SEGV}============ test session starts ============\ntests/test_b.py::test_x \nPASSED\n",
        f"tests/test_a.py::test_one \n============ test session starts ============\n{SEGV}",
        f"python tools/gen.py Generating kernels\n{SEGV}",
        f"tests/test_a.py ........ [ 53%]\n{SEGV}",
        "thread 'main' panicked at src/main.rs:30:5:\nno model\n",
        f"{SEGV}============ test session starts ============\ntests/test_b.py::test_x \n",
        # people and machines that go away: the test is not why
        "tests/test_a.py::test_one \n##[error]The operation was canceled.\n",
        "tests/test_a.py::test_one \n##[error]The runner has received a shutdown signal.\n",
    ],
)
def test_none_is_named_where_none_or_several_are_open(log):
    assert main(log).test == ""


def test_the_end_of_a_test_below_the_death_of_its_server_counts():
    log = (
        f"tests/test_a.py::test_one\n{SEGV}retrying\nFAILED\n"
        "tests/test_a.py::test_two \n##[error]Process completed with exit code 139.\n"
    )
    assert main(log).test != "tests/test_a.py::test_one"


def test_a_killed_job_is_known_beside_the_results_of_other_sessions():
    junit = '<testsuite><testcase classname="tests.test_b" name="test_x"><failure message="AssertionError">E</failure></testcase></testsuite>'
    log = f"tests/test_a.py::test_two \n{SEGV}"
    (failed,) = analyse(
        run(job("log", "job", junit=("junit.xml",))), Files(log=log, **{"junit.xml": junit})
    ).failed
    assert [(f.category, f.test.rpartition("::")[2]) for f in failed.failures] == [
        (Category.SIGNAL, "test_two"),
        (Category.TEST_FAILURE, "test_x"),
    ]
