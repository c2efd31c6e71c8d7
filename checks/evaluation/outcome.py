"""What a review said of one change, as far as a measurement needs it."""

from __future__ import annotations

from dataclasses import dataclass

# The base, the head, and the folders of the head that are taken from the base instead.
ChangeKey = tuple[str, str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class ReportedFinding:
    """A finding, as far as scoring needs it."""

    rule: str
    severity: str
    path: str
    line: int
    end_line: int
    text: str


@dataclass(frozen=True, slots=True)
class ReviewOutcome:
    """A review of one change: its findings, or the error it died of.

    `seconds` is wall time. `megabytes` is the most memory that its process had held by its end;
    the same process did the reviews before it.
    """

    base: str
    head: str
    findings: tuple[ReportedFinding, ...]
    seconds: float
    megabytes: float
    error: str = ""
