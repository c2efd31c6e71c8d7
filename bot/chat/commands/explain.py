"""`/explain <finding|test|job>`: a finding of the last review, why a test is predicted to fail, or
why a job of CI failed."""

from __future__ import annotations

from typing import Any

from bot.chat.context import Refusal, Task
from bot.chat.explained_jobs import explain_job, explained_names
from bot.chat.permissions import Permission
from bot.chat.stored_findings import find_findings, known_names, place_of, predicted_failures
from bot.i18n.escape import Style
from checks.core.near_names import near_names

Json = dict[str, Any]
NAME = "explain"
USAGE = "<finding|test|job>"
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
    findings = [] if report is None else find_findings(report, name)
    if report is not None and findings:
        return _findings_text(task, report, findings)
    job = explain_job(task, name)
    if job is not None:
        return job
    if report is None:
        raise Refusal("no-report")
    known = [*known_names(report), *explained_names(task)]
    raise Refusal("no-finding", wanted=name, near=near_names(name, known))


def _findings_text(task: Task, report: Json, findings: list[Json]) -> str:
    parts = [task.words("comments.explain-head", head=report["head"][:12])]
    parts += [_finding_text(task, finding) for finding in findings[:_MOST]]
    if len(findings) > _MOST:
        parts.append(task.words("comments.explain-more", left=len(findings) - _MOST))
    return "\n\n".join(parts)


def _finding_text(task: Task, finding: Json) -> str:
    style, language = task.context.words.style, task.context.settings.language
    where, fingerprint = place_of(finding), finding["fingerprint"]
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
    parts += [_failure_text(task, evidence) for evidence in predicted_failures(finding)]
    parts.append(task.words("comments.explain-why", fingerprint=fingerprint))
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
