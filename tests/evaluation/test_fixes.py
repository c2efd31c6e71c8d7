"""What counts as code, how near a finding is to a fix, and the interval of a share."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from checks.core.change import FileChange, Hunk
from checks.core.config import Config
from checks.evaluation.case_file import CaseError, parse_cases, write_pair
from checks.evaluation.code_lines import code_lines
from checks.evaluation.fix_score import pair_outcome, score_pairs, total
from checks.evaluation.fixes import (
    FixedPlace,
    FixPair,
    LineOrigin,
    is_bug_fix,
    lines_beside,
    main_commit,
    product_files,
    replaced_lines,
)
from checks.evaluation.intervals import wilson_interval
from checks.evaluation.outcome import ReportedFinding, ReviewOutcome

PYTHON = '''"""A docstring
over two lines."""
import os
from a import (
    b,
)


def f(x):
    """One."""
    # a comment
    return """
text""" + x  # why
'''
CPP = """#include <a.h>
/* one
   two */ int f() {
  // three
  return g("// no comment");
}
"""


def pair(*places, repository="engine", replaced=True):
    return FixPair(
        repository, "f" * 40, "2026-01-02", "fix it", "b" * 40, "c" * 40, "add it", replaced, places
    )


def finding(line, end_line=None, rule="a.b", severity="bug", path="a.py"):
    return ReportedFinding(rule, severity, path, line, end_line or line, "text")


def review(*findings):
    return ReviewOutcome("b" * 40, "c" * 40, findings, 1.0, 1.0)


@pytest.mark.parametrize(
    ("path", "text", "lines"),
    [
        ("a.py", PYTHON, {9, 12, 13}),
        ("a.cu", CPP, {3, 5, 6}),
        ("a.py", "x = (\n1,\n", {1, 2}),
        ("a.py", "if x:\n        y\n    z\n", {1, 2}),
        ("a.md", "x = 1\n", set()),
    ],
)
def test_code_is_neither_comment_nor_docstring_nor_import(path, text, lines):
    assert code_lines(path, text) == lines


@given(st.text(alphabet="ab \n\t\"'#()/*\\:", max_size=60), st.sampled_from(["a.py", "a.cc"]))
def test_lines_of_code_are_lines_of_the_file(text, path):
    assert code_lines(path, text) <= set(range(1, text.count("\n") + 2))


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("[BugFix] wrong stride", True),
        ("fix: hang at exit", True),
        ("fix unit test of the sampler", False),
        ("[Doc] fix a link", False),
        ('Revert "fix the hang"', False),
        ("prefix caching", False),
        ("fix typo", False),
    ],
)
def test_titles_of_bug_fixes(title, expected):
    assert is_bug_fix(title) is expected


def test_tests_and_tools_are_not_the_product():
    paths = ["a/b.py", "tests/a.py", "a/test_b.py", "benchmarks/a.py", "third_party/a.h", "a.md"]
    assert product_files(paths, Config()) == ["a/b.py"]


def test_the_lines_of_code_that_went():
    file = FileChange("M", "a.py", "a.py", (Hunk(2, 3, 2, 1),))
    assert replaced_lines(file, {1, 2, 4, 9}) == [2, 4]


def test_the_code_beside_what_was_only_added():
    file = FileChange("M", "a.py", "a.py", (Hunk(5, 0, 5, 2), Hunk(20, 0, 22, 1)))
    assert lines_beside(file, {1, 3, 7, 19, 20}, {5}) == [3, 7]


def test_the_commit_of_most_lines():
    origins = [LineOrigin("a", "x", 1), LineOrigin("b", "x", 2), LineOrigin("b", "x", 3)]
    assert main_commit(origins) == "b"


@pytest.mark.parametrize(
    ("found", "distance", "near"),
    [
        (finding(13), 3, True),
        (finding(14), 4, False),
        (finding(5, 8), 2, True),
        (finding(1, 30), 9, False),
        (finding(0), None, False),
        (finding(10, path="b.py"), None, False),
    ],
)
def test_near_is_three_lines(found, distance, near):
    outcome = pair_outcome(pair(FixedPlace("a.py", 10, "", 0, 0)), review(found))
    assert outcome.distance == distance
    assert bool(outcome.near_rules) is near


def test_in_the_same_function():
    place = FixedPlace("a.py", 10, "f", 2, 40)
    assert pair_outcome(pair(place), review(finding(39))).function_rules == ("a.b",)
    assert pair_outcome(pair(place), review(finding(41))).function_rules == ()


def test_a_convention_is_no_hit_and_no_finding():
    place = FixedPlace("a.py", 10, "f", 2, 40)
    score, judged = score_pairs(
        [pair(place)], {("b" * 40, "c" * 40, ()): review(finding(10, severity="convention"))}
    )
    assert (judged[0].nearest, total(score.near).hits, score.findings) == (None, 0, 0)


def test_a_change_of_two_pairs_is_counted_once():
    pairs = [
        pair(FixedPlace("a.py", 10, "f", 2, 40)),
        pair(FixedPlace("a.py", 99, "g", 90, 99), repository="other"),
    ]
    score, _ = score_pairs(pairs, {("b" * 40, "c" * 40, ()): review(finding(11))})
    assert (score.changes, score.findings, score.bugs) == (1, 1, 1)
    assert (score.near["engine"].hits, score.near["other"].hits) == (1, 0)
    assert score.near_by_rule == {"a.b": 1}


def test_a_written_pair_is_read_again():
    wanted = pair(FixedPlace("a.py", 10, "f", 2, 40))
    line = write_pair(pair_outcome(wanted, review(finding(10))))
    assert parse_cases(line) == ((), (wanted,))


@pytest.mark.parametrize("line", ['{"kind": "fix"}', "[]", '{"kind": "fix", "places": [1]}'])
def test_what_is_no_pair(line):
    with pytest.raises(CaseError):
        parse_cases(line)


@given(st.integers(1, 400), st.data())
def test_wilson_is_what_statisticians_have(trials, data):
    hits = data.draw(st.integers(0, trials))
    expected = binomtest(hits, trials).proportion_ci(method="wilson")
    low, high = wilson_interval(hits, trials)
    assert math.isclose(low, expected.low, abs_tol=1e-6)
    assert math.isclose(high, expected.high, abs_tol=1e-6)


def test_nothing_is_known_without_trials():
    assert wilson_interval(0, 0) == (0.0, 1.0)
