"""A call passes more arguments by position than what it calls takes.

## What it does

Looks at every call in a function that the change touched, and at every call, anywhere in the tree,
of a function, method or constructor whose parameters it altered. Counts
the arguments that stand behind the last parameter.

## Why it matters

A parameter that goes away leaves every caller that passes it by position with one value too many,
and no search for the parameter's name finds them.

## Example

```python
def forward(self, x): ...           # the change dropped `seed`

self.sampler.forward(x, 1)          # TypeError
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

ID = "sync.surplus-argument"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each line with such a call."""
    yield from misfit_findings(ID, "many", "many", change, config)
