"""A review's question about logprob baselines, answered by records of before and after the
change."""

from __future__ import annotations

from dataclasses import replace

from bot.logprobs.diff import compare
from bot.reports.report import Report
from checks.core.finding import Confidence, Finding, Message, RecordDiff, Severity
from checks.logprobs.compare import ComparisonOutcome, ComparisonVerdict
from checks.rules.logprobs.baseline_affected import ID

_WRONG = (
    ComparisonVerdict.REGRESSION,
    ComparisonVerdict.ACCEPTANCE_DROP,
    ComparisonVerdict.TOKEN_DIVERGENCE,
)


def with_record_evidence(report: Report, base: str, head: str) -> Report:
    """The report with the verdict on files `base` and `head` as evidence of each finding about a
    baseline.

    Where it is safe to record the baseline anew the finding asks nothing more; where values are
    wrong it is a bug; else it stays what it was. Raises `UserError` for files that cannot be
    compared.
    """
    outcome = compare(base, head)
    messages = (*outcome.reasons, *outcome.causes)
    diff = RecordDiff(base, head, str(outcome.verdict), outcome.safe, messages)
    findings = report.review.findings
    if not any(finding.rule == ID for finding in findings):
        note = Message("records", {"verdict": diff.verdict})
        return replace(report, notes=(*report.notes, note))
    changed = []
    for finding in findings:
        changed.append(_answer(finding, diff, outcome) if finding.rule == ID else finding)
    changed.sort(key=lambda finding: finding.sort_key)
    review = replace(report.review, findings=tuple(changed))
    return replace(report, review=review)


def _answer(finding: Finding, diff: RecordDiff, outcome: ComparisonOutcome) -> Finding:
    """The finding with the comparison as evidence, and what follows from that."""
    with_diff = replace(finding, evidence=(*finding.evidence, diff))
    if outcome.safe:
        message = Message(finding.message.key, {**finding.message.args, "answered": True})
        return replace(with_diff, message=message, answered=True)
    if outcome.verdict in _WRONG:
        return replace(with_diff, severity=Severity.BUG, confidence=Confidence.HIGH)
    return with_diff
