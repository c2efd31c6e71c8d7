"""What a GPU run brought: believed only where it is the run that we asked for, of the commits that
we named."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bot.chat import job_results
from bot.chat.artifact_archive import members
from bot.chat.page_tab import PageTab, RunOutcome, combine
from bot.db.commands import GpuRun
from bot.errors import UserError
from bot.github.client import Json
from bot.i18n.catalog import Catalog
from bot.kernels import results
from bot.reports import kernelpairs
from bot.reports.kernelpairs import JudgedComparison, KernelReport
from bot.safe_zip import BadArchive
from bot.web import tab_html
from checks.kernelrun.comparison import compare

_SUMMARY = "kernels.json"
_KERNELS = r"kernels\.json|under-(?:base|head)/(?:base|head)/(?:results\.json|outputs\.safetensors)"
_MOST_EDITED = 200
_CONCLUSIONS = {"apart": "neutral", "worse": "failure", "fine": "success"}


def is_requested_run(run: GpuRun, found: Json) -> bool:
    """Whether GitHub's `found` is the run that was asked for."""
    if found["event"] != "workflow_dispatch":
        return False
    path = str(found["path"]).partition("@")[0]
    return _file_name(path) == _file_name(run.workflow)


def _file_name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def judge_run(run: GpuRun, archive: bytes, words: Catalog, store: Path) -> RunOutcome:
    """The comparison, made here from the outputs of both sides and the baselines of `store`; what
    the run itself concluded does not count."""
    try:
        files = read_expected_files(run, archive)
        summary = read_summary(run, files)
        if summary is None:
            return RunOutcome("failure", "kernels-other")
        return combine(list(_judge_parts(run, files, summary, words, store)))
    except (BadArchive, UserError, ValueError, RecursionError):
        return RunOutcome("failure", "kernels-unreadable")


def read_expected_files(run: GpuRun, archive: bytes) -> dict[str, bytes]:
    """The files of the archive that the job is known to bring. Raises `BadArchive`."""
    named = [re.escape(name) for name in run.files.values() if name]
    return members(archive, re.compile("|".join([_KERNELS, *named])))


def read_summary(run: GpuRun, files: dict[str, bytes]) -> Json | None:
    """What the run says of itself; None where that is about other commits. Raises `ValueError`."""
    summary = json.loads(files.get(_SUMMARY, b""))
    if not isinstance(summary, dict):
        return None
    if (summary.get("base"), summary.get("head")) != (run.base, run.head):
        return None
    return summary


def _judge_parts(
    run: GpuRun, files: dict[str, bytes], summary: Json, words: Catalog, store: Path
) -> Iterator[RunOutcome]:
    """One for the kernels, the tests and the logprobs each. What was to come and did not is a
    failure."""
    expected = {kind: name for kind, name in run.files.items() if name}
    lost = [name for name in expected.values() if name not in files]
    if lost:
        yield RunOutcome("failure", "kernels-nothing", words("comments.run-lost", names=lost))
        return
    if not expected or "under-base/base/results.json" in files:
        yield _judge_kernels(run, files, summary, words.language)
    if "junit" in expected:
        yield job_results.judge_tests(files[expected["junit"]], words)
    if "logprobs" in expected:
        with tempfile.TemporaryDirectory(prefix="specbot-logprobs-") as name:
            head, base = write_records(run, files, Path(name))
            yield job_results.judge_logprobs(head, base, store, words)


def write_records(run: GpuRun, files: dict[str, bytes], folder: Path) -> tuple[Path, Path | None]:
    """Head's records and base's, where there are some, as files in `folder`."""
    head, base = folder / "head.jsonl", folder / "base.jsonl"
    for path, kind in ((head, "logprobs"), (base, "logprobs_base")):
        name = run.files.get(kind)
        if name:
            path.write_bytes(files[name])
    return head, base if base.exists() else None


def _judge_kernels(
    run: GpuRun, files: dict[str, bytes], summary: Json, language: str
) -> RunOutcome:
    report = _report(run, files, summary)
    text = kernelpairs.render(report, "markdown", language)
    verdict = tab_html.kernels_verdict(report)
    tab = PageTab("kernels", verdict, tab_html.kernels_tab(report))
    return RunOutcome(_CONCLUSIONS[verdict], f"kernels-{verdict}", text, (tab,))


def _report(run: GpuRun, files: dict[str, bytes], summary: Json) -> KernelReport:
    edited = _edited_ops(summary)
    judged = []
    with tempfile.TemporaryDirectory(prefix="specbot-results-") as name:
        folder = Path(name)
        for path, data in files.items():
            if path.startswith("under-"):
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(data)
        # Both sides are run under the harness of the base, and where that changed, of the head.
        for harness in ("base", "head"):
            if harness == "head" and "under-head/base/results.json" not in files:
                continue
            results_of = folder / f"under-{harness}"
            base, head = results.load(results_of / "base"), results.load(results_of / "head")
            judged.append(JudgedComparison(harness, compare(base, head)))
    return KernelReport(run.base, run.head, tuple(judged), edited)


def _edited_ops(summary: Json) -> tuple[str, ...]:
    """The ops that the run says were changed. Raises `BadArchive` where it says no such thing."""
    edited = summary.get("edited", [])
    if not isinstance(edited, list):
        raise BadArchive("edited")
    names = edited[:_MOST_EDITED]
    if not all(isinstance(name, str) for name in names):
        raise BadArchive("edited")
    return tuple(names)
