"""How many earlier logs of a job had a line of the same form: what is in none of them is rare."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

# Fewer logs do not tell what is usual.
FEWEST = 3


@dataclass(frozen=True, slots=True)
class EarlierLogs:
    """`logs` is how many there were, `counts` in how many of them each form stood.

    A form is named by `form_id`; one that no log had is not among them.
    """

    logs: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)

    def count(self, form: str) -> int:
        """In how many of the logs the form stood."""
        return self.counts.get(form_id(form), 0)

    def dump(self) -> bytes:
        """As JSON."""
        return json.dumps({"logs": self.logs, "counts": dict(self.counts)}).encode()


NONE = EarlierLogs()


def form_id(form: str) -> str:
    """The form of a line (`mask_variable_parts`) as 16 hex digits."""
    return hashlib.blake2b(form.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def count_forms(wanted: frozenset[str], logs: Iterable[frozenset[str]]) -> EarlierLogs:
    """In how many of `logs` each of the `wanted` ids stood."""
    counts: Counter[str] = Counter()
    number = 0
    for ids in logs:
        number += 1
        counts.update(wanted & ids)
    return EarlierLogs(number, counts)


def load(stream: BinaryIO) -> EarlierLogs:
    """What `dump` wrote; `NONE` where it is anything else, or of too few logs."""
    try:
        data = json.load(stream)
        earlier = EarlierLogs(int(data["logs"]), dict(data["counts"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        return NONE
    return earlier if earlier.logs >= FEWEST else NONE
