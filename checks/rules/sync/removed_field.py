"""A field or attribute that the change took out of a class is still used.

## What it does

Compares the classes of changed files before and after. An attribute that is gone and still read
from objects of the class, known by their type or by the name that they go by (`forward_meta.x` for
`ForwardMeta`), or from the class itself, as a member of an enumeration is; a member of a
batch class that no method sets any more and that a file which makes the class still asks for
(`self.batch["k"]`). A field that a call still passes is `sync.unknown-argument`'s.

## Why it matters

PaddlePaddle/FastDeploy@97eee7567 took `prompt_ids` and `pre_ids` out of `InputBatch`; the runner of
Metax went on writing into both, until 16a2a323e.

## Example

```python
class ForwardMeta:           # the change renamed `routing_table` to `gpu_routing_table`
    gpu_routing_table: Tensor

select(forward_meta.routing_table)    # AttributeError
```

## Known limits

Keys are names in the text: one that is computed (`setattr`) is not seen. Classes that answer for
any attribute (`__getattr__`) are left out, and so are attributes that anything in the tree still
sets.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Finding
from checks.rules.sync._removed_attributes import find_read_attributes
from checks.rules.sync._removed_batch_members import find_used_members

ID = "sync.removed-field"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """Attributes still read, and members of batches still used."""
    yield from find_read_attributes(change, config, ID)
    yield from find_used_members(change, config, ID)
