"""A caller passes another kind of rank than the new gate of a transfer is right for.

## What it does

Where a change makes a C++ op send or receive for fewer ranks, looks at the Python calls of the op:
a call that passes a device, data-parallel or expert-parallel rank, where only tensor-parallel ranks
share their output, no longer transfers its message for the values that the gate now refuses.

## Why it matters

PaddlePaddle/FastDeploy#7192 made two senders return for every `rank_id > 0`. The proposer passes
its device rank: ranks above 0 of a deployment with data or expert parallelism no longer send their
draft logprobs.

## Example

```python
if self.parallel.tensor_parallel_rank == 0:
    save_tokens(output.tokens, self.local_rank, use_ep)   # the op now returns for rank_id > 0
```

## Known limits

What kind of rank an argument is, is told from its name (`mp_rank`, `local_rank`,
`data_parallel_rank`), or from the one value that a local variable was set to. A rank that hides
behind a plain parameter is not known.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity
from checks.lang.ir import expr as E
from checks.lang.ir.render import source_of
from checks.rules.semantics._gate_changes import GateChange, gate_changes
from checks.rules.semantics._rank_callers import TENSOR, RankCall

ID = "semantics.rank-argument"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for gate_change in gate_changes(change, config):
        if not gate_change.closed_rows:
            continue
        calls = gate_change.calls(change, config)
        right_calls = [call for call in calls if call.kind == TENSOR]
        for call in calls:
            # The ranks of one tensor-parallel group share their output: rank 0 may send for all.
            if call.kind in ("", TENSOR):
                continue
            if _may_be_refused(call, gate_change):
                yield _finding(call, right_calls, gate_change)


def _may_be_refused(call: RankCall, gate_change: GateChange) -> bool:
    """Whether what the call passes can be one of the values for which nothing is sent any more."""
    flag = gate_change.flag
    if not isinstance(call.flag, E.Const) or not flag:
        return True
    passed = int(bool(call.flag.value))
    # A row that does not name the flag holds for every value of it.
    return any(dict(row.values).get(flag, passed) == passed for row in gate_change.closed_rows)


def _finding(call: RankCall, right_calls: list[RankCall], gate_change: GateChange) -> Finding:
    op = E.callee(call.call)
    rank = source_of(call.rank)
    args = {
        "function": gate_change.after.function.name,
        "op": op,
        "rank": rank,
        "kind": call.kind,
        "flag": source_of(call.flag) if call.flag is not None else "",
        "pinned": call.pinned,
        "at": gate_change.place,
        "others": [source_of(other.rank) for other in right_calls],
        "closed": gate_change.closed_texts,
    }
    # That others pass a tensor-parallel rank shows what the gate is made for.
    certain = bool(right_calls) or call.pinned
    return Finding(
        rule=ID,
        severity=Severity.QUESTION,
        confidence=Confidence.HIGH if certain else Confidence.MEDIUM,
        location=Location(call.unit.path, call.line),
        message=Message("caller", args),
        symbol=call.function.qualname,
        subject=f"{op} {rank}",
        evidence=tuple(_passed_rank(shown) for shown in (call, *right_calls)),
    )


def _passed_rank(call: RankCall) -> Definition:
    """Evidence: the rank that a call passes."""
    place = Location(call.unit.path, call.line)
    return Definition(source_of(call.rank), place, call.kind, call.unit.excerpt(call.line))
