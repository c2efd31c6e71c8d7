"""Calls that pass another kind of rank than the new gate of a transfer is right for."""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity
from checks.lang.ir import expr as E
from checks.lang.ir.render import source_of
from checks.rules.semantics._gate_changes import GateChange
from checks.rules.semantics._rank_callers import TENSOR, RankCall


def wrong_ranks(
    rule: str, gate_change: GateChange, change: ChangeSet, config: Config
) -> Iterator[Finding]:
    """The calls of an op that send nothing any more for ranks which share no output."""
    if not gate_change.closed_rows:
        return
    calls = gate_change.calls(change, config)
    right_calls = [call for call in calls if call.kind == TENSOR]
    for call in calls:
        # The ranks of one tensor-parallel group share their output: rank 0 may send for all.
        if call.kind in ("", TENSOR):
            continue
        if _may_be_refused(call, gate_change):
            yield _finding(rule, call, right_calls, gate_change)


def _may_be_refused(call: RankCall, gate_change: GateChange) -> bool:
    """Whether what the call passes can be one of the values for which nothing is sent any more."""
    flag = gate_change.flag
    if not isinstance(call.flag, E.Const) or not flag:
        return True
    passed = int(bool(call.flag.value))
    # A row that does not name the flag holds for every value of it.
    return any(dict(row.values).get(flag, passed) == passed for row in gate_change.closed_rows)


def _finding(
    rule: str, call: RankCall, right_calls: list[RankCall], gate_change: GateChange
) -> Finding:
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
        rule=rule,
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
