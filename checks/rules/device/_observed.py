"""A finding of an observation: what the rules of this family share."""

from __future__ import annotations

from checks.core.finding import Confidence, Finding, Location, Severity
from checks.core.observation import DeviceObservation


def observed(
    rule: str,
    fact: DeviceObservation,
    key: str,
    severity: Severity,
    confidence: Confidence,
) -> Finding:
    """The finding for a fact; a question where another reading is left."""
    if not fact.certain:
        severity, confidence = Severity.QUESTION, Confidence.MEDIUM
    finding = Finding.at(
        rule,
        Location(fact.path, fact.line),
        key,
        severity=severity,
        confidence=confidence,
        symbol=fact.op,
        subject=f"{fact.test}\n{fact.text}",
        op=fact.op,
        test=fact.test,
        text=fact.text,
        sibling=fact.sibling,
        schedule=fact.execution.schedule if fact.execution else 0,
    )
    return finding.with_evidence(fact.execution) if fact.execution else finding
