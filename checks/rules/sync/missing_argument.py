"""A call leaves out an argument that what it calls requires.

## What it does

Looks at every call in a function that the change touched, and at every call, anywhere in the tree,
of a function, method or constructor whose parameters it altered. Names the
parameters that have no default and get nothing. A function that is handed over with its arguments,
to a process, a thread, a pool or Ray, is called too.

## Why it matters

sgl-project/sglang#12572 gave `set_dp_buffer_len` a third parameter; a runner for piecewise CUDA
graphs went on passing two, until #12812: `TypeError` as soon as it ran.

## Example

```python
def set_buffer(count, size, padding): ...   # the change added `padding`

set_buffer(count, size)                     # another runner: TypeError
```

## Known limits

An object's class is known by annotation, constructor, assignment, `isinstance`, or what a function
returns. What a decorator wraps that does not just pass on what it gets, and `*args` and `**kwargs`
of unknown length, are left out, and so are calls in tests (tests are `protocol.stale-fixture`'s)
and calls that were wrong before.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Finding
from checks.rules.sync._call_findings import misfit_findings

ID = "sync.missing-argument"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each line with such a call."""
    yield from misfit_findings(ID, "missing", "missing", change, config)
