"""Findings about calls whose arguments do not fit: one rule for each way of not fitting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import (
    Confidence,
    Definition,
    Finding,
    Location,
    Message,
    Related,
    Severity,
)
from checks.domain.calls.binding import Misfit
from checks.domain.calls.misfits import WrongCall, wrong_calls
from checks.domain.calls.targets import called_name
from checks.domain.source_search import code_line
from checks.lang.ir import expr as E


def misfit_findings(
    rule: str, kind: str, key: str, change: ChangeSet, config: Config
) -> Iterator[Finding]:
    """The findings of `rule` about misfits of one kind, with the message `key`; one a line, and one
    for all calls that are wrong by the same change of what they call."""
    by_cause: dict[object, list[Finding]] = {}
    reported: set[tuple[str, int]] = set()
    for wrong in wrong_calls(change, config):
        fault = wrong.fault
        if not isinstance(fault, Misfit) or fault.kind != kind or wrong.fits is not None:
            continue
        finding = _finding(rule, key, wrong, fault)
        if wrong.by_definition:
            finding = _at_definition(finding, wrong)
        place = finding.location.path, finding.location.start_line
        if place not in reported:
            reported.add(place)
            by_cause.setdefault(_cause(wrong, fault, change), []).append(finding)
    yield from map(as_one, by_cause.values())


def as_one(findings: list[Finding]) -> Finding:
    """The first of several findings with one cause, which names the places of the others."""
    first, *others = sorted(findings, key=lambda finding: finding.sort_key)
    return first.with_other_places(*others)


def _cause(wrong: WrongCall, fault: Misfit, change: ChangeSet) -> object:
    """What calls have in common that were right until the change altered what they call."""
    site = wrong.site
    if change.touches(site.unit.path, *site.lines):
        return site.place
    return wrong.target.place, fault.name


def _finding(rule: str, key: str, wrong: WrongCall, fault: Misfit) -> Finding:
    site, target = wrong.site, wrong.target
    name = called_name(target.function)
    place = Location(target.unit.path, target.function.start_line)
    definition = code_line(target.unit, place.start_line)
    return Finding.at(
        rule,
        Location(site.unit.path, _line_to_change(wrong.site.call, fault)),
        key,
        # A method that is known by its name alone may be another object's.
        severity=Severity.BUG if target.surely else Severity.SUGGESTION,
        confidence=Confidence.HIGH if target.surely else Confidence.MEDIUM,
        symbol=site.function.qualname,
        subject=f"{name} {fault.name}",
        name=name,
        argument=fault.name,
        given=fault.given,
        wanted=fault.wanted,
        at=place,
    ).with_evidence(Definition(name, place, definition))


def _at_definition(finding: Finding, wrong: WrongCall) -> Finding:
    """The same finding where it has to be mended: no caller was meant to pass more."""
    function = wrong.target.function
    call = finding.location
    # The first line may be a decorator's.
    lines = [param.line for param in function.params if param.line]
    place = Location(function.path, min(lines, default=function.start_line))
    moved = replace(finding, location=place, symbol=function.qualname)
    return moved.with_related(Related(call, Message("called-here", {"name": function.name})))


def _line_to_change(call: E.Call, fault: Misfit) -> int:
    """The line of the keyword that does not fit, else that of the call."""
    for keyword, value in call.keywords:
        if keyword == fault.name and value.line:
            return value.line
    return call.line
