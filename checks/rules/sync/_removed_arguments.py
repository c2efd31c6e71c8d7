"""Fields that a data class lost, and calls that still pass them to its constructor."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity
from checks.domain.call_targets import nearest_imports
from checks.domain.keys import calling_files
from checks.domain.ops import calls_of, functions_calling
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Class, Function, SourceFile
from checks.lang.ir.stmt import unreached
from checks.rules.sync._classes import changed_classes, class_definition, class_place, fields_of
from checks.rules.sync._source import units_at


@dataclass(frozen=True, slots=True)
class PassedField:
    """A keyword of a constructor call that names a field which is gone."""

    name: str
    line: int
    function: Function


def find_passed_fields(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """One finding for each file that still passes fields which this change took out of a class."""
    for changed in changed_classes(change, config):
        # What a class inherits is not known: its constructor may take more than its own fields.
        if not changed.is_record or set(changed.cls.bases) - {"NamedTuple"}:
            continue
        fields = fields_of(changed.cls, changed.unit)
        old_fields = fields_of(changed.old, changed.old_unit)
        removed = [field for field in old_fields if field not in fields]
        if not removed:
            continue
        paths = calling_files(changed.cls.name, change, config)
        for caller in units_at(paths, change):
            passed = _passed_fields(removed, changed.cls, changed.unit, caller)
            if passed:
                yield _finding(passed, caller.path, changed.cls, changed.unit, rule)


def _passed_fields(
    removed: list[str], cls: Class, unit: SourceFile, caller: SourceFile
) -> list[PassedField]:
    """The keywords of `caller`'s calls of the class that name a removed field."""
    passed: list[PassedField] = []
    for function in functions_calling(cls.name, caller):
        for call in _reached_calls(cls.name, function, caller):
            if not _may_call(call, cls, unit, function, caller):
                continue
            for keyword, value in call.keywords:
                if keyword in removed:
                    passed.append(PassedField(keyword, value.line or call.line, function))
    return passed


def _reached_calls(name: str, function: Function, unit: SourceFile) -> Iterator[E.Call]:
    """The calls of `name` in `function` that can run, without those of functions inside it."""
    dead_statements = list(unreached(function.body))
    for call, _ in calls_of(function.body):
        if E.callee(call) != name or unit.function_at(call.line) is not function:
            continue
        if not any(stmt.line <= call.line <= stmt.end_line for stmt in dead_statements):
            yield call


def _may_call(
    call: E.Call, cls: Class, unit: SourceFile, function: Function, caller: SourceFile
) -> bool:
    """Whether the name that is called can be this class, as far as imports tell.

    Other modules may have a class of the same name.
    """
    if caller.path == unit.path or not isinstance(call.func, E.Name):
        return True
    imports = nearest_imports(cls.name, call.line, function, caller)
    if not imports:
        return all(own.name != cls.name for own in caller.classes)
    module = unit.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    for item in imports:
        package = item.module.lstrip(".")
        if not package or f".{package}." in f".{module}.":
            return True
    return False


def _finding(
    passed: list[PassedField], path: str, cls: Class, unit: SourceFile, rule: str
) -> Finding:
    first = passed[0]
    names = sorted({field.name for field in passed})
    fields = list(fields_of(cls, unit))
    similar = difflib.get_close_matches(first.name, fields, 1, 0.7)
    args = {
        "names": names,
        "type": cls.name,
        "at": class_place(cls, unit),
        "near": similar[0] if similar else "",
        "more": len(passed) - len(names),
    }
    return Finding(
        rule=rule,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=Location(path, first.line),
        message=Message("gone", args),
        symbol=first.function.qualname,
        subject=f"{cls.name} {' '.join(names)}",
        evidence=(class_definition(cls, unit, fields),),
    )
