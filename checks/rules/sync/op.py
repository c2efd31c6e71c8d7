"""A device op was changed in one place, and a copy, declaration, registration or import of it was not.

## What it does

Judges what the change did to device ops: a statement or condition altered in one copy (GPU, XPU, the CPU reference of a
wrapper), or a product widened to 64 bits there, while a copy of the same op keeps the old form, with the change carried
over as a fix where the lines are the same; a registration whose inputs, attributes or outputs do not fit
the function; a declaration or binding that does not fit the definition; a constant lowered in one place and kept in
another that runs on the same hardware; an op that Python imports and nothing registers.

## Why it matters

PaddlePaddle/FastDeploy#7370 corrected the step index in two GPU kernels; the XPU kernels and their CPU references kept
the old formula until #7409. #3815 wrote `"cum_offsets"` without a comma, so that six tensors met five names.

## Example

```cpp
if (rank_id > 0) return;                        // GPU, as the change wrote it
if (!save_each_rank && rank_id > 0) return;     // XPU copy: still the old gate
```

## Known limits

Copies are found by the ops they register and by file name. A copy counts as behind only where it spells the old form
with the same names; casts, namespaces and comments do not matter. A function that was written anew is not compared,
nor is new code that no copy ever had. Whether the other hardware wants the change too is a question, never a bug.
Where the change counts from an index (`step_idx`) in another way, the copy's own callers decide if it is right: the
question is shown to the pedantic only, and `semantics.step-idx` has the word.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Finding
from checks.rules.sync._op_constants import constants
from checks.rules.sync._op_declarations import declarations
from checks.rules.sync._op_drift import drift
from checks.rules.sync._op_imports import imports
from checks.rules.sync._op_registration import registrations

ID = "sync.op"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    yield from registrations(change, config, ID)
    yield from declarations(change, config, ID)
    yield from constants(change, config, ID)
    yield from imports(change, config, ID)
    yield from drift(change, config, ID)
