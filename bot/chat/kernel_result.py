"""What a GPU run brought home: believed only where it is the run that we asked for, of the commits that we named."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bot.chat import job_results
from bot.chat.artifact_archive import members
from bot.chat.page_tab import PageTab, RunOutcome, combine
from bot.db.commands import GpuRun
from bot.errors import UserError
from bot.github.client import Json
from bot.i18n.catalog import Catalog
from bot.kernels import results
from bot.reports import kernelpairs
from bot.reports.kernelpairs import Judged, Report
from bot.safe_zip import BadArchive
from bot.web import tab_html
from checks.kernelrun.comparison import compare

_SUMMARY = "kernels.json"
_KERNELS = r"kernels\.json|under-(?:base|head)/(?:base|head)/(?:results\.json|outputs\.safetensors)"
_MOST_EDITED = 200
_CONCLUSIONS = {"apart": "neutral", "worse": "failure", "fine": "success"}


def is_requested_run(run: GpuRun, found: Json) -> bool:
    """Whether GitHub's `found` is the run that was asked for."""
    path = str(found["path"]).partition("@")[0]
    return (
        found["event"] == "workflow_dispatch"
        and path.rsplit("/", 1)[-1] == run.workflow.rsplit("/", 1)[-1]
    )


def judge_run(run: GpuRun, archive: bytes, words: Catalog, store: Path) -> RunOutcome:
    """The comparison, made here from the outputs of both sides and the baselines of `store`; what the run itself
    concluded is not asked."""
    try:
        files = read_expected_files(run, archive)
        told = read_summary(run, files)
        if told is None:
            return RunOutcome("failure", "kernels-other")
        return combine(list(_parts(run, files, told, words, store)))
    except (BadArchive, UserError, ValueError, RecursionError):
        return RunOutcome("failure", "kernels-unreadable")


def read_expected_files(run: GpuRun, archive: bytes) -> dict[str, bytes]:
    """The files of the archive that the job is known to bring. Raises `BadArchive`."""
    named = [re.escape(name) for name in run.files.values() if name]
    return members(archive, re.compile("|".join([_KERNELS, *named])))


def read_summary(run: GpuRun, files: dict[str, bytes]) -> dict[str, Any] | None:
    """What the run says of itself; None where that is about other commits. Raises `ValueError`."""
    told = json.loads(files.get(_SUMMARY, b""))
    if not isinstance(told, dict) or (told.get("base"), told.get("head")) != (run.base, run.head):
        return None
    return told


def _parts(
    run: GpuRun, files: dict[str, bytes], told: dict[str, Any], words: Catalog, store: Path
) -> Iterator[RunOutcome]:
    """One for the kernels, the tests and the logprobs each. What was to come and did not is a failure."""
    lost = [name for name in run.files.values() if name and name not in files]
    if lost:
        yield RunOutcome("failure", "kernels-nothing", words("comments.run-lost", names=lost))
        return
    kinds = {kind: files[name] for kind, name in run.files.items() if name}
    if not kinds or "under-base/base/results.json" in files:
        yield _kernels(run, files, told, words.language)
    if "junit" in kinds:
        yield job_results.judge_tests(kinds["junit"], words)
    if "logprobs" in kinds:
        with tempfile.TemporaryDirectory(prefix="specbot-logprobs-") as name:
            yield job_results.judge_logprobs(*write_records(run, files, Path(name)), store, words)


def write_records(run: GpuRun, files: dict[str, bytes], folder: Path) -> tuple[Path, Path | None]:
    """Head's records and base's, where there are some, as files in `folder`."""
    sides = [folder / "head.jsonl", folder / "base.jsonl"]
    for side, kind in zip(sides, ("logprobs", "logprobs_base"), strict=True):
        if name := run.files.get(kind):
            side.write_bytes(files[name])
    return sides[0], sides[1] if sides[1].exists() else None


def _kernels(
    run: GpuRun, files: dict[str, bytes], told: dict[str, Any], language: str
) -> RunOutcome:
    report = _report(run, files, told)
    text = kernelpairs.render(report, "markdown", language)
    verdict = tab_html.kernels_verdict(report)
    tabs = (PageTab("kernels", verdict, tab_html.kernels_tab(report)),)
    return RunOutcome(_CONCLUSIONS[verdict], f"kernels-{verdict}", text, tabs)


def _report(run: GpuRun, files: dict[str, bytes], told: dict[str, Any]) -> Report:
    edited = told.get("edited", [])
    if not isinstance(edited, list) or not all(
        isinstance(name, str) for name in edited[:_MOST_EDITED]
    ):
        raise BadArchive("edited")
    with tempfile.TemporaryDirectory(prefix="specbot-results-") as name:
        folder = Path(name)
        for path, data in files.items():
            if path.startswith("under-"):
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(data)
        judged = tuple(
            Judged(
                by,
                compare(
                    *(results.load(folder / f"under-{by}" / side) for side in ("base", "head"))
                ),
            )
            for by in ("base", "head")
            if by == "base" or f"under-{by}/base/results.json" in files
        )
    return Report(run.base, run.head, judged, tuple(edited[:_MOST_EDITED]))
