"""A changed line of device code that no test of the repository reaches.

## What it does

Counts with gcov which lines of device code the ops' tests reach when they run on a CPU. Changed
lines that none reaches are reported, one finding for each run of lines.

## Why it matters

CI measures no coverage of device code at all.

## Example

```cuda
if (seq_lens_encoder[i] > 0) {   // no test has a prefill
  stop_flags[i] = false;
}
```

## Known limits

A line that the compiler removed or joined with another has no count, and is not reported. It needs
`specbot device`: a review that runs nothing says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Severity
from checks.core.observation import ObservationKind
from checks.rules.device._observed import observed

ID = "device.untested-line"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for fact in change.observations:
        if fact.kind is ObservationKind.UNTESTED_LINE:
            yield observed(ID, fact, "seen", Severity.SUGGESTION, Confidence.HIGH)
