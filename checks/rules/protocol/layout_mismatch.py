"""A receiver and the code that reads its buffer no longer agree on the layout.

## What it does

Follows a message from the struct that C++ sends and receives, through the op that hands it on, to
the Python class that owns the buffers, and puts both ends into numbers: sizes, offsets, strides and
element types, with the constants of each file put in, whatever they are called there. It reports
what agreed before the change and does not after it, where data is certainly misread or written past
the end of a buffer. Two messages of one struct name are told apart by the definition that each file
sees.

## Why it matters

PaddlePaddle/FastDeploy#5026 set MAX_DRAFT_TOKENS to 2 in the Python reader and in two ops. A header
and a third op kept 6, so without logprobs every request but the first was decoded from a wrong
offset.

## Example

```python
MAX_DRAFT_TOKENS = 2        # was 6; speculate_msg.h: #define MAX_DRAFT_TOKENS 6
```

## Known limits

Strides that depend on the message itself (the number of columns) are not compared. A buffer must be
an attribute of the class that calls the op. What is compared through bytes or `reinterpret_cast` is
not seen.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Severity
from checks.rules.protocol._layout_diff import layout_diff
from checks.rules.protocol._layout_findings import mismatch_finding, misread_groups

ID = "protocol.layout-mismatch"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each op whose data is misread."""
    diff = layout_diff(change, config)
    for group in misread_groups(diff.mismatches):
        yield mismatch_finding(ID, "reader", group, diff.sides, Severity.BUG, Confidence.HIGH)
