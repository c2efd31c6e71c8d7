"""A gate that lets some ranks send or receive no longer reads a flag that callers go on passing.

## What it does

Compares the condition under which a function sends or receives before and after the change. A
parameter that decided before and that nothing in the function reads any more is named, with the
values of rank and flag for which the message is now lost or sent in addition, and with the calls
that still pass it.

## Why it matters

PaddlePaddle/FastDeploy#7192 made two senders return for every `rank_id > 0`. The proposer still
passes `use_ep` for the flag: ranks above 0 of a deployment with data or expert parallelism no
longer send their draft logprobs.

## Example

```cpp
if (!save_each_rank && rank_id > 0) return;  // before: each rank sends where the caller asks for it
if (rank_id > 0) return;                     // after: `save_each_rank` has lost its meaning
```

## Known limits

Calls are followed in Python, outside tests, for C++ functions that are registered as ops. Where
`semantics.rank-gate` speaks about the same gate, nothing is added.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity
from checks.lang.ir import expr as E
from checks.lang.ir.render import source_of
from checks.rules.semantics._gate_changes import GateChange, gate_changes
from checks.rules.semantics._rank_callers import RankCall
from checks.rules.semantics.rank_gate import is_narrowed

ID = "semantics.ignored-rank-flag"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for gate_change in gate_changes(change, config):
        if gate_change.ignored_flags and not is_narrowed(gate_change):
            yield _finding(gate_change, gate_change.calls(change, config))


def _finding(gate_change: GateChange, calls: list[RankCall]) -> Finding:
    flag = gate_change.ignored_flags[0]
    function = gate_change.after.function
    passing = [call for call in calls if not _passes_false(call)]
    args = {
        "flag": flag,
        "rank": gate_change.rank,
        "function": function.name,
        "callers": len(passing),
        "closed": gate_change.closed_texts,
        "opened": gate_change.opened_texts,
    }
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.HIGH,
        location=gate_change.place,
        message=Message("lost", args),
        symbol=function.qualname,
        subject=flag,
        evidence=(*gate_change.steps(), *_passed_values(flag, passing)),
    )


def _passes_false(call: RankCall) -> bool:
    return isinstance(call.flag, E.Const) and call.flag.value is False


def _passed_values(flag: str, calls: list[RankCall]) -> Iterator[Definition]:
    """Evidence: what the calls pass for the flag."""
    for call in calls:
        if call.flag is None:
            continue
        place = Location(call.unit.path, call.flag.line or call.call.line)
        text = call.unit.excerpt(call.flag.line)
        yield Definition(flag, place, source_of(call.flag), text)
