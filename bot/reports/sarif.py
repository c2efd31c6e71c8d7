"""SARIF 2.1.0, for code scanning and editors."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import bot
from bot.i18n.catalog import Catalog
from bot.reports.report import Report
from checks.core.finding import Confidence, Finding, Location, Severity, Side

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVEL = {
    Severity.BUG: "error",
    Severity.SUGGESTION: "warning",
    Severity.QUESTION: "note",
    Severity.CONVENTION: "note",
}
_RANK = {Confidence.HIGH: 90.0, Confidence.MEDIUM: 60.0, Confidence.LOW: 30.0}


def render(report: Report, language: str) -> str:
    """The findings as one run. SARIF has one tree: a place in the base is said to be one in the message. What has no
    place at all (a title, a description) is a notification, because code scanning refuses results without one."""
    words = Catalog(language)
    placed = [f for f in report.review.findings if f.location.path]
    rules = sorted({f.rule for f in report.review.findings})
    run = {
        "tool": {"driver": _driver(rules, words)},
        "language": {"zh": "zh-CN", "en": "en-US"}[language],
        "columnKind": "utf16CodeUnits",
        "originalUriBaseIds": {"ROOT": {"description": {"text": words("report.root")}}},
        "invocations": [_invocation(report, words)],
        "results": [_result(f, rules.index(f.rule), words) for f in placed],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, ensure_ascii=False, indent=2) + "\n"


def _driver(rules: list[str], words: Catalog) -> dict[str, Any]:
    return {
        "name": "specbot",
        "semanticVersion": bot.__version__,
        "rules": [
            {"id": rule, "shortDescription": {"text": words.summary(rule)}} for rule in rules
        ],
    }


def _invocation(report: Report, words: Catalog) -> dict[str, Any]:
    notes: list[dict[str, Any]] = [
        {
            "level": "warning",
            "message": {
                "text": words("report.not-analysed", path=path) + words(f"report.reason-{reason}")
            },
            "locations": [{"physicalLocation": _physical(Location(path, 0))}],
        }
        for path, reason in report.review.not_analysed
    ]
    notes += [
        {
            "level": _LEVEL[f.severity],
            "message": {"text": _text(f, words)},
            "associatedRule": {"id": f.rule},
        }
        for f in report.review.findings
        if not f.location.path
    ]
    invocation: dict[str, Any] = {"executionSuccessful": True}
    if notes:
        invocation["toolExecutionNotifications"] = notes
    return invocation


def _result(finding: Finding, index: int, words: Catalog) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _LEVEL[finding.severity],
        "rank": _RANK[finding.confidence],
        "message": {"text": _text(finding, words)},
        "locations": [_location(finding.location)],
        "partialFingerprints": {"specbot/v1": finding.fingerprint},
        "properties": {"severity": str(finding.severity), "confidence": str(finding.confidence)},
    }
    if finding.answered:
        result |= {
            "kind": "informational",
            "level": "none",
        }  # SARIF 3.27.9: what is not a failure has no level
    if finding.related:
        result["relatedLocations"] = [
            _location(r.location)
            | {"id": n, "message": {"text": words.message(finding.rule, r.message)}}
            for n, r in enumerate(finding.related, 1)
        ]
    fix = finding.fix
    if fix is not None and fix.verified:
        result["fixes"] = [_fix(finding, words)]
    return result


def _text(finding: Finding, words: Catalog) -> str:
    parts = [
        words.message(finding.rule, finding.message),
        words.advice(finding.rule, finding.message),
    ]
    if finding.location.side is Side.BASE:
        parts.append(words("report.in-base"))
    return "\n\n".join(p for p in parts if p)


def _location(place: Location) -> dict[str, Any]:
    return {"physicalLocation": _physical(place)}


def _physical(place: Location) -> dict[str, Any]:
    path = quote(place.path.encode("utf-8", "surrogateescape"), safe="/")
    physical: dict[str, Any] = {"artifactLocation": {"uri": path, "uriBaseId": "ROOT"}}
    if place.start_line:
        physical["region"] = {"startLine": place.start_line, "endLine": place.end_line}
    return physical


def _fix(finding: Finding, words: Catalog) -> dict[str, Any]:
    """Whole lines are replaced: from the first column to the start of the line after."""
    assert finding.fix is not None
    changes: dict[str, list[dict[str, Any]]] = {}
    for edit in finding.fix.edits:
        region = {
            "startLine": edit.start_line,
            "startColumn": 1,
            "endLine": edit.end_line + 1,
            "endColumn": 1,
        }
        text = "".join(f"{line}\n" for line in edit.lines)
        changes.setdefault(edit.path, []).append(
            {"deletedRegion": region, "insertedContent": {"text": text}}
        )
    return {
        "description": {"text": words("report.fix")},
        "artifactChanges": [
            {
                "artifactLocation": _physical(Location(path, 0))["artifactLocation"],
                "replacements": edits,
            }
            for path, edits in sorted(changes.items())
        ],
    }
