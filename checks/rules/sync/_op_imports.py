"""Device ops that Python newly imports and that nothing of their hardware registers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity, Side
from checks.domain.ops import OpInfo, Ops
from checks.lang.ir.source_file import Import, Op, SourceFile
from checks.lang.source import language

_OPS = re.compile(r"(^|\.)_?(custom_)?ops\.(?P<hardware>\w+)$")


def imports(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """New imports from an ops package of ops that are registered nowhere, or not in the way their neighbours are."""
    ops = Ops.of(change)
    for file in change.files:
        if (
            not file.head_path
            or not file.head_path.endswith(".py")
            or config.is_test(file.head_path)
        ):
            continue
        if not any(h.head_len for h in file.hunks):
            continue
        unit = change.unit(file.head_path)
        for item in _fresh(unit, change) if unit is not None else ():
            if unit is not None:
                yield from _check(item, unit, ops, change, config, rule)


def _fresh(unit: SourceFile, change: ChangeSet) -> Iterator[Import]:
    """Imports of single ops on lines of the change."""
    for item in unit.imports:
        if item.name and _OPS.search(item.module):
            line = _line(item, unit)
            if (
                change.touches(unit.path, line, line)
                and not _known(item, change)
                and not _module(item, unit)
            ):
                yield item


def _known(item: Import, change: ChangeSet) -> bool:
    """Whether some Python of the base imported this op already."""
    paths = {h.path for h in change.base.find(item.name) if h.path.endswith(".py")}
    units = (change.unit(p, Side.BASE) for p in sorted(paths))
    return any(
        i.name == item.name and i.module == item.module
        for u in units
        if u is not None
        for i in u.imports
    )


def _module(item: Import, unit: SourceFile) -> bool:
    """Whether the name is used as a module: `name.function`."""
    pattern = re.compile(rf"\b{re.escape(item.alias or item.name)}\.\w")
    return any(pattern.search(line) for line in unit.lines)


def _line(item: Import, unit: SourceFile) -> int:
    """The line of a long import on which the name itself stands."""
    pattern = re.compile(rf"\b{re.escape(item.name)}\b")
    for line in range(item.line, min(item.line + 80, len(unit.lines) + 1)):
        if pattern.search(unit.lines[line - 1]):
            return line
    return item.line


def _check(
    item: Import, unit: SourceFile, ops: Ops, change: ChangeSet, config: Config, rule: str
) -> Iterator[Finding]:
    match = _OPS.search(item.module)
    hits = change.head.find(item.name)
    if match is None or _python(item, unit, hits_of=[h.path for h in hits]):
        return
    sources = [h for h in hits if language(h.path) == "cpp"]
    found = ops.named(item.name)
    hardware = match["hardware"]
    if not sources and any(
        h.path.endswith((".cu", ".cc", ".cpp")) for h in change.head.find("PD_BUILD_STATIC_OP")
    ):
        yield _absent(item, unit, hardware, rule)
        return
    own = [i for i in found if config.hardware_of(i.unit.path) == hardware]
    if any(i.registration is not None and "STATIC" not in i.registration.macro for i in own):
        return  # the framework finds such an op by itself
    if not own or any(i.binding is not None for i in own) or any(_changed(i, change) for i in own):
        return
    if _others_unbound(item, unit, ops, hardware, config):
        return
    neighbour = _neighbour(own[0], ops, hardware, config)
    if neighbour is not None and own[0].registration is not None:
        yield _unbound(item, unit, own[0].registration, neighbour, rule)


def _python(item: Import, unit: SourceFile, hits_of: list[str]) -> bool:
    """Whether the name may be Python's own: a module, or something that a package of ops defines or renames."""
    parts = item.module.split(".")
    folder = "/".join(parts[-2:])
    here = [p for p in hits_of if p != unit.path and p.endswith(".py")]
    return any(f"{folder}/" in p or p.endswith(f"{folder}.py") for p in here) or any(
        f"{folder}/{item.name}" in p for p in hits_of
    )


def _others_unbound(
    item: Import, unit: SourceFile, ops: Ops, hardware: str, config: Config
) -> bool:
    """Whether the file imports other ops from there and nothing binds any: they come in another way."""
    others = {i.name for i in unit.imports if i.module == item.module and i.name} - {item.name}
    known = [
        o
        for n in sorted(others)
        for o in ops.named(n)
        if config.hardware_of(o.unit.path) == hardware
    ]
    return bool(known) and all(o.binding is None for o in known)


def _changed(info: OpInfo, change: ChangeSet) -> bool:
    return change.changed(info.unit.path) is not None


def _neighbour(info: OpInfo, ops: Ops, hardware: str, config: Config) -> OpInfo | None:
    """An op of the same folder whose name is the longest beginning of this one's words and which is bound."""
    folder = info.unit.path.rpartition("/")[0]
    words = info.name.split("_")
    for length in range(len(words) - 1, 1, -1):
        for other in _siblings(folder, "_".join(words[:length]), ops):
            known = ops.named(other.name)
            bound = [
                i
                for i in known
                if i.binding is not None and config.hardware_of(i.unit.path) == hardware
            ]
            if other.name != info.name and bound:
                return bound[0]
    return None


def _siblings(folder: str, start: str, ops: Ops) -> Iterator[Op]:
    tree = ops.change.head
    for path in tree.paths():
        if (
            path.startswith(f"{folder}/{start}")
            and language(path) == "cpp"
            and "/" not in path[len(folder) + 1 :]
        ):
            unit = ops.change.unit(path)
            yield from unit.ops if unit is not None else ()


def _absent(item: Import, unit: SourceFile, hardware: str, rule: str) -> Finding:
    return Finding(
        rule=rule,
        severity=Severity.QUESTION,
        confidence=Confidence.MEDIUM,
        location=Location(unit.path, _line(item, unit)),
        message=Message("absent", {"name": item.name, "hardware": hardware}),
        symbol=item.name,
        subject=item.name,
    )


def _unbound(item: Import, unit: SourceFile, op: Op, neighbour: OpInfo, rule: str) -> Finding:
    place = Location(op.path, op.line)
    bound = Location(neighbour.unit.path, neighbour.line)
    args = {"name": item.name, "at": place, "neighbour": neighbour.name, "bound": bound}
    return Finding(
        rule=rule,
        severity=Severity.QUESTION,
        confidence=Confidence.LOW,
        location=Location(unit.path, _line(item, unit)),
        message=Message("unbound", args),
        symbol=item.name,
        subject=item.name,
        evidence=(
            Definition(item.name, place, op.macro),
            Definition(neighbour.name, bound, "m.def", neighbour.unit.text(neighbour.line).strip()),
        ),
    )
