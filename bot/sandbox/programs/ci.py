"""What the child that reports on a collected run for the service does: a job in, the comment and
the report out."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bot.ci.run_folder import Folder, read_run, report_on_run
from bot.errors import UserError
from bot.git import Git
from bot.reports.ci import LARGEST, CIView, comment, explanations, render
from bot.reports.code_links import CodeLinks
from bot.web import tab_html
from checks.ci.folder import load
from checks.ci.message_keys import Problem
from checks.ci.model import CIRun
from checks.ci.report import CIReport
from checks.ci.report_diff import diff_runs

_NO_TIME = datetime(2000, 1, 1, tzinfo=UTC)


def result(job: dict[str, Any]) -> dict[str, Any]:
    """`comment`, `report`, `bodies` and `verdict` of the page, `explanations` for `/explain`, and
    `digest`, which is the same as long as the comment has nothing new to say."""
    saved = read_run(Path(job["folder"]))
    files = Folder(Path(job["folder"]))
    report = _report(job, saved, files)
    before = load(job["before"]) if job["before"] else None
    view = CIView(report, diff_runs(before, saved) if before is not None else None)
    language = job["language"]
    links = CodeLinks(job.get("web", ""), job["head"], _paths(job["clone"], job["head"]))
    return {
        "comment": links.in_markdown(comment(view, language), LARGEST),
        "report": json.loads(render(CIView(report), "json", language)),
        "digest": _digest(report, language),
        "bodies": {name: links.in_html(text) for name, text in tab_html.ci_tab(view).items()},
        "verdict": tab_html.ci_verdict(report),
        "explanations": explanations(report, language),
    }


def _report(job: dict[str, Any], saved: CIRun, files: Folder) -> CIReport:
    if not job["clone"]:
        unfetched = replace(saved, problems=(*saved.problems, str(Problem.CHANGE)))
        return report_on_run(unfetched, files)
    try:
        return report_on_run(saved, files, job["clone"], job["base"], job["head"])
    except UserError:
        # A mistake in the repository's `.specbot.toml` is the review's to report; CI is explained
        # without it.
        return report_on_run(saved, files)


def _paths(clone: str, head: str) -> frozenset[str]:
    """The files of the commit that CI ran on; none where there is no clone."""
    if not clone:
        return frozenset()
    listed = Git(Path(clone)).attempt("ls-tree", "-r", "-z", "--name-only", "--full-tree", head)
    return frozenset(os.fsdecode(name) for name in (listed or b"").split(b"\0"))


def _digest(report: CIReport, language: str) -> str:
    """Of the comment without the time of collection and without what changed since the last one."""
    timeless = replace(report, run=replace(report.run, collected=_NO_TIME))
    return hashlib.sha256(
        comment(CIView(timeless), language).encode("utf-8", "surrogatepass")
    ).hexdigest()[:16]
