"""The jobs of the last commits of a pull request, as its page shows them."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest

from bot.web.ci_grid import MOST_COMMITS, CommitJobs
from bot.web.page_store import PageReport
from checks.ci.model import CIRun, Conclusion, Requirement, Status
from tests.ci.runs import NOW, job, run
from tests.web.conftest import archive_at, pull


def at_commit(head: str, *jobs, number: int = 1, later: int = 0) -> CIRun:
    made = run(*jobs)
    return replace(
        made,
        pull=replace(made.pull, repo="octo/engine", number=number),
        revisions=replace(made.revisions, head=head),
        collected=NOW + timedelta(minutes=later),
    )


@pytest.fixture
def kept(tmp_path) -> CommitJobs:
    return CommitJobs(archive_at(tmp_path / "grid.sqlite")[1])


FINE = {"conclusion": Conclusion.SUCCESS, "workflow": "CI"}


def test_rows_are_commits_and_columns_are_jobs(kept: CommitJobs):
    kept.keep(at_commit("a", job("1", "build", **FINE), job("2", "unit", **FINE)))
    kept.keep(at_commit("b", job("3", "unit", workflow="CI"), job("4", "docs", **FINE), later=5))
    grid = kept.grid("octo/engine", 1)
    assert [row.head for row in grid.rows] == ["b", "a"]
    # What is red on the newest commit stands first.
    assert [column.name for column in grid.columns] == ["unit", "build", "docs"]
    states = [[cell.state for cell in row.cells] for row in grid.rows]
    assert states == [["failed", "", "passed"], ["passed", "passed", ""]]


def test_a_commit_is_one_row_however_often_it_was_reported(kept: CommitJobs):
    runs = {"status": Status.IN_PROGRESS, "conclusion": Conclusion.NONE, "workflow": "CI"}
    kept.keep(at_commit("a", job("1", "unit", **runs)))
    assert kept.grid("octo/engine", 1).rows[0].cells[0].state == "running"
    kept.keep(at_commit("a", job("1", "unit", attempt=2, **FINE), later=5))
    (row,) = kept.grid("octo/engine", 1).rows
    assert (row.cells[0].state, row.cells[0].attempt) == ("passed", 2)


def test_only_the_last_commits_of_this_pull_request(kept: CommitJobs):
    for n in range(MOST_COMMITS + 3):
        kept.keep(at_commit(f"{n:02}", job("1", "unit", **FINE), later=n))
    kept.keep(at_commit("x", job("1", "unit", **FINE), number=2))
    heads = [row.head for row in kept.grid("octo/engine", 1).rows]
    assert heads == [f"{n:02}" for n in range(MOST_COMMITS + 2, 2, -1)]
    assert kept.grid("octo/engine", 3).rows == ()


def test_two_jobs_of_one_name_are_told_apart_by_their_workflows(kept: CommitJobs):
    jobs = (job("1", "unit", workflow="CPU"), job("2", "unit", workflow="GPU"), job("3", "docs"))
    kept.keep(at_commit("a", *jobs))
    titles = [column.title for column in kept.grid("octo/engine", 1).columns]
    assert titles == ["docs", "CPU / unit", "GPU / unit"]


def test_a_link_leads_to_the_web_or_nowhere(kept: CommitJobs):
    jobs = (
        job("1", "a", url="javascript:alert(1)", **FINE),
        job("2", "b", url="https://ci.example/2", **FINE),
    )
    kept.keep(at_commit("a", *jobs))
    cells = kept.grid("octo/engine", 1).rows[0].cells
    assert [cell.url for cell in cells] == ["", "https://ci.example/2"]


@pytest.mark.parametrize(
    ("language", "heading", "label"),
    [
        ("en", "Jobs of the last 2 commits", "unit: ❌ failed, attempt 3"),
        ("zh", "最近 2 个提交的任务", "unit：❌ 失败，第 3 次"),
    ],
)
def test_the_page_of_ci_shows_the_grid(site, language, heading, label):
    number, bodies = 640, {"zh": "<p>报告</p>", "en": "<p>report</p>"}
    site.archive.keep_pull(pull(number, head="b" * 40, state="closed"))
    site.archive.keep_report(PageReport("octo/engine", number, "ci", "b" * 40, 1.0, bodies))
    kept = CommitJobs(site.engine)
    kept.keep(at_commit("a" * 40, job("1", "unit", **FINE), number=number))
    required = {"requirement": Requirement.REQUIRED, "url": "https://ci.example/3", "attempt": 3}
    kept.keep(at_commit("b" * 40, job("1", "unit", **required), number=number, later=1))
    address = f"{site.url}/pr/octo/engine/{number}?lang={language}"
    text = httpx.get(f"{address}&tab=ci", trust_env=False).text
    assert heading in text and f'aria-label="{label}"' in text
    assert 'href="https://ci.example/3"' in text
    assert f'href="https://github.example/octo/engine/commit/{"b" * 40}"' in text
    assert len(re.findall("<th scope=.row", text.split("</table>")[0])) == 2
    assert heading not in httpx.get(f"{address}&tab=history", trust_env=False).text
