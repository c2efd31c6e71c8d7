"""A result that depends on the order in which threads or blocks run.

## What it does

Runs the ops' tests under several orders of threads and blocks: ascending, descending, and random
ones whose seeds are printed. A test whose result differs between them is reported.

## Why it matters

FastDeploy's `build_sampling_params.cu` (#6765) lets thread 0 rewrite `infer_seed` while others
still read it, with no barrier between. It works as long as a warp runs in step.

## Example

```cuda
if (tid == 0) seed[row] += step;   // no barrier
out[tid] = seed[row] + tid;
```

## Known limits

Threads change only at barriers, exchanges of a warp and atomics: a race that needs two threads in
the middle of a statement is not seen. Memory is never reordered. It needs `specbot device`: a
review that runs nothing says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Severity
from checks.core.observation import ObservationKind
from checks.rules.device._observed import observed

ID = "device.race"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for fact in change.observations:
        if fact.kind is ObservationKind.RACE:
            yield observed(ID, fact, "seen", Severity.BUG, Confidence.HIGH)
