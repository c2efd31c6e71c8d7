"""Verdicts kept by `specbot ci report --db`, settled by what came after, and counted by `specbot ci stats`."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from checks.ci.folder import RUN, dump
from checks.ci.model import Attempt, CIRun, Conclusion, LogState, Revisions
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
    return {v["cause"]: (v["verdicts"], v["right"], v["wrong"]) for v in json.loads(stats())["verdicts"]}


def later(run: CIRun, *jobs, head: str = "") -> CIRun:
    revisions = Revisions(head, run.revisions.base) if head else run.revisions
    return replace(run, jobs=jobs, collected=run.collected + timedelta(hours=1), revisions=revisions)


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
        ((evidence, test),) = db.execute("SELECT evidence, test FROM specbot_ci_verdicts").fetchall()
    assert test == "tests/test_words.py::test_pack"
    assert any(e["message"]["key"] == "reason-passed-elsewhere" for e in json.loads(evidence))


def test_the_table_for_people(report, stats):
    first = run_of(flaky(Conclusion.FAILURE))
    report(first)
    report(later(first, replace(flaky(Conclusion.SUCCESS), attempt=3, log="")))
    text = stats("markdown", "--lang", "en")
    assert "| flaky | (all) | 1 | 1 | 0 | 100.0% |" in text
    assert "| flaky | test failure | 1 | 1 | 0 | 100.0% |" in text
    assert "准确率" in stats("terminal", "--lang", "zh")


def test_no_database_and_none_that_is_one(specbot, tmp_path):
    done = specbot("ci", "stats", "--db", tmp_path / "none")
    assert done.code == 2 and "there is no database" in done.err
    (tmp_path / "text").write_text("this is no database, but some text that is long enough to be taken for one " * 9)
    done = specbot("ci", "stats", "--db", tmp_path / "text")
    assert done.code == 2 and "no SQLite database" in done.err and done.err.count("\n") == 1
