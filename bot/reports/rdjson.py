"""reviewdog's rdjson (`reviewdog -f=rdjson`): a DiagnosticResult of its `rdf.proto`."""

from __future__ import annotations

import json
from typing import Any

from bot.i18n.catalog import Catalog
from bot.reports.report import Report
from checks.core.finding import Edit, Finding, Location, Severity, Side

_SEVERITY = {
    Severity.BUG: "ERROR",
    Severity.SUGGESTION: "WARNING",
    Severity.QUESTION: "INFO",
    Severity.CONVENTION: "INFO",
}


def render(report: Report, language: str) -> str:
    """The findings that have a place in the head tree: rdjson cannot name one in the base."""
    words = Catalog(language)
    diagnostics = []
    for finding in report.review.findings:
        if finding.location.side is Side.HEAD and finding.location.path:
            diagnostics.append(_diagnostic(finding, words))
    result = {
        "source": {"name": "specbot"},
        "severity": "INFO",
        "diagnostics": diagnostics,
    }
    return json.dumps(result, ensure_ascii=False, indent=2) + "\n"


def _diagnostic(finding: Finding, words: Catalog) -> dict[str, Any]:
    message = words.message(finding.rule, finding.message)
    advice = words.advice(finding.rule, finding.message)
    diagnostic: dict[str, Any] = {
        "message": f"{message}\n{advice}" if advice else message,
        "location": _location(finding.location),
        "severity": _SEVERITY[finding.severity],
        "code": {"value": finding.rule},
    }
    if finding.fix is not None and finding.fix.verified:
        path = finding.location.path
        own_edits = [edit for edit in finding.fix.edits if edit.path == path]
        diagnostic["suggestions"] = [_suggestion(edit) for edit in own_edits]
    related = []
    for item in finding.related:
        if item.location.side is Side.HEAD:
            text = words.message(finding.rule, item.message)
            related.append({"message": text, "location": _location(item.location)})
    if related:
        diagnostic["related_locations"] = related
    return diagnostic


def _suggestion(edit: Edit) -> dict[str, Any]:
    """An edit of whole lines: from the first column to the start of the line after."""
    start = {"line": edit.start_line, "column": 1}
    end = {"line": edit.end_line + 1, "column": 1}
    text = "".join(f"{line}\n" for line in edit.lines)
    return {"range": {"start": start, "end": end}, "text": text}


def _location(place: Location) -> dict[str, Any]:
    if not place.start_line:
        return {"path": place.path}
    start, end = {"line": place.start_line}, {"line": place.end_line}
    return {"path": place.path, "range": {"start": start, "end": end}}
