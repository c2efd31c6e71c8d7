"""SARIF 2.1.0, for code scanning and editors."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import bot
from bot import urls
from bot.i18n.catalog import Catalog
from bot.i18n.rule_pages import page_with_note
from bot.reports.report import Report
from checks.core.finding import Confidence, Finding, Fix, Location, Severity, Side
from checks.registry import rule

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVEL = {
    Severity.BUG: "error",
    Severity.SUGGESTION: "warning",
    Severity.QUESTION: "note",
    Severity.CONVENTION: "note",
}
_RANK = {Confidence.HIGH: 90.0, Confidence.MEDIUM: 60.0, Confidence.LOW: 30.0}


def render(report: Report, language: str) -> str:
    """The findings as one run.

    SARIF has one tree: that a place is in the base is said in the message. What has no place at all
    (a title, a description) is a notification, because code scanning refuses results without one.
    """
    words = Catalog(language)
    with_place = [finding for finding in report.review.findings if finding.location.path]
    rules = sorted({finding.rule for finding in report.review.findings})
    run = {
        "tool": {"driver": _driver(rules, words)},
        "language": {"zh": "zh-CN", "en": "en-US"}[language],
        "columnKind": "utf16CodeUnits",
        "originalUriBaseIds": {"ROOT": {"description": {"text": words("report.root")}}},
        "invocations": [_invocation(report, words)],
        "results": [_result(f, rules.index(f.rule), words) for f in with_place],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, ensure_ascii=False, indent=2) + "\n"


def _driver(rules: list[str], words: Catalog) -> dict[str, Any]:
    descriptions = []
    for name in rules:
        help_text = _help(name, words)
        description: dict[str, Any] = {
            "id": name,
            "shortDescription": {"text": words.summary(name)},
            "help": {"text": help_text, "markdown": help_text},
        }
        if urls.public():
            description["helpUri"] = f"{urls.public()}/rules/{name}"
        descriptions.append(description)
    return {"name": "specbot", "semanticVersion": bot.__version__, "rules": descriptions}


def _help(name: str, words: Catalog) -> str:
    """The documentation of a rule."""
    check = rule(name)
    return page_with_note(check, words) if check is not None else name


def _invocation(report: Report, words: Catalog) -> dict[str, Any]:
    notifications = []
    for path, reason in report.review.not_analysed:
        text = words("report.not-analysed", path=path) + words(f"report.reason-{reason}")
        notifications.append(
            {
                "level": "warning",
                "message": {"text": text},
                "locations": [_location(Location(path, 0))],
            }
        )
    for finding in report.review.findings:
        if not finding.location.path:
            notifications.append(
                {
                    "level": _LEVEL[finding.severity],
                    "message": {"text": _text(finding, words)},
                    "associatedRule": {"id": finding.rule},
                }
            )
    invocation: dict[str, Any] = {"executionSuccessful": True}
    if notifications:
        invocation["toolExecutionNotifications"] = notifications
    return invocation


def _result(finding: Finding, rule_index: int, words: Catalog) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": rule_index,
        "level": _LEVEL[finding.severity],
        "rank": _RANK[finding.confidence],
        "message": {"text": _text(finding, words)},
        "locations": [_location(finding.location)],
        "partialFingerprints": {"specbot/v1": finding.fingerprint},
        "properties": {"severity": str(finding.severity), "confidence": str(finding.confidence)},
    }
    if finding.answered:
        # SARIF 3.27.9: what is not a failure has no level.
        result["kind"] = "informational"
        result["level"] = "none"
    if finding.related:
        result["relatedLocations"] = _related(finding, words)
    if finding.fix is not None and finding.fix.verified:
        result["fixes"] = [_fix(finding.fix, words)]
    return result


def _related(finding: Finding, words: Catalog) -> list[dict[str, Any]]:
    locations = []
    for number, related in enumerate(finding.related, 1):
        text = words.message(finding.rule, related.message)
        location = _location(related.location)
        locations.append({**location, "id": number, "message": {"text": text}})
    return locations


def _text(finding: Finding, words: Catalog) -> str:
    """What was seen, what to do about it, and that it is in the base where it is."""
    parts = [
        words.message(finding.rule, finding.message),
        words.advice(finding.rule, finding.message),
    ]
    if finding.location.side is Side.BASE:
        parts.append(words("report.in-base"))
    return "\n\n".join(part for part in parts if part)


def _location(place: Location) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": _artifact(place.path)}
    if place.start_line:
        physical["region"] = {"startLine": place.start_line, "endLine": place.end_line}
    return {"physicalLocation": physical}


def _artifact(path: str) -> dict[str, str]:
    """A file as a relative URI: bytes that are no UTF-8 are percent-encoded too."""
    uri = quote(path.encode("utf-8", "surrogateescape"), safe="/")
    return {"uri": uri, "uriBaseId": "ROOT"}


def _fix(fix: Fix, words: Catalog) -> dict[str, Any]:
    """A fix that replaces whole lines: from the first column to the start of the line after."""
    replacements: dict[str, list[dict[str, Any]]] = {}
    for edit in fix.edits:
        region = {
            "startLine": edit.start_line,
            "startColumn": 1,
            "endLine": edit.end_line + 1,
            "endColumn": 1,
        }
        text = "".join(f"{line}\n" for line in edit.lines)
        replacement = {"deletedRegion": region, "insertedContent": {"text": text}}
        replacements.setdefault(edit.path, []).append(replacement)
    changes = []
    for path in sorted(replacements):
        changes.append({"artifactLocation": _artifact(path), "replacements": replacements[path]})
    return {"description": {"text": words("report.fix")}, "artifactChanges": changes}
