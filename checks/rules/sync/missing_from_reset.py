"""A function that goes through all fields of a record or batch (reset, swap, reorder) leaves one
out.

## What it does

Two cases. A field that this change added to a data class, and a function that rewrites at least
four fifths of the other fields of such an object one by one. A field that a batch allocates, and a
method that goes through the fields of that shape but not this one, where the field or the method is
new.

## Why it matters

PaddlePaddle/FastDeploy@6d3fede24 added `max_reply_lens`, and `swap_states` moved `max_think_lens`
alone: nothing fails, and after a reorder requests have each other's limit.

## Example

```python
class Batch:
    def __init__(self, n):
        self.lens = zeros([n])
        ...                          # seven more
        self.last = zeros([n])       # new

    def swap(self, i, j):
        for x in (self.lens, ...):   # all but `last`
            x[i], x[j] = x[j], x[i]
```

## Known limits

A field that is the same for all rows needs no swap, which its allocation does not tell. Functions
are known by how many fields they name, not by what they do with them.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Finding
from checks.rules.sync._reset_batches import find_batch_methods
from checks.rules.sync._reset_records import find_record_functions

ID = "sync.missing-from-reset"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """Functions that leave out a record's new field, and methods that leave out a batch's field."""
    yield from find_record_functions(change, config, ID)
    yield from find_batch_methods(change, config, ID)
