"""A receive buffer became smaller than the message that may be written into it.

## What it does

Compares the size of each buffer that Python allocates for a receiving op with the size of the
message's struct, the constants of both sides put in. It reports a buffer that was as large as the
message before the change and is smaller after it, where the receiver copies only as much as was
sent, so that it depends on the batch whether the end is reached. Where the receiver always copies
everything, `protocol.layout-mismatch` reports it as a bug.

## Why it matters

PaddlePaddle/FastDeploy#5026 made the constants of the Python reader smaller than those of the
message. A short batch still fits such a buffer, and the first full one is written past its end.

## Example

```python
MAX_SLOTS = 2               # was 4; the message has room for 4 slots
self.buffer = full([2 + MAX_SLOTS + MAX_SLOTS * ROW], fill_value=2, dtype="int64")
```

## Known limits

Whether the product ever sends a batch that large is not known. A buffer must be an attribute of the
class that calls the op.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Severity
from checks.rules.protocol._layout_diff import layout_diff
from checks.rules.protocol._layout_findings import mismatch_finding, small_buffer_groups

ID = "protocol.small-buffer"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for all the buffers of one size."""
    diff = layout_diff(change, config)
    for group in small_buffer_groups(diff.mismatches):
        yield mismatch_finding(
            ID, "capacity", group, diff.sides, Severity.SUGGESTION, Confidence.MEDIUM
        )
