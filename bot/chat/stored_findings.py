"""The findings of the last review, as they are stored, and which of them a person means."""

from __future__ import annotations

from typing import Any

from bot.chat.context import Refusal, Task
from checks.core.near_names import near_names

Json = dict[str, Any]
# The beginning of a fingerprint is enough, as of a commit's id.
_SHORTEST_PREFIX = 7


def read_report(task: Task) -> Json:
    """The report of the last review. Raises `Refusal` where there is none."""
    report = task.context.records.report(task.job.key)
    if report is None:
        raise Refusal("no-report")
    return report


def find_findings(report: Json, name: str) -> list[Json]:
    """The findings that go by `name`; none where no finding does."""
    findings = [finding for finding in report["findings"] if name in names_of(finding)]
    if findings or len(name) < _SHORTEST_PREFIX:
        return findings
    return [f for f in report["findings"] if f["fingerprint"].startswith(name.lower())]


def find_one(report: Json, name: str) -> Json:
    """The one finding that goes by `name`. Raises `Refusal` where that is none, or several."""
    findings = find_findings(report, name)
    if not findings:
        raise Refusal("no-finding", wanted=name, near=near_names(name, known_names(report)))
    fingerprints = sorted({finding["fingerprint"] for finding in findings})
    if len(fingerprints) > 1:
        raise Refusal("which-finding", wanted=name, fingerprints=fingerprints[:10])
    return findings[0]


def known_names(report: Json) -> list[str]:
    """Everything that a finding of the report goes by."""
    known: set[str] = set()
    for finding in report["findings"]:
        known |= names_of(finding)
    return sorted(known)


def names_of(finding: Json) -> set[str]:
    """What a finding goes by: its fingerprint, its rule, its place, and the tests that it predicts
    to fail."""
    path = finding["location"]["path"]
    names = {finding["fingerprint"], finding["rule"], path, place_of(finding)}
    return names | {evidence["test"] for evidence in predicted_failures(finding)}


def place_of(finding: Json) -> str:
    """`path:line`, or the path alone where the finding has no line."""
    place = finding["location"]
    if not place["start_line"]:
        return str(place["path"])
    return f"{place['path']}:{place['start_line']}"


def predicted_failures(finding: Json) -> list[Json]:
    """The tests that it predicts to fail."""
    return [e for e in finding["evidence"] if e["type"] == "PredictedFailure"]
