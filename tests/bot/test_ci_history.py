"""Verdicts kept by `specbot ci report --db`, settled by what came after, and counted by `specbot ci
stats`."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot.ci.history import open_history
from bot.reports.json_v1 import plain
from checks.ci import progress
from checks.ci.folder import RUN, dump
from checks.ci.model import Attempt, CIRun, Conclusion, LogState, Revisions
from checks.ci.report import Category, Cause, CIReport, FailedJob, Failure
from checks.core.finding import Confidence, Message
from tests.bot.test_ci_report import LOG, job, run_of

RED = {"log": "logs/unit.log", "log_state": LogState.PRESENT}


@pytest.fixture
def report(specbot, tmp_path: Path):
    """Reports on a run with `log`, into the database."""
    db = tmp_path / "db.sqlite"

    def run(saved: CIRun, log: bytes = LOG) -> str:
        folder = tmp_path / "run"
        (folder / "logs").mkdir(parents=True, exist_ok=True)
        (folder / RUN).write_text(dump(saved), "utf-8")
        (folder / "logs/unit.log").write_bytes(log)
        done = specbot("ci", "report", folder, "--db", db, "--format", "markdown")
        assert done.code == 0, done.err
        return done.out

    return run


@pytest.fixture
def stats(specbot, tmp_path: Path):
    def read(output: str = "json", *more: str) -> str:
        done = specbot("ci", "stats", "--db", tmp_path / "db.sqlite", "--format", output, *more)
        assert done.code == 0, done.err
        return done.out

    return read


def counts(stats) -> dict[str, tuple[int, int, int]]:
    return {
        v["cause"]: (v["verdicts"], v["right"], v["wrong"]) for v in json.loads(stats())["verdicts"]
    }


def later(run: CIRun, *jobs, head: str = "") -> CIRun:
    revisions = Revisions(head, run.revisions.base) if head else run.revisions
    return replace(
        run, jobs=jobs, collected=run.collected + timedelta(hours=1), revisions=revisions
    )


def flaky(conclusion: Conclusion):
    """A job that passed on this commit before it failed."""
    return job("unit", conclusion, attempt=2, attempts=(Attempt(1, Conclusion.SUCCESS),), **RED)


def test_a_rerun_that_passes_bears_flaky_out(report, stats):
    first = run_of(flaky(Conclusion.FAILURE))
    report(first)
    assert counts(stats) == {"flaky": (1, 0, 0)}
    report(first)
    assert counts(stats) == {"flaky": (1, 0, 0)}
    report(later(first, replace(flaky(Conclusion.SUCCESS), attempt=3, log="")))
    assert counts(stats) == {"flaky": (1, 1, 0)}


def test_a_rerun_that_fails_the_same_way_speaks_against_flaky(report, stats):
    first = run_of(flaky(Conclusion.FAILURE))
    report(first)
    report(later(first, replace(flaky(Conclusion.FAILURE), attempt=3)))
    assert counts(stats) == {"flaky": (1, 0, 1)}


def test_what_cannot_be_told_stays_open(report, stats):
    first = run_of(flaky(Conclusion.FAILURE))
    report(first)
    report(later(first, replace(flaky(Conclusion.SUCCESS), log=""), head="e" * 40))
    assert counts(stats) == {"flaky": (1, 0, 0)}


def test_the_database_tells_what_changed_since_an_older_run(report):
    first = run_of(job("unit", Conclusion.FAILURE, **RED))
    assert "Since the last report" not in report(first)
    second = later(first, job("unit", attempt=2))
    said = report(second)
    assert "failed before and passed now: `unit`" in said
    assert "Since the last report" not in report(second)


def test_the_evidence_is_kept(report, tmp_path):
    report(run_of(flaky(Conclusion.FAILURE)))
    with sqlite3.connect(tmp_path / "db.sqlite") as db:
        ((evidence, test),) = db.execute(
            "SELECT evidence, test FROM specbot_ci_verdicts"
        ).fetchall()
    assert test == "tests/test_words.py::test_pack"
    assert any(e["message"]["key"] == "reason-passed-elsewhere" for e in json.loads(evidence))


def test_the_table_for_people(report, stats):
    first = run_of(flaky(Conclusion.FAILURE))
    report(first)
    report(later(first, replace(flaky(Conclusion.SUCCESS), attempt=3, log="")))
    text = stats("markdown", "--lang", "en")
    assert "| flaky | 1 | 1 | 0 | 100.0% |" in text
    assert "| test failure | 1 | 1 | 0 | 100.0% |" in text
    assert "准确率" in stats("terminal", "--lang", "zh")


def test_no_database_and_none_that_is_one(specbot, tmp_path):
    done = specbot("ci", "stats", "--db", tmp_path / "none")
    assert done.code == 2 and "there is no database" in done.err
    (tmp_path / "text").write_text(
        "this is no database, but some text that is long enough to be taken for one " * 9
    )
    done = specbot("ci", "stats", "--db", tmp_path / "text")
    assert done.code == 2 and "no SQLite database" in done.err and done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("cause", "same_commit", "passes", "right"),
    [
        (Cause.THIS_PR, False, True, True),
        (Cause.THIS_PR, True, True, False),
        (Cause.THIS_PR, True, False, None),
        (Cause.INFRASTRUCTURE, True, True, True),
        (Cause.INFRASTRUCTURE, True, False, False),
        (Cause.INFRASTRUCTURE, False, True, None),
        (Cause.BASE, False, True, None),
        (Cause.UNKNOWN, True, True, None),
        (Cause.PERSON, True, True, True),
    ],
)
def test_what_an_outcome_says_of_a_verdict(tmp_path, cause, same_commit, passes, right):
    history = open_history(tmp_path / "db.sqlite", new=True)
    red = job("unit", Conclusion.FAILURE, attempt=1)
    failure = Failure(
        Category.TEST_FAILURE, cause, Confidence.HIGH, Message("root-unknown"), signature="5e1f"
    )
    first = run_of(red)
    said = CIReport(first, progress.totals(first), (FailedJob(red, failure, (failure,)),))
    history.record(first, plain(said))
    again = replace(red, attempt=2, conclusion=Conclusion.SUCCESS if passes else Conclusion.FAILURE)
    second = later(first, again, head="" if same_commit else "e" * 40)
    failed = () if passes else (FailedJob(again, failure, (failure,)),)
    history.record(second, plain(CIReport(second, progress.totals(second), failed)))
    (found,) = (p for p in history.precisions() if p.cause == cause)
    assert (found.right, found.wrong) == {True: (1, 0), False: (0, 1), None: (0, 0)}[right]
