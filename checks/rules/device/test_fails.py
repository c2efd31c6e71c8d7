"""A test of a device op that passes before the change and fails after it.

## What it does

Runs the repository's own tests of the ops whose source changed, on a CPU, as the base has them: on
the base's device code and on the head's. What passes there and fails here is reported.

## Why it matters

CI's GPU tests start late, where there is a GPU at all. Of 25 past revisions of FastDeploy's
speculative ops the sketch of this engine ran 84 tests in 50 s on a laptop's processor.

## Example

```cuda
accept_num[i] = n;        // was n + 1
// test_verify.py::test_accept: [2, 3] (ACTUAL), [3, 4] (DESIRED)
```

## Known limits

A test that needs what is not emulated is listed as not run. Where the change also alters the test
and the altered one passes, it is a question. It needs `specbot device`: a review that runs nothing
says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Severity
from checks.core.observation import ObservationKind
from checks.rules.device._observed import observed

ID = "device.test-fails"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for fact in change.observations:
        if fact.kind is ObservationKind.TEST_FAILS:
            yield observed(ID, fact, "seen", Severity.BUG, Confidence.HIGH)
