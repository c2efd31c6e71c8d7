"""What the check run says of a review: its title, its conclusion and its annotations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from bot.github.check import MOST_ANNOTATIONS
from bot.i18n.catalog import Catalog

Json = dict[str, Any]
_CONCLUSION = {"block": "failure", "discuss": "neutral", "pass": "success"}
# Why a changed file was not read that a rule would have read: what it hides is not known.
_UNREAD = ("too-large", "too-much")
_MOST_PATHS = 10
# The severities of findings, the worst first, by GitHub's level of an annotation.
_LEVEL = {"bug": "failure", "suggestion": "warning", "question": "notice", "convention": "notice"}
# GitHub takes 64 KB of message.
_LONGEST = 16_000


def conclusion(report: Mapping[str, Any], on_error: str) -> str:
    """GitHub's word for the verdict: a bug fails the check.

    A change that was too much to read has no verdict, and ends as `on_error` says: else a large
    file would be the way past a required check.
    """
    if report["verdict"] != "block" and _unread(report):
        return on_error
    return _CONCLUSION[report["verdict"]]


def end_of_unfinished(result: Mapping[str, Any], on_error: str) -> str:
    """The same for a review without a report: none that a required check is satisfied with, unless
    `on_error` says so."""
    if "stopped" in result:
        return "cancelled"
    return "action_required" if "error" in result else on_error


def _unread(report: Mapping[str, Any]) -> list[str]:
    left_out = report.get("not_analysed", ())
    return [part["path"] for part in left_out if part["reason"] in _UNREAD]


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
    unread = _unread(report)
    if unread:
        left = len(unread) - _MOST_PATHS
        said = words("service.check-unread", paths=unread[:_MOST_PATHS], left=max(0, left))
        summary = f"{summary}\n\n{said}"
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
    """Of the findings that have a line in the head, the weightiest; the rest is on the page."""
    shown = [finding for finding in findings if _has_line(finding)]
    severities = list(_LEVEL)
    shown.sort(key=lambda finding: severities.index(finding["severity"]))
    return [_annotation(finding, language) for finding in shown[:MOST_ANNOTATIONS]]


def _has_line(finding: Mapping[str, Any]) -> bool:
    place = finding["location"]
    return place["side"] == "head" and place["start_line"] >= 1 and bool(place["path"])


def _annotation(finding: Mapping[str, Any], language: str) -> Json:
    place = finding["location"]
    return {
        "path": place["path"],
        "start_line": place["start_line"],
        "end_line": place["end_line"],
        "annotation_level": _LEVEL[finding["severity"]],
        "title": finding["rule"],
        "message": _message(finding, language)[:_LONGEST],
    }


def _message(finding: Mapping[str, Any], language: str) -> str:
    message = finding["message"][language]
    advice = (finding["advice"] or {}).get(language, "")
    return "\n\n".join(part for part in (message, advice) if part)
