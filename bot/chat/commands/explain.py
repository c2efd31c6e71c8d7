"""`/explain <finding|test>`: one finding of the last review in full, or why a test is predicted to fail."""

from __future__ import annotations

from typing import Any

from bot.chat.context import Refusal, Task
from bot.chat.nearest import nearest
from bot.chat.permissions import Permission

Json = dict[str, Any]
NAME = "explain"
USAGE = "<finding|test>"
LEVEL = Permission.READ
_MOST = 3


def run(task: Task) -> str:
    """Answer from the stored report, without analysing anything again."""
    return task.step(f"explain {task.number}", lambda: _explained(task))


def _explained(task: Task) -> str:
    wanted = task.said.text.strip("`")
    if not wanted:
        raise Refusal("explain-what")
    report = task.context.records.report(task.order.key)
    if report is None:
        raise Refusal("no-report")
    found = [f for f in report["findings"] if wanted in _names(f)]
    if not found:
        known = sorted({name for f in report["findings"] for name in _names(f)})
        raise Refusal("no-finding", wanted=wanted, near=nearest(wanted, known))
    parts = [task.words("comments.explain-head", head=report["head"][:12])]
    parts += [_one(task, finding) for finding in found[:_MOST]]
    if len(found) > _MOST:
        parts.append(task.words("comments.explain-more", left=len(found) - _MOST))
    return "\n\n".join(parts)


def _names(finding: Json) -> set[str]:
    """What a finding goes by: its fingerprint, its rule, its place, and the tests that it predicts to fail."""
    place = finding["location"]
    names = {
        finding["fingerprint"],
        finding["rule"],
        place["path"],
        f"{place['path']}:{place['start_line']}",
    }
    return names | {e["test"] for e in finding["evidence"] if e["type"] == "PredictedFailure"}


def _one(task: Task, finding: Json) -> str:
    context, place = task.context, finding["location"]
    style, language = context.words.style, context.settings.language
    where = style.code(
        f"{place['path']}:{place['start_line']}" if place["start_line"] else place["path"]
    )
    parts = [
        f"### {style.code(finding['rule'])} {where}",
        _rich(task, finding["message"][language]),
    ]
    for table in ("detail", "advice"):
        if finding[table]:
            parts += [
                _rich(task, text) for text in finding[table][language].split("\n\n") if text.strip()
            ]
    parts += [_failure(task, e) for e in finding["evidence"] if e["type"] == "PredictedFailure"]
    return "\n\n".join(parts)


def _failure(task: Task, evidence: Json) -> str:
    args = {name: evidence[name] for name in ("test", "expression", "value", "exception")}
    fixture = evidence["fixture"]
    return task.words(
        "comments.explain-test", fixture=f"{fixture['path']}:{fixture['start_line']}", **args
    )


def _rich(task: Task, text: str) -> str:
    """A plain sentence with its code in backticks, as Markdown; every part is escaped anew."""
    style = task.context.words.style
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return style.prose(text)
    return "".join(_written(task, part, n % 2 == 1) for n, part in enumerate(parts))


def _written(task: Task, part: str, code: bool) -> str:
    style = task.context.words.style
    if code:
        return style.code(part)
    kept = part.strip()
    if not kept:
        return " " if part else ""
    # A part's own blanks: prose takes those at its ends away.
    return part[: len(part) - len(part.lstrip())] + style.prose(kept) + part[len(part.rstrip()) :]
