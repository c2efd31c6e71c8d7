"""`/ignore <fingerprint> reason`: the next reviews of this pull request leave one finding out, and
say who wanted that and why."""

from __future__ import annotations

from bot.chat.context import Refusal, Task
from bot.chat.permissions import Permission
from bot.chat.stored_findings import find_one, place_of, read_report

NAME = "ignore"
USAGE = "<fingerprint> <reason>"
PERMISSION = Permission.WRITE
_SHORTEST_REASON = 4


def run(task: Task) -> str:
    """Store it; the review reads it when it begins."""
    name, _, reason = task.command.text.replace("\t", " ").partition(" ")
    name, reason = name.strip("`"), reason.strip()
    ignored = task.step(f"ignore {task.number}", lambda: _ignore(task, name, reason))
    return task.words("comments.ignored", **ignored)


def _ignore(task: Task, name: str, reason: str) -> dict[str, str]:
    """What is left out from now on: its fingerprint, rule and place. Raises `Refusal`."""
    if not name:
        raise Refusal("ignore-what")
    finding = find_one(read_report(task), name)
    if len(reason) < _SHORTEST_REASON:
        raise Refusal("ignore-why", fingerprint=finding["fingerprint"])
    task.pull()
    task.require(PERMISSION)
    fingerprint = str(finding["fingerprint"])
    task.context.records.skip(task.job.key, fingerprint, task.job.login, reason)
    return {"fingerprint": fingerprint, "rule": finding["rule"], "place": place_of(finding)}
