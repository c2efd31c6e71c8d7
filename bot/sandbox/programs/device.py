"""What the child that runs device code on this machine's CPU does: a job in, a report out."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from bot.configuration import load_configuration
from bot.device import actions, shown_again
from bot.errors import UserError
from bot.git import Git, Range
from bot.i18n.catalog import LANGUAGES
from bot.kernels import confine
from bot.packaging import require_extra
from bot.pipeline import open_change
from bot.reports import device as device_report
from bot.reports import html
from bot.reports.device_run import PASSED, DeviceReport
from checks.core.change import PullRequest
from checks.core.finding import Severity

Json = dict[str, Any]


def result(job: Json) -> Json:
    """Run the device code of both commits.

    Gives `verdict` (`found`, `asked`, `fine`, or `unjudged` where no test passed), `text` in
    Markdown and `bodies` in HTML by language; `refused` where the code is a stranger's and cannot
    be confined, or `error` where it is a person's to put right.
    """
    # Where libraries are kept: the service's own folder, which every worker may write to.
    os.environ["XDG_CACHE_HOME"] = job["cache"]
    # Of which nothing is left, even where this process is killed.
    tempfile.tempdir = job["folder"]
    confine.hide(Path(path) for path in job["hidden"])
    if not job["trusted"] and not confine.confinement("cpu").files:
        return {"refused": True}
    try:
        return _run(job)
    except UserError as error:
        return {"error": error.as_data()}


def _run(job: Json) -> Json:
    require_extra("device")
    compared = Range(job["base"], job["head"])
    pull = PullRequest(job["title"], job["body"], known=True)
    with open_change(Git(Path(job["clone"])), compared, pull) as change:
        request = actions.Request(
            job["action"],
            change,
            load_configuration(change.base, None, None),
            shown_again.command(job["action"], compared.base, compared.head, pull.title),
        )
        report = actions.run(request, lambda _: None)
        return {
            "verdict": _verdict(report),
            "text": device_report.render(report, "markdown", job["language"]),
            "bodies": {
                language: html.body(device_report.blocks(report, html.words_for(language)))
                for language in LANGUAGES
            },
        }


def _verdict(report: DeviceReport) -> str:
    severities = {finding.severity for finding in report.findings}
    if Severity.BUG in severities:
        return "found"
    if severities:
        return "asked"
    return "fine" if any(case.outcome == PASSED for case in report.cases) else "unjudged"
