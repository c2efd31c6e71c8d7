"""An op that does not agree with the reference in the change's own test.

## What it does

Runs the tests that the change adds or alters on the head's device code. One that fails is reported.

## Why it matters

The author of a change on other hardware's machine cannot run them; CI does so hours later.

## Example

```cuda
np.testing.assert_array_equal(op(x), reference(x))     # fails on the code of the same change
```

## Known limits

A test that compares floating-point numbers closely may fail because exp and log are the C library's
here. It needs `specbot device`: a review that runs nothing says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Severity
from checks.core.observation import ObservationKind
from checks.rules.device._observed import observed

ID = "device.reference"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for fact in change.observations:
        if fact.kind is ObservationKind.REFERENCE:
            yield observed(ID, fact, "seen", Severity.BUG, Confidence.HIGH)
