"""The Python calls that a change may have broken, and the functions that they reach."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.domain.call_targets import signature
from checks.domain.keys import calling_files
from checks.domain.ops import calls_of, functions_calling
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.rules.sync._none_uses import needs_new_parameter, passes_optional_on
from checks.rules.sync._source import changed_python_functions


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call, with the function and the file in which it stands."""

    call: E.Call
    function: Function
    unit: SourceFile


def calls_to_check(change: ChangeSet, config: Config) -> list[CallSite]:
    """Calls on lines of the change, and calls of functions whose callers may have to change.

    Those are Python functions that take or need other arguments than before.
    """
    return change.memo(calls_to_check, lambda: list(_calls_to_check(change, config)))


def _calls_to_check(change: ChangeSet, config: Config) -> Iterator[CallSite]:
    altered: set[str] = set()
    for base, head, unit in changed_python_functions(change, config):
        for call, _ in calls_of(head.body):
            if change.touches(unit.path, call.line, call.line):
                yield CallSite(call, head, unit)
        if _takes_other_arguments(base, head) or passes_optional_on(head, unit, change):
            altered.add(head.owner if head.name == "__init__" else head.name)
    for name in sorted(altered):
        yield from _calls_of_name(name, change, config)


def _takes_other_arguments(base: Function | None, head: Function) -> bool:
    if base is None:
        return False
    return signature(base) != signature(head) or needs_new_parameter(base, head)


def _calls_of_name(name: str, change: ChangeSet, config: Config) -> Iterator[CallSite]:
    for path in calling_files(name, change, config):
        unit = change.unit(path)
        if unit is None:
            continue
        for function in functions_calling(name, unit):
            for call, _ in calls_of(function.body):
                # A function inside another one is listed too: count its calls once.
                if E.callee(call) == name and unit.function_at(call.line) is function:
                    yield CallSite(call, function, unit)
