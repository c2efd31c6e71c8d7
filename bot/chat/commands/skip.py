"""`/skip <rule> reason`: the next reviews of this pull request leave a rule out, and say who wanted that and why."""

from __future__ import annotations

from bot.chat.context import Refusal, Task
from bot.chat.nearest import nearest
from bot.chat.permissions import Permission
from checks.core.rule_ids import ids_meant
from checks.registry import RULES

NAME = "skip"
USAGE = "<rule> <reason>"
LEVEL = Permission.WRITE
_SHORTEST = 4


def run(task: Task) -> str:
    """Store it; the review reads it when it begins."""
    rule, _, reason = task.said.text.replace("\t", " ").partition(" ")
    reason = reason.strip()
    task.step(f"skip {task.number}", lambda: _skip(task, rule.strip("`"), reason))
    return task.words("comments.skipped", rule=rule.strip("`"))


def _skip(task: Task, rule: str, reason: str) -> None:
    known = [one.ID for one in RULES]
    if not ids_meant(rule, known):
        raise Refusal("skip-rule", rule=rule or "?", near=nearest(rule, known))
    if len(reason) < _SHORTEST:
        raise Refusal("skip-why", rule=rule)
    task.pull()
    task.needs(LEVEL)
    task.context.records.skip(task.order.key, rule, task.order.login, reason)
