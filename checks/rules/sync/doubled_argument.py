"""A call passes one parameter twice: by position and by name.

## What it does

Looks at every call in a function that the change touched, and at every call, anywhere in the tree,
of a function, method or constructor whose parameters it altered. Names the
parameters that are given by position and by name.

## Why it matters

A parameter that is inserted before one that callers pass by name takes over the value that stands
in its place; the name then comes twice.

## Example

```python
def build(rows, kind, size=0): ...  # the change inserted `kind`

build(rows, 1, kind=2)              # 1 was `size`: TypeError
```

## Known limits

An object's class is known by annotation, constructor, assignment, `isinstance`, or what a function
returns. What a decorator wraps, and `*args` and `**kwargs` of unknown length, are left out, and
so are calls in tests (tests are `protocol.stale-fixture`'s) and calls that were wrong before.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Finding
from checks.rules.sync._call_findings import misfit_findings

ID = "sync.doubled-argument"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each line with such a call."""
    yield from misfit_findings(ID, "doubled", "doubled", change, config)
