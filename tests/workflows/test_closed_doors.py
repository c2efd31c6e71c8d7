"""A review that came to nothing is no pass: a required check is not satisfied with it."""

from __future__ import annotations

import os

import pytest

from bot.i18n.catalog import Catalog
from bot.i18n.escape import Markdown
from bot.workflows import check_output
from tests.fake_github import people
from tests.workflows.conftest import ended, until

# What GitHub takes for passed.
_PASSED = ("success", "neutral", "skipped")
_BYTES = os.fsdecode(b"engine/spec_decode/m\xff\xe9.py")


def test_a_file_name_that_is_no_text_is_reviewed(live, engine):
    """And shown with its bytes written out."""
    step = "\n\ndef step(accept_num):\n    return accept_num{0}\n"
    engine.git.commit("main", {_BYTES: step.format("")})
    engine.git.commit("named", {_BYTES: step.format(" + unknown")}, parent="main")
    pull = people.open_pull(live, engine, "named")
    until(lambda: ended(engine, pull.head_sha))
    (check,) = engine.check_runs
    (review,) = pull.reviews
    assert "\\xff\\xe9.py" in review.body and "`unknown`" in review.body
    assert check.conclusion == "failure"


def report(verdict: str, *reasons: str) -> dict:
    parts = [{"path": f"f{n}.py", "reason": reason} for n, reason in enumerate(reasons)]
    return {"verdict": verdict, "not_analysed": parts, "findings": [], "head": "0" * 40}


@pytest.mark.parametrize("verdict", ["pass", "discuss"])
@pytest.mark.parametrize("reason", ["too-large", "too-much"])
def test_what_was_not_read_does_not_pass(verdict, reason):
    assert check_output.conclusion(report(verdict, reason), "failure") == "failure"
    summary = check_output.verdict_output(report(verdict, reason), Catalog("en", Markdown()))
    assert "Not analysed" in summary["summary"] and "f0.py" in summary["summary"]


def test_a_verdict_stays_what_it_is():
    assert check_output.conclusion(report("block", "too-much"), "neutral") == "failure"
    assert check_output.conclusion(report("pass", "binary"), "failure") == "success"


@pytest.mark.parametrize("on_error", ["action_required", "failure"])
@pytest.mark.parametrize(
    "result", [{"failed": True}, {"broken": True}, {"error": {}}, {"stopped": True}]
)
def test_no_end_without_a_verdict_passes(result, on_error):
    assert check_output.end_of_unfinished(result, on_error) not in _PASSED
