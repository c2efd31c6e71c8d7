"""A call passes a keyword that what it calls does not have.

## What it does

Looks at every call in a function that the change touched, and at every call, anywhere in the tree,
of a function, method or constructor whose parameters it altered. Names the
keywords that fit no parameter.

## Why it matters

PaddlePaddle/FastDeploy#6493 dropped a parameter of `post_process`; the runner of one hardware went
on passing it by name.

## Example

```python
def post_process(output, state): ...          # the change dropped `line_break`

post_process(output, state, line_break=13)    # another runner: TypeError
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

ID = "sync.unknown-argument"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each line with such a call."""
    yield from misfit_findings(ID, "unexpected", "unexpected", change, config)
