"""reviewdog's rdjson (`reviewdog -f=rdjson`): a DiagnosticResult of its `rdf.proto`."""

from __future__ import annotations

import json
from typing import Any

from bot.i18n.catalog import Catalog
from bot.reports.report import Report
from checks.core.finding import Finding, Location, Severity, Side

_SEVERITY = {
    Severity.BUG: "ERROR",
    Severity.SUGGESTION: "WARNING",
    Severity.QUESTION: "INFO",
    Severity.CONVENTION: "INFO",
}


def render(report: Report, language: str) -> str:
    """The findings that have a place in the head tree; rdjson has no way to name one in the base."""
    words = Catalog(language)
    found = [f for f in report.review.findings if f.location.side is Side.HEAD and f.location.path]
    result = {
        "source": {"name": "specbot"},
        "severity": "INFO",
        "diagnostics": [_diagnostic(f, words) for f in found],
    }
    return json.dumps(result, ensure_ascii=False, indent=2) + "\n"


def _diagnostic(finding: Finding, words: Catalog) -> dict[str, Any]:
    message = [words.message(finding.rule, finding.message)]
    message += filter(None, [words.advice(finding.rule, finding.message)])
    diagnostic: dict[str, Any] = {
        "message": "\n".join(message),
        "location": _location(finding.location),
        "severity": _SEVERITY[finding.severity],
        "code": {"value": finding.rule},
    }
    if finding.fix is not None and finding.fix.verified:
        diagnostic["suggestions"] = [
            {
                "range": {
                    "start": {"line": e.start_line, "column": 1},
                    "end": {"line": e.end_line + 1, "column": 1},
                },
                "text": "".join(f"{line}\n" for line in e.lines),
            }
            for e in finding.fix.edits
            if e.path == finding.location.path
        ]
    related = [r for r in finding.related if r.location.side is Side.HEAD]
    if related:
        diagnostic["related_locations"] = [
            {"message": words.message(finding.rule, r.message), "location": _location(r.location)}
            for r in related
        ]
    return diagnostic


def _location(place: Location) -> dict[str, Any]:
    if not place.start_line:
        return {"path": place.path}
    return {
        "path": place.path,
        "range": {"start": {"line": place.start_line}, "end": {"line": place.end_line}},
    }
