"""A key that is made on some hardware only is used whatever the hardware.

## What it does

Finds keys and attributes of `self` that a changed function needs since this change, without asking
for the hardware, while every place of the file that makes them asks for it
(`current_platform.is_cuda()`).

## Why it matters

PaddlePaddle/FastDeploy#6331 reset fields that exist only off CUDA. On CUDA this raised an
exception, which was swallowed, so that the reset stopped half way.

## Example

```python
def __init__(self):
    if not current_platform.is_cuda():
        self.offsets = zeros([n])

def reset(self):
    self.offsets[:] = 0        # new: fails on CUDA
```

## Known limits

Only the file of the use is searched for places that make the key. A function whose name, file or
class says that it is for one hardware is left out, and so is hardware that the code refuses, and
a class with a flag that is set beside the key. Who calls the function is not asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Severity, Sibling
from checks.domain.keys import (
    KeyUse,
    asks_platform,
    holds_on_some_hardware_only,
    is_key_tested,
    key_uses,
)
from checks.domain.siblings import HardwareNames
from checks.domain.source_search import changed_python_functions, code_line, functions_matching
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import If, Raise, guarded_statements, negate

ID = "sync.platform-only-key"


@dataclass(frozen=True, slots=True)
class PlatformOnlyUse:
    """A use, on all hardware, of a key that `setter` and its like set on some only."""

    use: KeyUse
    setter: KeyUse


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each changed function, with all its keys."""
    hardware_words = HardwareNames.of(config).hardware
    for base, head, unit in changed_python_functions(change, config):
        words_of_name = set(re.split(r"_+", head.name))
        if words_of_name & hardware_words or config.hardware_of(head.path):
            continue
        if not _mentions_platform(unit):
            continue
        platform_only: dict[str, PlatformOnlyUse] = {}
        for use in _new_uses(base, head, change):
            if use.key in platform_only:
                continue
            setters = _platform_only_setters(use.key, head, unit)
            if setters and not _has_switch(setters):
                platform_only[use.key] = PlatformOnlyUse(use, setters[0][0])
        if platform_only:
            yield _finding(platform_only, head, unit)


def _mentions_platform(unit: SourceFile) -> bool:
    def is_asked() -> bool:
        return any("platform" in line and "is_" in line for line in unit.lines)

    return unit.memo(_mentions_platform, is_asked)


def _new_uses(base: Function | None, head: Function, change: ChangeSet) -> list[KeyUse]:
    """Uses on lines of the change, on all hardware, of keys that the base did not use so."""
    on_lines = [u for u in key_uses(head) if change.touches(head.path, u.line, u.line)]
    needed = [u for u in on_lines if _is_needed_on_all_hardware(u)]
    if not needed or base is None:
        return needed
    known = {use.key for use in key_uses(base) if not asks_platform(use.guards)}
    return [use for use in needed if use.key not in known]


def _is_needed_on_all_hardware(use: KeyUse) -> bool:
    return not use.sets and not asks_platform(use.guards) and not is_key_tested(use)


def _platform_only_setters(
    key: str, reader: Function, unit: SourceFile
) -> list[tuple[KeyUse, Function]]:
    """The places that set `key`, where every place of the file asks for the hardware."""
    if _is_class_field(key, reader.owner, unit):
        return []
    setters = _setters(key, reader, unit)
    if not all(_is_platform_only(use, function) for use, function in setters):
        return []
    platform_tests = {g for use, _ in setters for g in use.guards if holds_on_some_hardware_only(g)}
    for test in platform_tests:
        # `if is_cuda(): self.x = a` and `else: self.x = b` together set it everywhere.
        if negate(test) in platform_tests or _names_hardware_of(test, reader):
            return []
    return setters


def _has_switch(setters: list[tuple[KeyUse, Function]]) -> bool:
    """Whether a flag tells where the key is made: it is set on all hardware first, and anew beside
    the key. Who uses the object asks it (`if communicator.disabled`)."""
    for _, function in setters:
        platform_only: dict[str, set[bool]] = {}
        for use in key_uses(function):
            match use.value:
                case E.Const(value=bool()) if use.sets:
                    platform_only.setdefault(use.key, set()).add(asks_platform(use.guards))
                case _:
                    pass
        if {True, False} in platform_only.values():
            return True
    return False


def _is_platform_only(use: KeyUse, function: Function) -> bool:
    """Whether the use runs on some hardware only, while its function runs on more."""
    asks_hardware = any(holds_on_some_hardware_only(guard) for guard in use.guards)
    return asks_hardware and not _follows_refusal(use, function)


def _is_class_field(key: str, owner: str, unit: SourceFile) -> bool:
    return any(c.name == key and c.owner == owner and c.kind == "field" for c in unit.constants)


def _setters(key: str, reader: Function, unit: SourceFile) -> list[tuple[KeyUse, Function]]:
    """The places of the file, outside `reader`, that set `key`."""
    assignment = re.compile(rf"{re.escape(key)}[\"']?[\s\\)\]]*(?::[^=]*)?=(?!=)")
    setters: list[tuple[KeyUse, Function]] = []
    for function in functions_matching(assignment, unit):
        if (function.name, function.owner) == (reader.name, reader.owner):
            continue
        for use in key_uses(function):
            if use.sets and use.key == key:
                setters.append((use, function))
    return setters


def _names_hardware_of(test: E.Expr, reader: Function) -> bool:
    """Whether the file or class of `reader` bears the name of the hardware that `test` asks for."""
    path, owner = reader.path.lower(), reader.owner.lower()
    for call in E.walk(test):
        if not isinstance(call, E.Call):
            continue
        hardware = E.callee(call).removeprefix("is_")
        if hardware and (hardware in path or hardware in owner):
            return True
    return False


def _follows_refusal(use: KeyUse, function: Function) -> bool:
    """Whether `use` is under a hardware condition only because the function raised on the rest.

    After `if not is_cuda(): raise`, nobody on other hardware gets past the function at all.
    """
    platform_ifs: list[If] = []
    for guarded in guarded_statements(function.body):
        if isinstance(guarded.stmt, If) and asks_platform((guarded.stmt.test,)):
            platform_ifs.append(guarded.stmt)
    if any(stmt.line <= use.line <= stmt.end_line for stmt in platform_ifs):
        return False
    return any(stmt.end_line < use.line and _raises(stmt) for stmt in platform_ifs)


def _raises(stmt: If) -> bool:
    """Whether one of the two branches ends by raising."""
    return any(arm and isinstance(arm[-1], Raise) for arm in (stmt.then, stmt.orelse))


def _finding(
    platform_only: dict[str, PlatformOnlyUse], function: Function, unit: SourceFile
) -> Finding:
    first = min(platform_only.values(), key=lambda item: item.use.line)
    setter = first.setter
    setter_place = Location(unit.path, setter.line)
    keys = sorted(platform_only)
    args = {"keys": keys, "function": function.qualname, "at": setter_place}
    made_here = Message("made-here", {"key": setter.key})
    excerpt = code_line(unit, setter.line)
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.MEDIUM,
        location=Location(unit.path, first.use.line),
        message=Message("one-sided", args),
        symbol=function.qualname,
        subject=" ".join(keys),
        evidence=(Sibling(setter_place, setter.holder, "", made_here, excerpt),),
    )
