"""`/explain <finding|test>`: one finding of the last review in full, or why a test is predicted to
fail."""

from __future__ import annotations

from typing import Any

from bot.chat.context import Refusal, Task
from bot.chat.nearest import nearest
from bot.chat.permissions import Permission
from bot.i18n.escape import Style

Json = dict[str, Any]
NAME = "explain"
USAGE = "<finding|test>"
PERMISSION = Permission.READ
_MOST = 3


def run(task: Task) -> str:
    """Answer from the stored report, without analysing anything again."""
    return task.step(f"explain {task.number}", lambda: _explain(task))


def _explain(task: Task) -> str:
    name = task.command.text.strip("`")
    if not name:
        raise Refusal("explain-what")
    report = task.context.records.report(task.job.key)
    if report is None:
        raise Refusal("no-report")
    findings = [finding for finding in report["findings"] if name in _names(finding)]
    if not findings:
        known: set[str] = set()
        for finding in report["findings"]:
            known |= _names(finding)
        raise Refusal("no-finding", wanted=name, near=nearest(name, sorted(known)))
    parts = [task.words("comments.explain-head", head=report["head"][:12])]
    parts += [_finding_text(task, finding) for finding in findings[:_MOST]]
    if len(findings) > _MOST:
        parts.append(task.words("comments.explain-more", left=len(findings) - _MOST))
    return "\n\n".join(parts)


def _names(finding: Json) -> set[str]:
    """What a finding goes by: its fingerprint, its rule, its place, and the tests that it predicts
    to fail."""
    place = finding["location"]
    names = {
        finding["fingerprint"],
        finding["rule"],
        place["path"],
        f"{place['path']}:{place['start_line']}",
    }
    return names | {evidence["test"] for evidence in _predicted_failures(finding)}


def _predicted_failures(finding: Json) -> list[Json]:
    return [e for e in finding["evidence"] if e["type"] == "PredictedFailure"]


def _finding_text(task: Task, finding: Json) -> str:
    style, language = task.context.words.style, task.context.settings.language
    place = finding["location"]
    where = place["path"]
    if place["start_line"]:
        where = f"{place['path']}:{place['start_line']}"
    parts = [
        f"### {style.code(finding['rule'])} {style.code(where)}",
        _with_code(style, finding["message"][language]),
    ]
    for table in ("detail", "advice"):
        if not finding[table]:
            continue
        for paragraph in finding[table][language].split("\n\n"):
            if paragraph.strip():
                parts.append(_with_code(style, paragraph))
    parts += [_failure_text(task, evidence) for evidence in _predicted_failures(finding)]
    return "\n\n".join(parts)


def _failure_text(task: Task, evidence: Json) -> str:
    fixture = evidence["fixture"]
    return task.words(
        "comments.explain-test",
        fixture=f"{fixture['path']}:{fixture['start_line']}",
        test=evidence["test"],
        expression=evidence["expression"],
        value=evidence["value"],
        exception=evidence["exception"],
    )


def _with_code(style: Style, text: str) -> str:
    """A plain sentence with its code in backticks, as Markdown; every part is escaped anew."""
    parts = text.split("`")
    has_open_span = len(parts) % 2 == 0
    if has_open_span:
        return style.prose(text)
    written = []
    for index, part in enumerate(parts):
        is_code = index % 2 == 1
        written.append(style.code(part) if is_code else _prose_with_blanks(style, part))
    return "".join(written)


def _prose_with_blanks(style: Style, part: str) -> str:
    """Prose with the blanks at its ends, which `Style.prose` takes away."""
    text = part.strip()
    if not text:
        return " " if part else ""
    before = part[: len(part) - len(part.lstrip())]
    after = part[len(part.rstrip()) :]
    return before + style.prose(text) + after
