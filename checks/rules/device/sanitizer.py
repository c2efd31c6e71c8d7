"""A read or write outside of memory, seen by a sanitizer.

## What it does

Runs the ops' tests with AddressSanitizer and UndefinedBehaviorSanitizer. Every tensor and every
block's shared memory is an allocation of exactly its size. An error that the base does not have is
reported. Where title or description promise that results stay, the same is asked of inputs that are
made of the recorded calls; what only such an input shows is a question.

## Why it matters

A GPU reads one row too many without a word. The result is right until the neighbour's memory
changes.

## Example

```cuda
int last = ids[row * stride + n];     // n == stride in the last row
```

## Known limits

Tests must reach the line. Memory of one tensor's other rows is not outside. It needs `specbot
device`: a review that runs nothing says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Severity
from checks.core.observation import ObservationKind
from checks.rules.device._observed import observed

ID = "device.sanitizer"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for fact in change.observations:
        if fact.kind is ObservationKind.SANITIZER:
            key = "seen" if fact.test else "varied"
            yield observed(ID, fact, key, Severity.BUG, Confidence.HIGH)
