"""A named constant got a new value in one place and keeps the old one in another.

## What it does

Finds numbers with a name (`MAX_INFER_SEED`, `kMaxSteps`) to which the change gave another value,
and places outside tests that still give the same name the old value: on the hardware of the changed
place, in code for all hardware, or in another hardware's copy of the same op.

## Why it matters

PaddlePaddle/FastDeploy@427d0f508 lowered the largest seed to 32 bits in the runner of XPU; the
sampler, which XPU runs too, kept the limit of 64 bits, until f36640f83.

## Example

```python
MAX_INFER_SEED = 2147483646              # xpu_model_runner.py, changed
MAX_INFER_SEED = 9223372036854775806     # sampler.py, which XPU runs too
```

## Known limits

Names of sizes that each kernel tunes for itself (`BLOCK_SIZE`, `NUM_STAGES`) are left out, and
constants that size a message, which `protocol.layout-mismatch` compares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config, matches
from checks.core.finding import Confidence, Definition, Finding, Location, Message, Severity, Side
from checks.domain.copies.op_copies import find_copies
from checks.domain.source_search import code_line, units_at
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import SourceFile
from checks.lang.ir.stmt import Assign, guarded_statements

ID = "sync.stale-constant"

_CONSTANT_NAME = re.compile(r"_?[A-Z][A-Z0-9]*(_[A-Z0-9]+)+|k[A-Z][a-z]+([A-Z][a-z]+)+")
_TUNED_SIZE = re.compile(
    r"(?i)block|thread|warp|vec|tile|stage|unroll|pack|cta|grid|align|chunk|version|pipeline|reg"
)


@dataclass(frozen=True, slots=True)
class ConstantSite:
    """A place that gives `name` the number `value`."""

    name: str
    value: int | float
    line: int
    unit: SourceFile

    @property
    def location(self) -> Location:
        return Location(self.unit.path, self.line)


@dataclass(frozen=True, slots=True)
class ConstantChange:
    """What the change did to a constant: `old` became `new`."""

    old: ConstantSite
    new: ConstantSite


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One question for each constant that has the old value in a place that must agree."""
    for constant_change in _constant_changes(change, config):
        stale_sites = list(_stale_sites(constant_change, change, config))
        if stale_sites:
            yield _finding(constant_change, stale_sites, config)


def _constant_changes(change: ChangeSet, config: Config) -> Iterator[ConstantChange]:
    for file in change.files:
        if not file.head_path or not file.base_path or config.is_test(file.head_path):
            continue
        unit = change.unit(file.head_path)
        old_unit = change.unit(file.base_path, Side.BASE)
        if unit is not None and old_unit is not None:
            removed = _sites_on(file.base_lines(), old_unit)
            added = _sites_on(file.head_lines(), unit)
            yield from _pair_sites(removed, added)


def _pair_sites(removed: list[ConstantSite], added: list[ConstantSite]) -> Iterator[ConstantChange]:
    """The constants that one removed and one added line give different numbers."""
    for old in removed:
        new_sites = [site for site in added if site.name == old.name]
        if len(new_sites) != 1 or _TUNED_SIZE.search(old.name):
            continue
        if new_sites[0].value != old.value:
            yield ConstantChange(old, new_sites[0])


def _sites_on(lines: set[int], unit: SourceFile) -> list[ConstantSite]:
    """The constants that get a number on one of `lines`."""
    return [site for site in _constant_sites(unit, lines) if site.line in lines]


def _constant_sites(unit: SourceFile, lines: set[int]) -> Iterator[ConstantSite]:
    """The places that give a constant a number.

    Definitions, class attributes, and assignments in functions that hold one of `lines`.
    """
    for constant in unit.constants:
        value = _number(constant.value)
        if value is not None and _CONSTANT_NAME.fullmatch(constant.name):
            yield ConstantSite(constant.name, value, constant.line, unit)
    for function in unit.functions_on(lines):
        for guarded in guarded_statements(function.body):
            match guarded.stmt:
                case Assign(op="=", target=E.Name(id=name) | E.Attr(name=name), value=expr):
                    value = _number(expr)
                    if value is not None and _CONSTANT_NAME.fullmatch(name):
                        yield ConstantSite(name, value, guarded.stmt.line, unit)
                case _:
                    pass


