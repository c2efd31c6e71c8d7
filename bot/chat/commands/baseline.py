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
from checks.logprobs.compare import Outcome as Comparison
from checks.logprobs.record import Key

Json = dict[str, Any]
NAME = "baseline"
USAGE = "accept <why>"
LEVEL = Permission.WRITE
_SHORTEST = 4


def run(task: Task) -> str:
    """Accept it, as `specbot logprobs accept` does; the answer has the command that does the same elsewhere."""
    action, _, why = task.said.text.replace("\t", " ").partition(" ")
    moved = task.step(f"accept {task.number}", lambda: _accept(task, action, why.strip()))
    key = "baseline-accepted" if moved["new"] != moved["old"] else "baseline-already"
    args = {
        "key": label(Key(**moved["key"])),
        "requests": moved["requests"],
        "who": moved["who"],
        "why": moved["why"],
    }
    said = task.words(
        f"comments.{key}", **args, verdict=(moved["verdict"] or {}).get("verdict", "")
    )
    command = f"specbot logprobs accept {shlex.quote(moved['file'])} --store DIR --who {shlex.quote(moved['who'])}"
    code = task.context.words.style.code(f"{command} --why {shlex.quote(moved['why'])}")
    return f"{said}\n\n{task.words('comments.baseline-elsewhere', artifact=moved['artifact'])}\n\n{code}"


def _accept(task: Task, action: str, why: str) -> Json:
    if action != "accept":
        raise Refusal("baseline-what")
    if len(why) < _SHORTEST:
        raise Refusal("baseline-why")
    head = str(task.pull()["head"]["sha"])
    task.needs(LEVEL)
    found = task.context.records.last_run_with_logprobs(task.order.key, head)
    if found is None:
        raise Refusal("baseline-nothing", head=head[:12])
    archive = run_files.download_artifact(task.context, task.order, found)
    if archive is None:
        raise Refusal("baseline-nothing", head=head[:12])
    said = {"accepted": task.order.created, "who": task.order.login, "why": why, "order": task.id}
    try:
        moved = _moved(
            found, archive, task.context.settings.baselines(task.order.repository_id), said
        )
    except (BadArchive, UserError, ValueError, RecursionError):
        raise Refusal("baseline-unreadable") from None
    return moved | {"artifact": run_files.artifact_name(found), "file": found.files["logprobs"]}


def _moved(found: GpuRun, archive: bytes, store: Path, said: Json) -> Json:
    """Raises `BadArchive`, `UserError` and `ValueError` for results that cannot be used."""
    files = kernel_result.read_expected_files(found, archive)
    if kernel_result.read_summary(found, files) is None:
        raise BadArchive("commits")
    with tempfile.TemporaryDirectory(prefix="specbot-baseline-") as name:
        head, base = kernel_result.write_records(found, files, Path(name))
        # The baseline's verdict, where there was one, else the base's.
        comparisons = list(compare_logprobs(head, base, store).values())
        return move(
            store, str(head), said | {"verdict": _verdict(comparisons[-1]) if comparisons else None}
        )


def _verdict(comparison: Comparison) -> dict[str, str]:
    text = render(comparison, "json", "en")
    return {"verdict": str(comparison.verdict), "sha256": hashlib.sha256(text.encode()).hexdigest()}
