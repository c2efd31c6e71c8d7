"""`/baseline accept <why>`: the logprobs that a GPU run of the head brought become the baseline."""

from __future__ import annotations

import hashlib
import shlex
import tempfile
from pathlib import Path
from typing import Any

from bot.chat import kernel_result, run_files
from bot.chat.context import Refusal, Task
from bot.chat.job_results import compare_logprobs
from bot.chat.permissions import Permission
from bot.db.commands import GpuRun
from bot.errors import UserError
from bot.logprobs.accept import move
from bot.logprobs.store import label
from bot.reports.logprobs import render
from bot.safe_zip import BadArchive
from checks.logprobs.compare import ComparisonOutcome
from checks.logprobs.record import Key

Json = dict[str, Any]
NAME = "baseline"
USAGE = "accept <why>"
PERMISSION = Permission.WRITE
_SHORTEST_REASON = 4


def run(task: Task) -> str:
    """Accept it, as `specbot logprobs accept` does; the answer has the command that does the same
    elsewhere."""
    action, _, why = task.command.text.replace("\t", " ").partition(" ")
    moved = task.step(f"accept {task.number}", lambda: _accept(task, action, why.strip()))
    changed = moved["new"] != moved["old"]
    answer = task.words(
        "comments.baseline-accepted" if changed else "comments.baseline-already",
        key=label(Key(**moved["key"])),
        requests=moved["requests"],
        who=moved["who"],
        why=moved["why"],
        verdict=(moved["verdict"] or {}).get("verdict", ""),
    )
    elsewhere = task.words("comments.baseline-elsewhere", artifact=moved["artifact"])
    command = task.context.words.style.code(_shell_command(moved))
    return f"{answer}\n\n{elsewhere}\n\n{command}"


def _shell_command(moved: Json) -> str:
    file, who, why = (shlex.quote(moved[name]) for name in ("file", "who", "why"))
    return f"specbot logprobs accept {file} --store DIR --who {who} --why {why}"


def _accept(task: Task, action: str, why: str) -> Json:
    """Make the records the baseline; gives what `bot.logprobs.accept.move` says of it, with the
    names of the artifact and of its file. Raises `Refusal`."""
    if action != "accept":
        raise Refusal("baseline-what")
    if len(why) < _SHORTEST_REASON:
        raise Refusal("baseline-why")
    head = str(task.pull()["head"]["sha"])
    task.require(PERMISSION)
    job, context = task.job, task.context
    run = context.records.last_run_with_logprobs(job.key, head)
    archive = None if run is None else run_files.download_artifact(context, job, run)
    if run is None or archive is None:
        raise Refusal("baseline-nothing", head=head[:12])
    note = {"accepted": job.created, "who": job.login, "why": why, "order": task.id}
    try:
        moved = _move(run, archive, context.settings.baselines(job.repository_id), note)
    except (BadArchive, UserError, ValueError, RecursionError):
        raise Refusal("baseline-unreadable") from None
    return moved | {"artifact": run_files.artifact_name(run), "file": run.files["logprobs"]}


def _move(run: GpuRun, archive: bytes, store: Path, note: Json) -> Json:
    """Raises `BadArchive`, `UserError` and `ValueError` for results that cannot be used."""
    files = kernel_result.read_expected_files(run, archive)
    if kernel_result.read_summary(run, files) is None:
        raise BadArchive("commits")
    with tempfile.TemporaryDirectory(prefix="specbot-baseline-") as name:
        head, base = kernel_result.write_records(run, files, Path(name))
        comparisons = list(compare_logprobs(head, base, store).values())
        # The baseline's verdict, where there was one, else the base's.
        verdict = _verdict(comparisons[-1]) if comparisons else None
        return move(store, str(head), note | {"verdict": verdict})


def _verdict(comparison: ComparisonOutcome) -> dict[str, str]:
    text = render(comparison, "json", "en")
    return {"verdict": str(comparison.verdict), "sha256": hashlib.sha256(text.encode()).hexdigest()}
