"""An op takes another position for the last token than both its test and the writer of its buffer.

## What it does

Where the fixture or reference of a test disagrees with the op since the change, asks the op that
writes the buffer. If the writer takes the test's side, it is the op that is wrong, and the finding
stands at the op's own line.

## Why it matters

A change that corrects the tests alone leaves the kernel as it was: the test fails, or is adapted
back to the wrong kernel. PaddlePaddle/FastDeploy#7774 had to correct `ngram_match` and its tests
together.

## Example

```cuda
// the writer and the test's fixture put the last token at step_idx - 1
tail = hist + (step_idx[bid] + 1 - n);
```

## Known limits

Only a writer that advances the index itself is asked. A new fixture, or one written as a literal or
element by element, proves nothing, so that the finding is a question then.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Finding
from checks.rules.semantics._comparison import compare_indices
from checks.rules.semantics._report import without_repeats
from checks.rules.semantics._test_disagreements import find_wrong_ops
from checks.rules.semantics.step_idx import find_wrong_readers

ID = "semantics.op-against-test"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    indices = compare_indices(change, config)
    if indices is None:
        return
    findings = find_wrong_ops(indices, ID)
    yield from without_repeats(findings, find_wrong_readers(indices))
