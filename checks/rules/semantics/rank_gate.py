"""A change to which ranks transfer a message may lose it for some, or transfer it twice.

## What it does

Reads the condition under which a function sends or receives as a boolean function of the rank and
of its flags (`if (!save_each_rank && rank_id > 0) return;`), before and after the change, and where
the two differ says for which values. Reports

- Python code that newly lets only one device, data-parallel or expert-parallel rank through, whose
  outputs are not the same;
- a gate that fell away, so that more ranks send or receive than before;
- a flag that decided before and that nothing reads any more, while callers go on passing it;
- a Python call of a C++ op that passes such a rank to a gate which now refuses it.

## Why it matters

The tensor-parallel ranks sample the same tokens: one of them must send, and only one. Ranks of
other groups have their own output, which is lost when only rank 0 sends.
PaddlePaddle/FastDeploy#7192 mixed up the two: two senders return for every `rank_id > 0`, and the
proposer still passes its device rank, and `use_ep` for the flag.

## Example

```cpp
if (!save_each_rank && rank_id > 0) return;  // before: each rank sends where the caller asks for it
if (rank_id > 0) return;                     // after: `save_each_rank` has lost its meaning
```

## Known limits

What kind of rank it is, is told from its name (`mp_rank`, `local_rank`, `data_parallel_rank`), or
from the one value that a local variable was set to. A gate that a new parameter opens is taken to
be meant, and one that got a name (`self.is_master`) to be the same. A gate that moved to a caller
in another file looks as if it fell away. Calls are followed in Python, outside tests, for C++
functions that are registered as ops. Copies of the gate on other hardware are `sync.op-drift`'s.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Message, Severity
from checks.core.words import has_word
from checks.domain.ops import calls_of
from checks.lang.ir import expr as E
from checks.lang.ir.render import source_of
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, guarded_statements
from checks.rules.semantics._gate_changes import GateChange, gate_changes
from checks.rules.semantics._ignored_rank_flags import ignored_flag_finding
from checks.rules.semantics._rank_arguments import wrong_ranks
from checks.rules.semantics._rank_callers import TENSOR, rank_kind
from checks.rules.semantics._rank_conditions import asks_rank

ID = "semantics.rank-gate"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for gate_change in gate_changes(change, config):
        if _is_narrowed(gate_change):
            yield _narrowed_finding(gate_change)
        elif gate_change.ignored_flags:
            yield ignored_flag_finding(ID, gate_change, change, config)
        elif _is_widened(gate_change):
            yield _widened_finding(gate_change)
        yield from wrong_ranks(ID, gate_change, change, config)


def _is_narrowed(gate_change: GateChange) -> bool:
    """Whether Python code newly lets only one rank of a group through that shares no output."""
    if gate_change.is_cpp or not gate_change.closed_rows:
        return False
    return _foreign_rank(gate_change) is not None


def _foreign_rank(gate_change: GateChange) -> str | None:
    """A rank that only the new gate asks, of another kind than tensor-parallel."""
    for rank in gate_change.after.ranks:
        if rank not in gate_change.before.ranks and rank_kind(rank) not in ("", TENSOR):
            return rank
    return None


def _is_widened(gate_change: GateChange) -> bool:
    if gate_change.closed_rows or _got_a_name(gate_change):
        return False
    return not _moved_to_caller(gate_change.after.function, gate_change.unit)


def _got_a_name(gate_change: GateChange) -> bool:
    """Whether the function asks for the rank under a name now: `self.is_master = rank == 0`."""
    code = gate_change.unit.text_of(gate_change.after.function)
    old_code = gate_change.base_unit.text_of(gate_change.before.function)
    for function in gate_change.unit.functions:
        for guarded in guarded_statements(function.body):
            match guarded.stmt:
                case Assign(target=E.Attr(name=name) | E.Name(id=name), value=value):
                    is_new = has_word(code, name) and not has_word(old_code, name)
                    if is_new and value is not None and asks_rank(value):
                        return True
                case _:
                    pass
    return False


def _moved_to_caller(function: Function, unit: SourceFile) -> bool:
    """Whether a caller in this file asks for the rank before it calls `function`."""
    for caller in unit.functions_naming(function.name):
        for call, guards in calls_of(caller.body):
            if E.callee(call) == function.name and any(asks_rank(guard) for guard in guards):
                return True
    return False


def _narrowed_finding(gate_change: GateChange) -> Finding:
    rank = _foreign_rank(gate_change) or ""
    args = {
        "rank": rank,
        "kind": rank_kind(rank),
        "name": gate_change.after.name,
        "closed": gate_change.closed_texts,
    }
    return _finding(gate_change, Message("narrowed", args))


def _widened_finding(gate_change: GateChange) -> Finding:
    args = {
        "function": gate_change.after.function.name,
        "name": gate_change.after.name,
        "opened": gate_change.opened_texts,
    }
    return _finding(gate_change, Message("widened", args))


def _finding(gate_change: GateChange, message: Message) -> Finding:
    after = gate_change.after
    tests = " and ".join(source_of(test) for test in after.tests)
    return Finding(
        rule=ID,
        severity=Severity.QUESTION,
        confidence=Confidence.MEDIUM,
        location=gate_change.place,
        message=message,
        symbol=after.function.qualname,
        subject=tests or after.name,
        evidence=gate_change.steps(),
    )
