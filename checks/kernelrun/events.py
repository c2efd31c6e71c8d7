"""The journal of one harness process. The code under test ran in that process, so that any line may be a lie or
garbage: what does not fit is left out, and nothing here says that an output is right.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LONGEST = 300
MOST_SAMPLES = 1000
LARGEST = 1e18
"""Beyond any size or bandwidth of a device, in bytes and bytes per second."""
_ENDS = ("done", "unsupported", "error", "lost", "reference-failed")


@dataclass(frozen=True, slots=True)
class CaseProgress:
    """How far a case came: `begun`, or one of the endings. `error` is what was raised."""

    stage: str
    error: str = ""
    how: str = ""
    seconds: tuple[float, ...] = ()


@dataclass
class Journal:
    """`cases` are those that a process with the reference announced, in order, with their tolerances."""

    versions: dict[str, str] = field(default_factory=dict)
    device: dict[str, Any] = field(default_factory=dict)
    cases: dict[str, dict[str, float]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)  # bytes of a case's inputs and outputs
    bandwidth: float | None = None  # bytes per second of a large copy
    attempts: dict[str, CaseProgress] = field(default_factory=dict)
    lawless: dict[str, str] = field(default_factory=dict)  # case to why the reference failed
    import_error: str | None = None
    no_device: bool = False


def parse(text: str) -> Journal:
    """The journal of `events.jsonl`; an incomplete last line is a process that died while it wrote."""
    journal = Journal()
    for line in text.splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            _take(journal, event)
    return journal


def _take(journal: Journal, event: Mapping[str, Any]) -> None:
    kind = event.get("event")
    case = event.get("case")
    if kind == "start":
        journal.versions = {
            k: v for k, v in _flat(event.get("versions")).items() if isinstance(v, str)
        }
        journal.device = _flat(event.get("device"))
    elif kind == "no-device":
        journal.no_device = True
    elif kind == "roof":
        journal.bandwidth = next(iter(_positive([event.get("bytes_per_second")], LARGEST)), None)
    elif kind == "import-failed":
        journal.import_error = _error(event)
    elif not isinstance(case, str) or not case.replace("-", "").isalnum():
        return
    elif kind == "case":
        given = _flat(event.get("tolerance"))
        journal.cases[case] = {
            k: float(v) for k, v in given.items() if not isinstance(v, str | bool)
        }
    elif kind == "size":
        for number in _positive([event.get("bytes")], LARGEST):
            journal.sizes[case] = int(number)
    elif kind == "begin":
        journal.attempts[case] = CaseProgress("begun")
    elif kind == "reference-failed":
        journal.lawless[case] = _error(event)
    elif kind in _ENDS:
        how = event.get("how")
        seconds = _positive(event.get("seconds"), 1e6)
        journal.attempts[case] = CaseProgress(
            kind, _error(event), how if isinstance(how, str) else "", seconds
        )


def _flat(value: object) -> dict[str, Any]:
    """The entries of an object that are strings, booleans or finite numbers."""
    if not isinstance(value, dict):
        return {}
    return {
        k: v for k, v in value.items() if isinstance(v, str | bool | int | float) and _finite(v)
    }


def _finite(value: str | bool | int | float) -> bool:
    """Whether a number is one that a float can hold: JSON's integers have no end."""
    return isinstance(value, str) or abs(value) <= sys.float_info.max


def _positive(value: object, most: float) -> tuple[float, ...]:
    """The numbers of a list that can be measures: more than none and less than `most`."""
    if not isinstance(value, list):
        return ()
    numbers = [
        v for v in value[:MOST_SAMPLES] if isinstance(v, int | float) and not isinstance(v, bool)
    ]
    return tuple(float(v) for v in numbers if 0 < v < most)


def _error(event: Mapping[str, Any]) -> str:
    error = event.get("error")
    return error[:LONGEST] if isinstance(error, str) else ""
