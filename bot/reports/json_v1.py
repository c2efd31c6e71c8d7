"""The review as JSON of our own, version 1: `bot/reports/schema/review-1.json` describes it and is kept compatible.

Sentences come in every language, with the key and arguments that they were made from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import bot
from bot.i18n.catalog import LANGUAGES, Catalog
from bot.reports.report import Report
from checks.core.finding import Evidence, Finding, Message, RecordDiff, Sibling, Step

VERSION = 1


def render(report: Report, language: str) -> str:
    """The whole review; `language` is only noted, for all languages are in it."""
    return json.dumps(_data(report, language), ensure_ascii=False, indent=2) + "\n"


def _data(report: Report, language: str) -> dict[str, Any]:
    review = report.review
    voices = {name: Catalog(name) for name in LANGUAGES}
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
        "findings": [finding_data(f, voices) for f in review.findings],
        "not_analysed": [{"path": _text(p), "reason": reason} for p, reason in review.not_analysed],
        "notes": [n.key for n in report.notes],
    }


def finding_data(finding: Finding, voices: Mapping[str, Catalog]) -> dict[str, Any]:
    """A finding with its sentences in every language."""
    rule = finding.rule
    made: dict[str, Any] = {
        "rule": rule,
        "severity": str(finding.severity),
        "confidence": str(finding.confidence),
        "location": plain(finding.location),
        "symbol": _text(finding.symbol),
        "fingerprint": finding.fingerprint,
        "unparsed": finding.unparsed,
        "answered": finding.answered,
        "message": _message(rule, finding.message, voices),
    }
    for table in ("detail", "advice"):
        said = {
            name: getattr(words, table)(rule, finding.message) for name, words in voices.items()
        }
        made[table] = said if any(said.values()) else None
    made["evidence"] = [_evidence(rule, e, voices) for e in finding.evidence]
    made["fix"] = plain(finding.fix)
    made["related"] = [
        {"location": plain(r.location), "message": _message(rule, r.message, voices)}
        for r in finding.related
    ]
    return made


def _message(rule: str, message: Message, voices: Mapping[str, Catalog]) -> dict[str, Any]:
    said = {name: words.message(rule, message) for name, words in voices.items()}
    return {"key": message.key, "args": plain(message.args), **said}


def _evidence(rule: str, piece: Evidence, voices: Mapping[str, Catalog]) -> dict[str, Any]:
    made = {"type": type(piece).__name__, **plain(piece)}
    if isinstance(piece, Sibling):
        made["verdict"] = _message(rule, piece.verdict, voices)
    elif isinstance(piece, Step):
        made["conclusion"] = _message(rule, piece.conclusion, voices)
    elif isinstance(piece, RecordDiff):
        made["said"] = [
            {"key": m.key, "args": plain(m.args)}
            | {name: words(f"comparison.{m.key}", **m.args) for name, words in voices.items()}
            for m in piece.said
        ]
    return made


def plain(value: Any) -> Any:
    """Dataclasses as objects with the same names, tuples as arrays, everything else as JSON has it."""
    if is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value, key=str) if isinstance(value, set | frozenset) else value
        return [plain(item) for item in items]
    if isinstance(value, bool | int | float) or value is None:
        return value
    return _text(str(value))


def _text(text: str) -> str:
    """JSON is UTF-8: bytes of a file name that were not are written as `\\xff`."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
