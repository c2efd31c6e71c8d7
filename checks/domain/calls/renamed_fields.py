"""Fields that the change renamed, in classes whose constructor is not known: what they inherit is
not in the tree, or takes whatever it is given."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import changed_files
from checks.core.config import Config
from checks.domain.calls.classes import Classes, methods_of, place_of
from checks.domain.calls.sites import CallSite, calls_of_name, calls_of_own_class
from checks.domain.calls.types import Types
from checks.domain.calls.value_types import Scope
from checks.eval.interpreter.values import ClassRef
from checks.lang.ir.source_file import Class, Constant, SourceFile

# A model that keeps what it is given, or takes a field by another name too.
_TAKES_MORE = re.compile(r"\balias\b|\bextra\b|\bmodel_validator\b|\broot_validator\b")


@dataclass(frozen=True, slots=True)
class RenamedField:
    """The class declared `old` before, and declares `new` in its place, with the same type."""

    ref: ClassRef
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class StaleCall:
    """A call that passes the old name of a field on `line`."""

    site: CallSite
    line: int


def renamed_fields(change: ChangeSet, config: Config) -> Iterator[RenamedField]:
    """The fields that have another name in the same place, and are all that differs there."""
    for unit, base_unit in changed_files(change, config, "python"):
        for cls in unit.classes if base_unit is not None else ():
            old = base_unit.classes_named.get(cls.name, []) if base_unit is not None else []
            if base_unit is None or len(old) != 1:
                continue
            pairs = _renamed(_fields(old[0], base_unit), _fields(cls, unit))
            if pairs is not None:
                yield RenamedField(ClassRef(cls, unit), *pairs)


def _fields(cls: Class, unit: SourceFile) -> list[Constant]:
    return [field for field in unit.constants_of(cls.name) if field.kind == "field" and field.type]


def _renamed(before: list[Constant], now: list[Constant]) -> tuple[str, str] | None:
    """The old and the new name, where one field alone differs, and by its name alone."""
    if len(before) != len(now):
        return None
    pairs = [(old, new) for old, new in zip(before, now, strict=True) if old.name != new.name]
    if len(pairs) != 1:
        return None
    old, new = pairs[0]
    is_same = (old.type, old.value) == (new.type, new.value)
    return (old.name, new.name) if is_same else None


def stale_calls(renamed: RenamedField, change: ChangeSet, config: Config) -> Iterator[StaleCall]:
    """The calls that make an object of the class and pass the field by its old name, where the
    constructor is not known."""
    classes, types = Classes.of_change(change), Types.of_change(change)
    family = (renamed.ref, *classes.subclasses(renamed.ref))
    if any(_makes_itself(member, classes) for member in family):
        return
    places = {place_of(member) for member in family}
    for site in _sites_of(family, change, config):
        line = _line_of_keyword(renamed.old, site)
        scope = Scope(site.function, site.unit, site.guards)
        made = types.object_class(site.call, scope) if line else None
        if made is not None and place_of(made.ref) in places:
            yield StaleCall(site, line)


def _makes_itself(ref: ClassRef, classes: Classes) -> bool:
    """Whether the constructor is known, or takes more than the fields that are declared."""
    lineage = classes.lineage(ref)
    if lineage.is_whole or any(methods_of(owner, "__init__") for owner in lineage.classes):
        return True
    return any(_TAKES_MORE.search(owner.unit.text_of(owner.cls)) for owner in lineage.classes)


def _sites_of(
    family: tuple[ClassRef, ...], change: ChangeSet, config: Config
) -> Iterator[CallSite]:
    sites: dict[tuple[str, int], CallSite] = {}
    for member in family:
        for site in calls_of_name(member.cls.name, (), change, config):
            sites[site.place] = site
        for site in calls_of_own_class(member, change, config):
            sites[site.place] = site
    yield from sites.values()


def _line_of_keyword(name: str, site: CallSite) -> int:
    """The line on which the call passes a keyword; 0 where it does not."""
    for keyword, value in site.call.keywords:
        if keyword == name:
            return value.line or site.call.line
    return 0
