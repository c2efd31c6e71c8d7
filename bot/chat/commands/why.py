"""`/why <fingerprint>`: the whole evidence of one finding of the last review."""

from __future__ import annotations

from bot.chat.context import Refusal, Task
from bot.chat.permissions import Permission
from bot.chat.stored_findings import find_one, place_of, read_report

NAME = "why"
USAGE = "<fingerprint>"
PERMISSION = Permission.READ


def run(task: Task) -> str:
    """Answer from what was stored with the report, without analysing anything again."""
    return task.step(f"why {task.number}", lambda: _evidence(task))


def _evidence(task: Task) -> str:
    name = task.command.text.strip("`")
    if not name:
        raise Refusal("why-what")
    report = read_report(task)
    finding = find_one(report, name)
    fingerprint = finding["fingerprint"]
    # A report that was stored by an older release has no evidence in words.
    text = report.get("evidence", {}).get(fingerprint)
    if text is None:
        raise Refusal("why-old")
    head = task.words(
        "comments.why-head",
        head=report["head"][:12],
        rule=finding["rule"],
        place=place_of(finding),
        fingerprint=fingerprint,
    )
    return f"{head}\n\n{text}"
