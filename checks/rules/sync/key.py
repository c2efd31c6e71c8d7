"""A key or field that somebody needs and nobody provides any more, or not on all hardware.

## What it does

Follows the keys of shared dicts (`share_inputs["k"]`), the fields of batches (`self.k`) and of data classes that this
change touched: a key that shared code needs since this change and one hardware's runner never puts in; a key made under
a question about the hardware and now needed without it; a key or field that was taken out and is still read or passed;
an assignment to a field of a NamedTuple; a new field that a function which goes through all the others (reset, swap,
reorder) leaves out; a key that only one branch fills any more; a key that one hardware allocates and never updates;
an attribute that one hardware's runner calls by another name since this change, while others keep the old one; a member
of a batch class that is gone, or has fewer dimensions, and is still used as it was; an attribute that only some kinds
of an object have, newly read without the question that all its other reads in the file ask.

## Why it matters

PaddlePaddle/FastDeploy#6259 made the shared post-processing read `last_preempted_idx`, which the Metax runner did not
allocate: `KeyError`. #6331 reset fields that exist only off CUDA, and the exception was swallowed. #5779 assigned to a
field of a NamedTuple. #7464 read `self.proposer.model_inputs` whatever the method, which only the MTP proposer has.

## Example

```python
# post_process.py, changed; metax_model_runner.py has a dict of its own without this key
share_inputs["last_preempted_idx"][:] = 0
```

## Known limits

Keys are names in the text: one that is computed (`share_inputs[name]`, `setattr`) is not seen. That an op writes an
array is known from its in-place map alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Finding
from checks.rules.sync import (
    _key_allocation,
    _key_attributes,
    _key_batches,
    _key_fields,
    _key_missing_from_reset,
    _key_names,
    _key_never_updated,
    _key_typed_attributes,
    _key_writers,
)

ID = "sync.key"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    if not any((f.head_path or "").endswith(".py") for f in change.files):
        return
    yield from change.memo((ID, "findings"), lambda: tuple(_all(change, config)))


def _all(change: ChangeSet, config: Config) -> Iterator[Finding]:
    yield from _key_allocation.not_allocated(change, config, ID)
    yield from _key_allocation.one_sided(change, config, ID)
    yield from _key_fields.read_only(change, config, ID)
    yield from _key_fields.gone(change, config, ID)
    yield from _key_attributes.lost(change, config, ID)
    yield from _key_typed_attributes.of_one_kind(change, config, ID)
    yield from _key_batches.lost_members(change, config, ID)
    yield from _key_batches.flattened(change, config, ID)
    yield from _key_missing_from_reset.record_fields(change, config, ID)
    yield from _key_missing_from_reset.batch_fields(change, config, ID)
    yield from _key_writers.removed(change, config, ID)
    yield from _key_writers.one_branch(change, config, ID)
    yield from _key_never_updated.never_updated(change, config, ID)
    yield from _key_names.renamed(change, config, ID)
