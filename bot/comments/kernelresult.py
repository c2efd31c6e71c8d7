"""What a GPU run brought home: believed only where it is the run that we asked for, of the commits that we named."""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.comments.archive import members
from bot.errors import UserError
from bot.github.client import Json
from bot.kernels import results
from bot.reports import kernelpairs
from bot.reports.kernelpairs import Judged, Report
from bot.service.records import GpuRun
from bot.unzip import BadArchive
from checks.kernelrun.comparison import compare

_SUMMARY = "kernels.json"
_WANTED = re.compile(r"kernels\.json|under-(?:base|head)/(?:base|head)/(?:results\.json|outputs\.safetensors)")
_MOST_EDITED = 200


@dataclass(frozen=True)
class Outcome:
    """GitHub's conclusion, a key of the words for the title, and the report."""

    conclusion: str
    key: str
    text: str = ""


def artifact_name(run: GpuRun) -> str:
    return f"kernels-{run.request}"


def matches(run: GpuRun, found: Json) -> bool:
    """Whether GitHub's `found` is the run that was asked for."""
    path = str(found["path"]).partition("@")[0]
    return found["event"] == "workflow_dispatch" and path.rsplit("/", 1)[-1] == run.workflow.rsplit("/", 1)[-1]


def outcome(run: GpuRun, archive: bytes, language: str) -> Outcome:
    """The comparison, made here from the outputs of both sides; what the run itself concluded is not asked."""
    try:
        files = members(archive, _WANTED)
        told = json.loads(files.get(_SUMMARY, b""))
        if not isinstance(told, dict) or (told.get("base"), told.get("head")) != (run.base, run.head):
            return Outcome("failure", "kernels-other")
        report = _report(run, files, told)
    except (BadArchive, UserError, ValueError, RecursionError):
        return Outcome("failure", "kernels-unreadable")
    text = kernelpairs.render(report, "markdown", language)
    if any(judged.comparison.apart for judged in report.judged):
        return Outcome("neutral", "kernels-apart", text)
    return Outcome("failure", "kernels-worse", text) if report.worse else Outcome("success", "kernels-fine", text)


def _report(run: GpuRun, files: dict[str, bytes], told: dict[str, Any]) -> Report:
    edited = told.get("edited", [])
    if not isinstance(edited, list) or not all(isinstance(name, str) for name in edited[:_MOST_EDITED]):
        raise BadArchive("edited")
    with tempfile.TemporaryDirectory(prefix="specbot-results-") as name:
        folder = Path(name)
        for path, data in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        judged = tuple(
            Judged(by, compare(*(results.load(folder / f"under-{by}" / side) for side in ("base", "head"))))
            for by in ("base", "head")
            if by == "base" or f"under-{by}/base/results.json" in files
        )
    return Report(run.base, run.head, judged, tuple(edited[:_MOST_EDITED]))