def _number(value: E.Expr | None) -> int | float | None:
    """The number that an expression spells out, casts aside."""
    match value:
        case E.Const(value=bool()):
            return None
        case E.Const(value=int() | float() as number):
            return number
        case E.Unary(op="-", operand=E.Const(value=int() | float() as number)):
            return -number
        case E.Cast(operand=operand):
            return _number(operand)
        case _:
            return None


def _stale_sites(
    constant_change: ConstantChange, change: ChangeSet, config: Config
) -> Iterator[ConstantSite]:
    """The places outside tests that still give the name the old value, and must agree."""
    old = constant_change.old
    changed_path = constant_change.new.unit.path
    lines_by_path = _lines_naming(old.name, change)
    candidates: list[str] = []
    for path in sorted(lines_by_path):
        if path == changed_path or config.is_test(path):
            continue
        if _must_agree(path, changed_path, change, config):
            candidates.append(path)
    for unit in units_at(candidates, change):
        # A constant that sizes a message anywhere is not asked about at all.
        if _sizes_a_struct(old.name, unit):
            return
        for site in _constant_sites(unit, lines_by_path[unit.path]):
            if site.name == old.name and site.value == old.value:
                yield site


def _lines_naming(name: str, change: ChangeSet) -> dict[str, set[int]]:
    """The lines with the name of each file that may assign it."""
    assignment = re.compile(rf"{name}\b\s*[=\s]\s*")
    lines: dict[str, set[int]] = {}
    assigning: set[str] = set()
    for hit in change.head.find(name):
        lines.setdefault(hit.path, set()).add(hit.line)
        if assignment.search(hit.text):
            assigning.add(hit.path)
    return {path: lines[path] for path in assigning}


def _must_agree(path: str, changed_path: str, change: ChangeSet, config: Config) -> bool:
    """Whether the file runs on the hardware of the changed one, or is another hardware's copy of
    the same op.

    Other files of the same family (`[[family]]`) are `sync.model-runner`'s.
    """
    for family in config.family:
        if matches(changed_path, family.files):
            if matches(path, family.files):
                return False
            break
    hardware = config.hardware_of(changed_path)
    is_elsewhere = hardware and config.hardware_of(path) not in ("", hardware)
    return not is_elsewhere or path in find_copies(changed_path, change, config)


def _sizes_a_struct(name: str, unit: SourceFile) -> bool:
    """Whether the constant sizes a struct of the file: the layout of messages is another rule's."""
    for struct in unit.structs:
        for member in struct.members:
            if any(name in E.names(dimension) for dimension in member.dims):
                return True
    return False


def _finding(
    constant_change: ConstantChange, stale_sites: list[ConstantSite], config: Config
) -> Finding:
    old, new = constant_change.old, constant_change.new
    first = stale_sites[0]
    args = {
        "name": old.name,
        "old": str(old.value),
        "new": str(new.value),
        "at": new.location,
        "hardware": config.hardware_of(new.unit.path),
        "more": len(stale_sites) - 1,
    }
    return Finding(
        rule=ID,
        severity=Severity.QUESTION,
        confidence=Confidence.MEDIUM,
        location=first.location,
        message=Message("constant", args),
        symbol=old.name,
        subject=f"{old.name} {old.value}",
        evidence=tuple(_definition(site) for site in (new, *stale_sites)),
    )


def _definition(site: ConstantSite) -> Definition:
    return Definition(site.name, site.location, str(site.value), code_line(site.unit, site.line))
