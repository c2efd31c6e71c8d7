"""What was seen when the device code of a change ran: facts for the rules of the family `device`.

Nothing here runs anything: the application does, and hands the facts over with the change.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from checks.core.finding import Execution


class ObservationKind(StrEnum):
    """Which question to the device code was answered badly."""

    TEST_FAILS = "test-fails"
    SANITIZER = "sanitizer"
    RACE = "race"
    BARRIER = "barrier"
    REFERENCE = "reference"
    CHANGED_RESULT = "changed-result"
    UNTESTED_LINE = "untested-line"
    SIBLING = "sibling"


@dataclass(frozen=True, slots=True)
class DeviceObservation:
    """One fact. `path` and `line` are the source's in the head; line 0 means the whole file.

    `test` is the test's name, `text` the error or the line in question. `certain` says that no
    other reading is left: else it is a question. `sibling` is the copy's file, where there is one.
    """

    kind: ObservationKind
    op: str
    path: str
    line: int
    test: str
    text: str
    execution: Execution | None = None
    certain: bool = True
    sibling: str = ""
