"""An op that no longer agrees with its copy for other hardware.

## What it does

Gives an op and the op of the same name for other hardware the inputs that the repository's own
tests of either show, and variations within those. Where both gave the same result before the change
and do not after it, the smallest such input is reported. An op that no test calls is given the
calls of another one with the same parameters.

## Why it matters

FastDeploy keeps `unified_update_model_status` twice, as a CUDA kernel and as an XPU plugin with C++
beside it. A change of one is meant for both, and no GPU test runs the other.

## Example

```cuda
seq_lens_decoder[i] += output_len;         // the XPU copy still adds output_len - 1
```

## Known limits

An XPU plugin is run by its own `cpu_wrapper`; its `.xpu` kernels are not emulated. Inputs that one
side refuses are left out, tensors of a shape or type that a side's own tests never give it, and
results that are random or depend on the order of threads. Without a base, or on an input that no
test shows, a difference is a question. It needs `specbot device compare`: a review that runs
nothing says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Severity
from checks.core.observation import ObservationKind
from checks.rules.device._observed import observed

ID = "device.sibling"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for fact in change.observations:
        if fact.kind is ObservationKind.SIBLING:
            key = "parted" if fact.certain else "differs"
            yield observed(ID, fact, key, Severity.BUG, Confidence.HIGH)
