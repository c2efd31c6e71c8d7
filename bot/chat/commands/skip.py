"""`/skip <rule> reason`: the next reviews of this pull request leave a rule out, and say who wanted
that and why."""

from __future__ import annotations

from bot.chat.context import Refusal, Task
from bot.chat.permissions import Permission
from checks.core.near_names import near_names
from checks.core.rule_ids import ids_meant
from checks.registry import RULES

NAME = "skip"
USAGE = "<rule> <reason>"
PERMISSION = Permission.WRITE
_SHORTEST_REASON = 4


def run(task: Task) -> str:
    """Store it; the review reads it when it begins."""
    rule, _, reason = task.command.text.replace("\t", " ").partition(" ")
    rule, reason = rule.strip("`"), reason.strip()
    task.step(f"skip {task.number}", lambda: _skip(task, rule, reason))
    return task.words("comments.skipped", rule=rule)


def _skip(task: Task, name: str, reason: str) -> None:
    known = [rule.ID for rule in RULES]
    if not ids_meant(name, known):
        raise Refusal("skip-rule", rule=name or "?", near=near_names(name, known))
    if len(reason) < _SHORTEST_REASON:
        raise Refusal("skip-why", rule=name)
    task.pull()
    task.require(PERMISSION)
    task.context.records.skip(task.job.key, name, task.job.login, reason)
