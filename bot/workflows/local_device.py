"""Device code of a pull request run on this machine's CPU, up to what is told of it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from bot.chat.page_tab import PageTab, RunOutcome
from bot.db.commands import GpuRun
from bot.errors import UserError
from bot.sandbox.client import run_job
from bot.settings import Settings
from bot.workflows.local_kernels import Unconfined

Json = dict[str, Any]
_CONCLUSIONS = {"found": "failure", "asked": "neutral", "unjudged": "neutral", "fine": "success"}


def run_and_judge(
    clone: Path, run: GpuRun, pull: Json, settings: Settings, *, trusted: bool
) -> RunOutcome:
    """The outcome for both commits of `run`, of GitHub's `pull`.

    Raises `Unconfined`, `UserError` for what cannot be run, and `bot.sandbox.client.JobFailed`,
    also where it takes more than the minutes of the run.
    """
    with tempfile.TemporaryDirectory(prefix="specbot-device-") as folder:
        job = _job(clone, run, pull, settings)
        result = run_job(
            "device", job | {"folder": folder, "trusted": trusted}, longest=60.0 * run.minutes
        )
    if "refused" in result:
        raise Unconfined
    if "error" in result:
        error = UserError(result["error"]["key"], **result["error"]["args"])
        if error.key == "device-no-sources":
            return RunOutcome("neutral", "device-nothing")
        raise error
    verdict = result["verdict"]
    tab = PageTab("device", verdict, result["bodies"])
    return RunOutcome(_CONCLUSIONS[verdict], f"device-{verdict}", result["text"], (tab,))


def _job(clone: Path, run: GpuRun, pull: Json, settings: Settings) -> Json:
    return {
        "clone": str(clone),
        "base": run.base,
        "head": run.head,
        "title": pull["title"],
        "body": pull["body"] or "",
        "action": settings.local_device,
        "language": settings.language,
        "cache": str(settings.data_dir.resolve() / "device"),
        "hidden": [str(path) for path in settings.hidden],
    }
