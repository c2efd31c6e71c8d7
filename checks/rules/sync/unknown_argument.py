"""A call passes a keyword that what it calls does not have.

## What it does

Looks at every call in a function that the change touched, and at every call, anywhere in the tree,
of a function, method or constructor whose parameters it altered. Names the
keywords that fit no parameter. Of a class whose constructor is not in the tree (a data model, an
output of another library) it names those that are the old name of a field which the change renamed.

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
from checks.core.finding import Confidence, Finding, Location, Severity
from checks.domain.calls.renamed_fields import (
    RenamedField,
    StaleCall,
    renamed_fields,
    stale_calls,
)
from checks.rules.sync._call_findings import as_one, misfit_findings

ID = "sync.unknown-argument"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each line with such a call, and for each renamed field."""
    yield from misfit_findings(ID, "unexpected", "unexpected", change, config)
    for renamed in renamed_fields(change, config):
        found = [_renamed_finding(renamed, stale) for stale in stale_calls(renamed, change, config)]
        if found:
            yield as_one(found)


def _renamed_finding(renamed: RenamedField, stale: StaleCall) -> Finding:
    cls = renamed.ref.cls
    return Finding.at(
        ID,
        Location(stale.site.unit.path, stale.line),
        "renamed",
        # What the class inherits may take the old name too.
        severity=Severity.SUGGESTION,
        confidence=Confidence.MEDIUM,
        symbol=stale.site.function.qualname,
        subject=f"{cls.name} {renamed.old}",
        name=cls.name,
        argument=renamed.old,
        new=renamed.new,
        at=Location(renamed.ref.unit.path, cls.start_line),
    )
