"""The analysis on every window of the corpus: the numbers that `python -m tests.ci_logs` prints."""

import re
import time
from collections import Counter
from re import _parser

import pytest

from checks.ci.classify import rules
from checks.ci.log_blocks import LONGEST
from checks.ci.report import Category
from tests.ci_logs.literals import Avoiding
from tests.ci_logs.measure import measure
from tests.ci_logs.windows import SETS, load

# For `last` no rule was changed.
LEAST = {
    "dev": 0.99,
    "later": 0.99,
    "held-out": 0.94,
    "fresh": 0.99,
    "unseen": 0.99,
    "last": 0.95,
    "kinds": 0.99,
}


@pytest.mark.parametrize("name", SETS)
def test_every_window(name):
    """One test a set: measuring it is some hundred runs of the analysis."""
    found = [measure(window) for window in load(name)]
    assert sum(r.key for r in found) / len(found) >= LEAST[name]
    assert sum(r.category for r in found) / len(found) >= LEAST[name]
    assert [r.window.name for r in found if not r.same] == []
    excused, wrongly = sum(r.excused for r in found), sum(len(r.wrongly) for r in found)
    assert excused >= len(found) / 10
    assert (excused - wrongly) / excused >= 0.99


def test_the_corpus_is_as_large_as_promised():
    windows = [w for name in SETS for w in load(name)]
    assert len(windows) >= 150
    assert sum(w.gpu for w in windows) >= 50
    assert len({w.name for w in windows}) == len(windows)
    assert {w.category for w in windows} <= {str(c) for c in Category}
    assert min(Counter(w.category for w in windows).values()) >= 2
    assert all(w.keys for w in windows)


def test_the_literals_of_every_rule_fit_their_table_and_names_are_unique():
    for rule in rules():
        for literal in (*rule.need, *rule.also):
            assert literal == literal.lower() and 4 <= len(literal.encode()) <= 64, (
                rule.name,
                literal,
            )
    names = [rule.name for rule in rules()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("rule", rules(), ids=lambda r: r.name)
def test_every_line_that_a_pattern_takes_has_the_rule_s_literals(rule):
    """A line is tried on a rule only where the literals stand: what the pattern takes without them
    is never seen. (A rule of lines that GitHub shows as errors has the mark's literal, and the mark
    is no part of the text that its pattern reads.)"""
    if rule.shown_as_error:
        return
    for literals in (rule.need, rule.also):
        assert not literals or Avoiding(literals).line(rule.pattern.pattern) is None


@pytest.mark.parametrize(
    ("pattern", "literals", "line"),
    [
        ("ab?cd", ["abcd"], "acd"),
        ("(?:abcd|wxyz)e", ["abcde"], "wxyze"),
        ("[Aa]bcd$", ["abcd"], None),
        ("x{2,5}abc", ["xxab"], None),
        ("x{1,5}abc", ["xxab"], "xabc"),
        ("error.{0,9}here", ["error", "here"], None),
        ("error$", ["error\n"], "error\r\n"),
        (r"not {1,3}found|\w{2,9}", ["not f"], "\0\0"),
    ],
)
def test_a_line_without_literals_is_found_where_there_is_one(pattern, literals, line):
    assert Avoiding(literals).line(pattern) == line


def repeats(pattern):
    """Upper bounds of every quantifier in a pattern."""
    stack = [_parser.parse(pattern)]
    while stack:
        for kind, value in stack.pop():
            match str(kind):
                case "MAX_REPEAT" | "MIN_REPEAT":
                    yield value[1]
                    stack.append(value[2])
                case "SUBPATTERN":
                    stack.append(value[3])
                case "BRANCH":
                    stack.extend(value[1])
                case "ASSERT" | "ASSERT_NOT":
                    stack.append(value[1])


def adversarial(rule):
    """Lines made of a rule's own words: repeated, interleaved, with everything but the end of a
    match."""
    words = [n.strip() for n in rule.need] + re.findall(
        r"[A-Za-z][A-Za-z ]{2,}", rule.pattern.pattern
    )[:8]
    bits = [
        *words,
        "E   ",
        "a",
        "1",
        " ",
        "/",
        ":",
        "=",
        "a/b.cc:1: ",
        "FAILED a::b - ",
        "::",
        "(",
        "Error: ",
    ]
    for bit in bits:
        yield (bit * LONGEST)[:LONGEST]
        yield (f"E   {bit} " * LONGEST)[:LONGEST]
    for word in words:
        yield ("x" * 990 + word + "y" * 990)[:LONGEST]
        yield (word + " a:1" * LONGEST)[:LONGEST]
        yield (f"{words[0]} " * 300)[: LONGEST - len(word)] + word


@pytest.mark.parametrize("rule", rules(), ids=lambda r: r.name)
def test_no_line_is_slow(rule):
    of_form = rule.form.expressions if rule.form else ()
    for expression in (rule.expression, rule.exception, *of_form):
        assert max(repeats(expression), default=0) < _parser.MAXREPEAT
    for line in adversarial(rule):
        begun = time.process_time()
        rule.match(line)
        # A backtracking pattern takes minutes here, these take less than 5 ms; the rest is room for
        # a busy machine.
        assert time.process_time() - begun < 0.5, line[:60]
