"""A barrier that not all threads of a block reach.

## What it does

Notices, while the ops' tests run, threads of a block that wait at different barriers, or at one
that the others never reach.

## Why it matters

On a GPU this is a hang, or data that is half written; it may show on one architecture alone.

## Example

```cuda
if (threadIdx.x < n) {
  __syncthreads();      // threads from n on wait at the next one
}
__syncthreads();
```

## Known limits

A thread that has ended counts as having arrived, as on hardware since Volta. It needs `specbot
device`: a review that runs nothing says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Severity
from checks.core.observation import ObservationKind
from checks.rules.device._observed import observed

ID = "device.barrier"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for fact in change.observations:
        if fact.kind is ObservationKind.BARRIER:
            yield observed(ID, fact, "seen", Severity.BUG, Confidence.HIGH)
