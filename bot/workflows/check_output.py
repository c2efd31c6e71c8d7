"""What the check run says of a review: its title, its conclusion and its annotations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from bot.i18n.catalog import Catalog

Json = dict[str, Any]
_CONCLUSION = {"block": "failure", "discuss": "neutral", "pass": "success"}
# The severities of findings, the worst first, by GitHub's level of an annotation.
_LEVEL = {"bug": "failure", "suggestion": "warning", "question": "notice", "convention": "notice"}
# GitHub takes 64 KB of message.
_LONGEST = 16_000


def conclusion(report: Mapping[str, Any]) -> str:
    """GitHub's word for the verdict: only a bug fails the check."""
    return _CONCLUSION[report["verdict"]]


def verdict_output(report: Mapping[str, Any], words: Catalog) -> Json:
    """The title counts the findings, the summary says where they are."""
    counts = Counter(finding["severity"] for finding in report["findings"])
    parts = []
    for severity in _LEVEL:
        if counts[severity]:
            parts.append(words(f"service.count-{severity}", count=counts[severity]))
    title = words("service.check-clean")
    if parts:
        title = words("service.check-title", counts=parts)
    summary = words("service.check-summary", head=str(report["head"])[:12])
    return {"title": title, "summary": summary}


def running_output(words: Catalog) -> Json:
    """The review is under way."""
    return {"title": words("service.check-running"), "summary": words("service.check-running")}


def superseded_output(words: Catalog) -> Json:
    """A newer commit is reviewed instead."""
    return {
        "title": words("service.check-superseded"),
        "summary": words("service.check-superseded"),
    }


def refused_output(error: Mapping[str, Any], words: Catalog) -> Json:
    """What a person can put right, such as a mistake in `.specbot.toml`."""
    return {
        "title": words("service.check-refused"),
        "summary": words(f"errors.{error['key']}", **error["args"]),
    }


def broken_output(job: str, words: Catalog) -> Json:
    """Our own failure; the id `job` finds it in the logs."""
    return {
        "title": words("service.check-broken"),
        "summary": words("service.check-broken-summary", order=job),
    }


def finding_annotations(findings: Iterable[Mapping[str, Any]], language: str) -> list[Json]:
    """One for each finding that has a line in the head."""
    annotations = []
    for finding in findings:
        place = finding["location"]
        if place["side"] != "head" or place["start_line"] < 1 or not place["path"]:
            continue
        annotations.append(
            {
                "path": place["path"],
                "start_line": place["start_line"],
                "end_line": place["end_line"],
                "annotation_level": _LEVEL[finding["severity"]],
                "title": finding["rule"],
                "message": _message(finding, language)[:_LONGEST],
            }
        )
    return annotations


def _message(finding: Mapping[str, Any], language: str) -> str:
    message = finding["message"][language]
    advice = (finding["advice"] or {}).get(language, "")
    return "\n\n".join(part for part in (message, advice) if part)
