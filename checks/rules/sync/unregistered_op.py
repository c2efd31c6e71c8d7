"""Python newly imports a device op that nothing registers, or that is not bound as ops beside it
are.

## What it does

Looks at new imports from a package of ops (`from fastdeploy.ops.gpu import f`). Asks about a name
that no C++ source holds, and about an op that is registered statically and bound nowhere while an
op of the same folder with a similar name is bound with `m.def`.

## Why it matters

PaddlePaddle/FastDeploy@dc67c10a7 imported an op of which `cpp_extensions.cc` bound only the
neighbour; 9b84d51e2 added the bindings.

## Example

```python
from fastdeploy.ops.gpu import speculate_get_output     # new; its sibling get_output is bound
```

## Known limits

Ops that come into a package in another way (modules of Triton kernels, names that a package
renames) are known from the files of that package alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import changed_files
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity, Side
from checks.core.tree import WordMatch
from checks.domain.ops import OpInfo, Ops
from checks.domain.source_search import code_line, whole_word
from checks.lang.ir.source_file import Import, Op, SourceFile
from checks.lang.source import language

ID = "sync.unregistered-op"

_OPS_PACKAGE = re.compile(r"(^|\.)_?(custom_)?ops\.(?P<hardware>\w+)$")
_CPP_SOURCES = (".cu", ".cc", ".cpp")
# The names of a long import stand on lines below it; this many are looked at.
_LONGEST_IMPORT = 80


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each newly imported op that is not registered or bound as it should be."""
    ops = Ops.of(change)
    for unit, _ in changed_files(change, config, "python"):
        if not unit.path.endswith(".py"):
            continue
        for item in unit.imports:
            package = _OPS_PACKAGE.search(item.module)
            if item.name and package is not None and _is_new_op_import(item, unit, change):
                finding = _check(item, package["hardware"], unit, ops, change, config)
                if finding is not None:
                    yield finding


def _is_new_op_import(item: Import, unit: SourceFile, change: ChangeSet) -> bool:
    """Whether the change wrote the import of a single op, which no Python of the base had."""
    line = _line_of_name(item, unit)
    if not change.touches(unit.path, line, line) or _is_used_as_module(item, unit):
        return False
    for path in sorted(change.base.paths_containing(item.name)):
        old_unit = change.unit(path, Side.BASE) if path.endswith(".py") else None
        if old_unit is None:
            continue
        for old_item in old_unit.imports:
            if (old_item.name, old_item.module) == (item.name, item.module):
                return False
    return True


def _line_of_name(item: Import, unit: SourceFile) -> int:
    """The line of a long import on which the name itself stands."""
    name = whole_word(item.name)
    last = min(item.line + _LONGEST_IMPORT, len(unit.lines) + 1)
    for line in range(item.line, last):
        if name.search(unit.lines[line - 1]):
            return line
    return item.line


def _is_used_as_module(item: Import, unit: SourceFile) -> bool:
    """Whether the file writes `name.something`."""
    access = re.compile(rf"\b{re.escape(item.alias or item.name)}\.\w")
    return any(access.search(line) for line in unit.lines)


def _check(
    item: Import,
    hardware: str,
    unit: SourceFile,
    ops: Ops,
    change: ChangeSet,
    config: Config,
) -> Finding | None:
    """The finding about one imported op, if there is anything to ask."""
    hits = change.head.find(item.name)
    if _may_be_python(item, unit, hits):
        return None
    is_in_sources = any(language(hit.path) == "cpp" for hit in hits)
    if not is_in_sources and _has_op_sources(hardware, change, config):
        return _absent_finding(item, unit, hardware)
    own = _ops_of(hardware, item.name, ops, config)
    registration = _static_registration(own, change)
    if registration is None or _no_other_is_bound(item, unit, ops, hardware, config):
        return None
    neighbour = _bound_neighbour(own[0], ops, hardware, config)
    if neighbour is None:
        return None
    return _unbound_finding(item, unit, registration, neighbour)


