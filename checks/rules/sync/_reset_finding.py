"""The finding about a function that goes through fields and leaves some out."""

from __future__ import annotations

from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity
from checks.domain.source_search import code_line
from checks.lang.ir.source_file import Class, Function, SourceFile


def make_finding(
    omitted: list[str],
    listed: list[str],
    function: Function,
    place: Location,
    cls: Class,
    unit: SourceFile,
    field_line: int,
    rule: str,
) -> Finding:
    """`function` goes through `listed`, but not through `omitted` of `cls`, which stands in `unit`.

    `field_line` is where the first omitted field is declared or allocated.
    """
    field_place = Location(unit.path, field_line)
    args = {
        "names": omitted,
        "type": cls.name,
        "function": function.qualname,
        "listed": listed,
        "at": field_place,
    }
    code = code_line(unit, field_line)
    return Finding(
        rule=rule,
        severity=Severity.QUESTION,
        confidence=Confidence.MEDIUM,
        location=place,
        message=Message("left-out", args),
        symbol=function.qualname,
        subject=" ".join(omitted),
        evidence=(Definition(omitted[0], field_place, cls.name, code),),
    )
