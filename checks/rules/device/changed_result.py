"""A changed result where the author says that nothing changes.

## What it does

Records the arguments that the base's tests call the op with, and calls the head's op with the same.
Only where title or description promise that results stay (a refactoring, an optimisation, and no
fix or feature besides), a difference is reported. Then rows and numbers are exchanged between these
calls, lengths shortened and flags turned: what differs only on such an input is a question.

## Why it matters

Most differences between base and head are meant. The author's own words say where they are not.

## Example

```cuda
// [Optimization] merge two loops in update_status, no functional change
```

## Known limits

Words are read, not understood. Results that depend on uninitialised memory are left out. It needs
`specbot device`: a review that runs nothing says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Severity
from checks.core.observation import ObservationKind
from checks.rules.device._observed import observed

ID = "device.changed-result"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for fact in change.observations:
        if fact.kind is ObservationKind.CHANGED_RESULT:
            key = "seen" if fact.certain else "varied"
            yield observed(ID, fact, key, Severity.BUG, Confidence.HIGH)
