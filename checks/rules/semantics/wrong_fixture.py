"""A test sets up, or looks up, another layout than the one that the tested op has.

## What it does

Follows the arrays of a test to the op that gets them: the last position that the fixture fills is
held against the one that the op takes for the last token. Functions of the test file that work on
the same index, the reference implementations, are solved as the op is, and compared with it.
Reported is a fixture or reference that disagrees with the op after the change and did not, in this
way, before.

## Why it matters

A fixture that fills one position more or less than the op reads hides the off-by-one that the test
is there for. PaddlePaddle/FastDeploy#7774, which corrected `ngram_match`, had to correct the
fixtures of three test files with it.

## Example

```python
tokens[b, prompt_len : prompt_len + made] = np.arange(made)
step_idx[b] = made - 1       # the op takes step_idx for the number of tokens
```

## Known limits

A new fixture, or one written as a literal or element by element, is asked about and never called
wrong. A line that `semantics.step-idx` speaks about is left to it.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Finding
from checks.rules.semantics._comparison import compare_indices
from checks.rules.semantics._report import without_repeats
from checks.rules.semantics._test_disagreements import find_wrong_tests
from checks.rules.semantics.step_idx import find_wrong_readers

ID = "semantics.wrong-fixture"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    indices = compare_indices(change, config)
    if indices is None:
        return
    findings = find_wrong_tests(indices, ID)
    yield from without_repeats(findings, find_wrong_readers(indices))
