"""Flags of a gate that callers go on passing and nothing reads any more."""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity
from checks.lang.ir import expr as E
from checks.lang.ir.render import source_of
from checks.rules.semantics._gate_changes import GateChange
from checks.rules.semantics._rank_callers import RankCall


def ignored_flag_finding(
    rule: str, gate_change: GateChange, change: ChangeSet, config: Config
) -> Finding:
    """The flag that decided before, with the values that the message is now lost for, and the calls
    that pass it."""
    flag = gate_change.ignored_flags[0]
    function = gate_change.after.function
    calls = gate_change.calls(change, config)
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
        rule=rule,
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
