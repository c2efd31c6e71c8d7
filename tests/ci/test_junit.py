"""JUnit XML: of pytest, of other tools, cut off, hostile, and large."""

import io
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.ci.junit import node_id, read
from checks.ci.message_keys import JUnitProblem

PYTEST = """<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest" tests="4">
<testcase classname="tests.output.test_rows" name="test_ok" time="0.1" />
<testcase classname="tests.output.test_rows.TestRows" name="test_topk[3]" time="0.2">
<failure message="IndexError: list index out of range">tests/output/test_rows.py:9: IndexError</failure></testcase>
<testcase classname="tests.output.test_rows" name="test_setup"><error message="failed on setup">E  OSError: x</error>
</testcase><testcase classname="tests.output.test_rows" name="test_skip"><skipped message="no GPU"/></testcase>
</testsuite></testsuites>"""


def parsed(text):
    return read(io.BytesIO(text.encode() if isinstance(text, str) else text))


def test_pytest_results():
    results = parsed(PYTEST)
    assert [c.test for c in results.failed] == [
        "tests/output/test_rows.py::TestRows::test_topk[3]",
        "tests/output/test_rows.py::test_setup",
    ]
    assert results.failed[0].message == "IndexError: list index out of range"
    assert "test_rows.py:9" in results.failed[0].text
    assert results.passed == {"tests/output/test_rows.py::test_ok"}
    assert results.skipped == {"tests/output/test_rows.py::test_skip"}
    assert results.problem is None


def test_gtest_and_ctest_names_stay():
    gtest = """<testsuites><testsuite name="Verify"><testcase name="Bonus" classname="Verify" status="run">
    <failure message="a.cc:3&#x0A;Expected equality"/></testcase>
    <testcase name="Off" classname="Verify" status="notrun"/></testsuite></testsuites>"""
    results = parsed(gtest)
    assert [c.test for c in results.failed] == ["Verify.Bonus"]
    assert results.skipped == {"Verify.Off"}
    assert [
        c.test
        for c in parsed('<testsuite><testcase name="pack"><failure/></testcase></testsuite>').failed
    ] == ["pack"]


@pytest.mark.parametrize(
    ("classname", "name", "file", "node"),
    [
        ("tests.a.test_b", "test_c", "", "tests/a/test_b.py::test_c"),
        ("tests.a.test_b.TestC.TestD", "test_e", "", "tests/a/test_b.py::TestC::TestD::test_e"),
        ("pkg.checks", "test_c", "pkg/checks.py", "pkg/checks.py::test_c"),
        ("com.engine.VerifyTest", "bonus", "", "com.engine.VerifyTest.bonus"),
        ("", "alone", "", "alone"),
    ],
)
def test_node_ids(classname, name, file, node):
    assert node_id(classname, name, file) == node


@settings(max_examples=50, deadline=None)
@given(st.integers(0, len(PYTEST)))
def test_a_truncated_file_gives_the_cases_before_the_cut(cut):
    whole, results = parsed(PYTEST), parsed(PYTEST[:cut])
    assert results.failed == whole.failed[: len(results.failed)]
    assert results.passed <= whole.passed
    if cut < PYTEST.rindex("</testsuites>"):
        assert results.problem is not None


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_give_a_problem_and_no_failure(data):
    results = parsed(data)
    assert results.failed == () and results.problem is not None


def test_truncated_and_invalid_are_told_apart():
    assert parsed(PYTEST[: PYTEST.index('name="test_skip"')]).problem is JUnitProblem.TRUNCATED
    assert parsed(PYTEST.replace("test_ok", "test\x01ok")).problem is JUnitProblem.INVALID
    assert parsed("<html><body/></html>").problem is JUnitProblem.INVALID
    assert parsed("<testsuite/>").problem is JUnitProblem.EMPTY


def test_entity_bombs_are_refused():
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><testsuite><testcase name="&b;"/></testsuite>'
    assert parsed(bomb).problem is JUnitProblem.ENTITIES
    outside = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><testsuite><testcase name="&a;"/></testsuite>'
    assert parsed(outside).problem is JUnitProblem.ENTITIES


def test_a_large_file_is_not_held_in_memory():
    case = (
        b'<testcase classname="tests.test_a" name="t"><system-out>'
        + b"x" * 20_000
        + b"</system-out></testcase>"
    )
    data = io.BytesIO(b"<testsuite>" + case * 1500 + b"</testsuite>")
    tracemalloc.start()
    results = read(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert results.problem is None and results.passed == {"tests/test_a.py::t"}
    assert peak < 3 << 20
