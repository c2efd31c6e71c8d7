"""The review as JSON of our own, version 1.

`bot/reports/schema/review-1.json` describes it, and it is kept compatible. Sentences come in every
language, with the key and the arguments that they were made from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import bot
from bot.i18n.catalog import LANGUAGES, Catalog
from bot.reports.report import Report
from checks.core.finding import (
    Counterexample,
    Definition,
    DerivationStep,
    Evidence,
    Execution,
    Finding,
    KernelRun,
    Message,
    PastFailure,
    PredictedFailure,
    RecordDiff,
    Sibling,
)

VERSION = 1
# What each kind of evidence is called in version 1, whatever its class is called.
_EVIDENCE_TYPES: dict[type, str] = {
    Counterexample: "Counterexample",
    PredictedFailure: "PredictedFailure",
    Sibling: "Sibling",
    Definition: "Definition",
    KernelRun: "KernelRun",
    Execution: "Execution",
    PastFailure: "History",
    RecordDiff: "RecordDiff",
    DerivationStep: "Step",
}
# The words of every language, by its name.
Catalogs = Mapping[str, Catalog]


def render(report: Report, language: str) -> str:
    """The whole review. `language` is only noted, because all languages are in it."""
    return json.dumps(_data(report, language), ensure_ascii=False, indent=2) + "\n"


def _data(report: Report, language: str) -> dict[str, Any]:
    review = report.review
    catalogs = {name: Catalog(name) for name in LANGUAGES}
    not_analysed = []
    for path, reason in review.not_analysed:
        not_analysed.append({"path": _text(path), "reason": reason})
    return {
        "version": VERSION,
        "tool": {"name": "specbot", "version": bot.__version__},
        "language": language,
        "base": review.change.base_rev,
        "head": review.change.head_rev,
        "profile": review.config.profile,
        "verdict": str(review.verdict),
        "pull": plain(review.change.pull),
        "facts": plain(report.facts),
        "rules": list(report.rules),
        "findings": [finding_data(finding, catalogs) for finding in review.findings],
        "not_analysed": not_analysed,
        "notes": [note.key for note in report.notes],
    }


def finding_data(finding: Finding, catalogs: Catalogs) -> dict[str, Any]:
    """A finding with its sentences in every language."""
    rule, message = finding.rule, finding.message
    detail = {name: words.detail(rule, message) for name, words in catalogs.items()}
    advice = {name: words.advice(rule, message) for name, words in catalogs.items()}
    related = []
    for item in finding.related:
        sentence = _message(rule, item.message, catalogs)
        related.append({"location": plain(item.location), "message": sentence})
    return {
        "rule": rule,
        "severity": str(finding.severity),
        "confidence": str(finding.confidence),
        "location": plain(finding.location),
        "symbol": _text(finding.symbol),
        "fingerprint": finding.fingerprint,
        "unparsed": finding.unparsed,
        "answered": finding.answered,
        "message": _message(rule, message, catalogs),
        "detail": detail if any(detail.values()) else None,
        "advice": advice if any(advice.values()) else None,
        "evidence": [_evidence(rule, piece, catalogs) for piece in finding.evidence],
        "fix": plain(finding.fix),
        "related": related,
    }


def _message(rule: str, message: Message, catalogs: Catalogs) -> dict[str, Any]:
    sentences = {name: words.message(rule, message) for name, words in catalogs.items()}
    return {"key": message.key, "args": plain(message.args), **sentences}


def _evidence(rule: str, piece: Evidence, catalogs: Catalogs) -> dict[str, Any]:
    data = {"type": _EVIDENCE_TYPES[type(piece)], **plain(piece)}
    if isinstance(piece, Sibling):
        data["verdict"] = _message(rule, piece.verdict, catalogs)
    elif isinstance(piece, DerivationStep):
        data["conclusion"] = _message(rule, piece.conclusion, catalogs)
    elif isinstance(piece, RecordDiff):
        data["said"] = [_comparison_message(message, catalogs) for message in piece.said]
    return data


def _comparison_message(message: Message, catalogs: Catalogs) -> dict[str, Any]:
    key = f"comparison.{message.key}"
    sentences = {name: words(key, **message.args) for name, words in catalogs.items()}
    return {"key": message.key, "args": plain(message.args), **sentences}


def plain(value: Any) -> Any:
    """Dataclasses as objects with the same names, tuples as arrays, the rest as JSON has it."""
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return [plain(item) for item in sorted(value, key=str)]
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bool | int | float) or value is None:
        return value
    return _text(str(value))


def _text(text: str) -> str:
    """JSON is UTF-8: bytes of a file name that were not are written as `\\xff`."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
