"""Values that carry the names of parameters are passed in the places of other parameters.

## What it does

Compares the names of the values that a call passes by position with the parameters that they are
for, in every call in a function that the change touched, and in every call of what it altered. Two
values that stand in each other's place, and values that from one place on all stand one off, are
reported. Where their names say nothing, the other calls of the function do: two values that these
pass the other way round are reported too, and so is a value that the change moved from the place of
its own name into that of another one.

## Why it matters

A call of vllm-project/vllm passed `ep_rank_end` before `ep_rank_start`, two numbers among eight
arguments; nothing failed but the model's answers, until #28715 turned them round.
sgl-project/sglang gave `outplace_fused_experts` a parameter `is_gated` in the middle; the caller
went on passing the old list until #13864.

## Example

```python
def load(rank_start, rank_end, heads): ...

load(rank_end, rank_start, heads)
```

## Known limits

Values are compared by their last name: what is computed in place says nothing. A call that was in
this order before is left out, and so are parameters that may be passed either way round (`a` and
`b`, `str1` and `str2`).
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Severity
from checks.domain.calls.labels import Misplacement
from checks.domain.calls.misfits import WrongCall, wrong_calls
from checks.domain.calls.targets import called_name
from checks.domain.source_search import code_line

ID = "sync.misplaced-argument"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each call with values in the wrong places."""
    reported: set[tuple[str, int]] = set()
    for wrong in wrong_calls(change, config):
        place = wrong.site.unit.path, wrong.site.call.line
        fault = wrong.fault
        if isinstance(fault, Misplacement) and place not in reported:
            reported.add(place)
            yield _finding(wrong, fault)


def _finding(wrong: WrongCall, fault: Misplacement) -> Finding:
    site, target = wrong.site, wrong.target
    name = called_name(target.function)
    place = Location(target.unit.path, target.function.start_line)
    params = ", ".join(param.name for param in target.params)
    is_shift = fault.kind == "shifted"
    return Finding.at(
        ID,
        Location(site.unit.path, fault.line or site.call.line),
        fault.kind,
        severity=Severity.BUG if is_shift else Severity.SUGGESTION,
        confidence=Confidence.HIGH if is_shift else Confidence.MEDIUM,
        symbol=site.function.qualname,
        subject=f"{name} {fault.argument} {fault.parameter}",
        name=name,
        argument=fault.argument,
        parameter=fault.parameter,
        other=fault.left_out,
        at=place,
    ).with_evidence(Definition(name, place, params, code_line(target.unit, place.start_line)))
