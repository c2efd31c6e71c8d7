"""The journal of one harness process.

The code under test ran in that process, so that any line may be a lie or garbage: what does not fit
is left out, and nothing here says that an output is right.
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
_LONGEST_SAMPLE = 1e6
"""In seconds."""
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
    """`cases` are those that a process with the reference announced, in order, with their
    tolerances.
    """

    versions: dict[str, str] = field(default_factory=dict)
    device: dict[str, Any] = field(default_factory=dict)
    cases: dict[str, dict[str, float]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)  # bytes of a case's inputs and outputs
    bandwidth: float | None = None  # bytes per second of a large copy
    attempts: dict[str, CaseProgress] = field(default_factory=dict)
    reference_failures: dict[str, str] = field(
        default_factory=dict
    )  # case to why the reference failed
    import_error: str | None = None
    no_device: bool = False


def parse(text: str) -> Journal:
    """The journal in `events.jsonl`.

    An incomplete last line is of a process that died writing it.
    """
    journal = Journal()
    for line in text.splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            _add_event(journal, event)
    return journal


def _add_event(journal: Journal, event: Mapping[str, Any]) -> None:
    match event.get("event"):
        case "start":
            versions = _plain_entries(event.get("versions"))
            journal.versions = {k: v for k, v in versions.items() if isinstance(v, str)}
            journal.device = _plain_entries(event.get("device"))
        case "no-device":
            journal.no_device = True
        case "roof":
            journal.bandwidth = _measure(event.get("bytes_per_second"))
        case "import-failed":
            journal.import_error = _error(event)
        case kind:
            name = event.get("case")
            # Case names become names of files.
            if isinstance(name, str) and name.replace("-", "").isalnum():
                _add_case_event(journal, kind, name, event)


def _add_case_event(journal: Journal, kind: object, name: str, event: Mapping[str, Any]) -> None:
    if kind == "case":
        journal.cases[name] = _tolerances(event.get("tolerance"))
    elif kind == "size":
        size = _measure(event.get("bytes"))
        if size is not None:
            journal.sizes[name] = int(size)
    elif kind == "begin":
        journal.attempts[name] = CaseProgress("begun")
    elif kind == "reference-failed":
        journal.reference_failures[name] = _error(event)
    elif isinstance(kind, str) and kind in _ENDS:
        how = event.get("how")
        journal.attempts[name] = CaseProgress(
            stage=kind,
            error=_error(event),
            how=how if isinstance(how, str) else "",
            seconds=_positive(event.get("seconds"), _LONGEST_SAMPLE),
        )


def _tolerances(value: object) -> dict[str, float]:
    tolerances = {}
    for name, number in _plain_entries(value).items():
        if not isinstance(number, str | bool):
            tolerances[name] = float(number)
    return tolerances


def _plain_entries(value: object) -> dict[str, Any]:
    """The entries of an object that are strings, booleans or finite numbers."""
    if not isinstance(value, dict):
        return {}
    entries = {}
    for name, item in value.items():
        if isinstance(item, str | bool | int | float) and _is_finite(item):
            entries[name] = item
    return entries


def _is_finite(value: str | bool | int | float) -> bool:
    """Whether a number is one that a float can hold: JSON's integers have no end."""
    return isinstance(value, str) or abs(value) <= sys.float_info.max


def _measure(value: object) -> float | None:
    """A number of bytes, or of bytes per second, that a device can have."""
    numbers = _positive([value], LARGEST)
    return numbers[0] if numbers else None


def _positive(value: object, most: float) -> tuple[float, ...]:
    """The numbers of a list that can be measures: more than none and less than `most`."""
    if not isinstance(value, list):
        return ()
    numbers = []
    for item in value[:MOST_SAMPLES]:
        is_number = isinstance(item, int | float) and not isinstance(item, bool)
        if is_number and 0 < item < most:
            numbers.append(float(item))
    return tuple(numbers)


def _error(event: Mapping[str, Any]) -> str:
    error = event.get("error")
    return error[:LONGEST] if isinstance(error, str) else ""