def _static_registration(own: list[OpInfo], change: ChangeSet) -> Op | None:
    """The static registration of an op that nothing binds and whose files the change left alone."""
    for op in own:
        if op.binding is not None or change.changed(op.unit.path):
            return None
        # The framework itself finds an op that is not registered statically.
        if op.registration is not None and "STATIC" not in op.registration.macro:
            return None
    return own[0].registration if own else None


def _may_be_python(item: Import, unit: SourceFile, hits: tuple[WordMatch, ...]) -> bool:
    """Whether the name may be Python's own.

    It may be a module, or something that the package defines or renames.
    """
    package = "/".join(item.module.split(".")[-2:])
    for hit in hits:
        if f"{package}/{item.name}" in hit.path:
            return True
        if hit.path == unit.path or not hit.path.endswith(".py"):
            continue
        if f"{package}/" in hit.path or hit.path.endswith(f"{package}.py"):
            return True
    return False


def _has_op_sources(hardware: str, change: ChangeSet, config: Config) -> bool:
    """Whether the tree registers ops of this hardware.

    The sources of a vendor's ops may be in a repository of the vendor's own.
    """
    wanted = config.hardware_of(f"{hardware}_ops")
    for path in change.head.paths_containing("PD_BUILD_STATIC_OP"):
        if path.endswith(_CPP_SOURCES) and config.hardware_of(path) == wanted:
            return True
    return False


def _ops_of(hardware: str, name: str, ops: Ops, config: Config) -> list[OpInfo]:
    return [op for op in ops.named(name) if config.hardware_of(op.unit.path) == hardware]


def _no_other_is_bound(
    item: Import, unit: SourceFile, ops: Ops, hardware: str, config: Config
) -> bool:
    """Whether the file imports other ops from there and none of them is bound.

    Then they come in another way.
    """
    others: list[OpInfo] = []
    for other in unit.imports:
        if other.module == item.module and other.name and other.name != item.name:
            others += _ops_of(hardware, other.name, ops, config)
    return bool(others) and all(op.binding is None for op in others)


def _bound_neighbour(op: OpInfo, ops: Ops, hardware: str, config: Config) -> OpInfo | None:
    """A bound op of the same folder whose name begins with the most of the same words."""
    folder = op.unit.path.rpartition("/")[0]
    words = op.name.split("_")
    for length in range(len(words) - 1, 1, -1):
        for other in _ops_in_files(folder, "_".join(words[:length]), ops.change):
            if other.name == op.name:
                continue
            for candidate in _ops_of(hardware, other.name, ops, config):
                if candidate.binding is not None:
                    return candidate
    return None


def _ops_in_files(folder: str, start: str, change: ChangeSet) -> Iterator[Op]:
    """The ops of the C++ files right in `folder` whose names begin with `start`."""
    for path in change.head.paths():
        parent, _, name = path.rpartition("/")
        if parent == folder and name.startswith(start) and language(path) == "cpp":
            unit = change.unit(path)
            if unit is not None:
                yield from unit.ops


def _absent_finding(item: Import, unit: SourceFile, hardware: str) -> Finding:
    return Finding(
        rule=ID,
        severity=Severity.QUESTION,
        confidence=Confidence.MEDIUM,
        location=Location(unit.path, _line_of_name(item, unit)),
        message=Message("absent", {"name": item.name, "hardware": hardware}),
        symbol=item.name,
        subject=item.name,
    )


def _unbound_finding(item: Import, unit: SourceFile, op: Op, neighbour: OpInfo) -> Finding:
    place = Location(op.path, op.line)
    bound_place = Location(neighbour.unit.path, neighbour.line)
    args = {"name": item.name, "at": place, "neighbour": neighbour.name, "bound": bound_place}
    binding_code = code_line(neighbour.unit, neighbour.line)
    return Finding(
        rule=ID,
        severity=Severity.QUESTION,
        confidence=Confidence.LOW,
        location=Location(unit.path, _line_of_name(item, unit)),
        message=Message("unbound", args),
        symbol=item.name,
        subject=item.name,
        evidence=(
            Definition(item.name, place, op.macro),
            Definition(neighbour.name, bound_place, "m.def", binding_code),
        ),
    )
