"""Members that a batch class lost, and files that make the class and still ask it for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Related, Severity
from checks.domain.keys import KeyUse, asks_platform, calling_files, is_key_tested, key_uses
from checks.domain.ops import functions_calling
from checks.domain.source_search import units_at
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Class, Function, SourceFile
from checks.lang.ir.stmt import Assign, guarded_statements
from checks.rules.sync._classes import (
    ChangedClass,
    changed_classes,
    class_definition,
    class_place,
)


@dataclass(frozen=True, slots=True)
class MemberUse:
    """A use of a member, in the function where it stands."""

    use: KeyUse
    function: Function


def find_used_members(change: ChangeSet, config: Config, rule: str) -> Iterator[Finding]:
    """`self.batch["k"]` where `Batch` sets no `k` any more.

    The file makes the object itself: `self.batch = Batch(...)`.
    """
    for changed in changed_classes(change, config):
        cls, unit = changed.cls, changed.unit
        old_names = [old_class.name for old_class in changed.old_unit.classes]
        # What a class inherits is not known: it may have more than its own methods set.
        if old_names.count(cls.name) != 1 or not set(cls.bases) <= {"object", "dict"}:
            continue
        removed = _removed_members(changed)
        if not removed:
            continue
        for maker in units_at(calling_files(cls.name, change, config), change):
            used = _used_members(cls, removed, maker)
            if used:
                yield _finding(used, maker.path, cls, unit, rule)


def _removed_members(changed: ChangedClass) -> set[str]:
    """The fields, methods and attributes of `self` that the class had and has no more."""
    name, unit, old_unit = changed.cls.name, changed.unit, changed.old_unit
    methods = unit.methods_of(name)
    texts = {unit.text_of(method) for method in methods}
    removed = _constants_of(name, old_unit)
    for old_method in old_unit.methods_of(name):
        # A method that reads as before has lost nothing.
        if old_unit.text_of(old_method) not in texts:
            removed.add(old_method.name)
            removed |= _members_set(old_method)
    removed -= _constants_of(name, unit)
    removed -= {method.name for method in methods}
    if not removed:
        return removed
    for method in methods:
        removed -= _members_set(method)
    return removed


def _constants_of(class_name: str, unit: SourceFile) -> set[str]:
    return {constant.name for constant in unit.constants_of(class_name)}


def _members_set(method: Function) -> set[str]:
    return {use.key for use in key_uses(method) if use.holder == "self" and use.sets}


def _used_members(cls: Class, removed: set[str], maker: SourceFile) -> dict[str, MemberUse]:
    """The first use of each removed member that `maker` asks an object of the class for."""
    holders = _holders(cls, maker)
    if not holders:
        return {}
    member_uses: list[MemberUse] = []
    for function in maker.functions_naming_any(removed):
        for use in key_uses(function):
            if use.holder in holders and use.key in removed:
                member_uses.append(MemberUse(use, function))
    set_by_maker = {item.use.key for item in member_uses if item.use.sets}
    used: dict[str, MemberUse] = {}
    for item in member_uses:
        is_checked = is_key_tested(item.use) or asks_platform(item.use.guards)
        if item.use.key not in set_by_maker and not is_checked:
            used.setdefault(item.use.key, item)
    return used


def _holders(cls: Class, maker: SourceFile) -> set[str]:
    """The attributes to which `maker` assigns a new object of the class.

    `batch` in `self.batch = Batch()`.
    """
    holders: set[str] = set()
    for function in functions_calling(cls.name, maker):
        for guarded in guarded_statements(function.body):
            match guarded.stmt:
                case Assign(target=E.Attr(name=name), value=E.Call(func=E.Name(id=called))):
                    if called == cls.name:
                        holders.add(name)
                case _:
                    pass
    return holders


def _finding(
    used: dict[str, MemberUse], path: str, cls: Class, unit: SourceFile, rule: str
) -> Finding:
    first = min(used.values(), key=lambda item: item.use.line)
    keys = sorted(used)
    args = {
        "keys": keys,
        "holder": first.use.holder,
        "type": cls.name,
        "at": class_place(cls, unit),
    }
    others: list[Related] = []
    for item in used.values():
        if item is not first:
            others.append(Related(Location(path, item.use.line), Message("read-here")))
    return Finding(
        rule=rule,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=Location(path, first.use.line),
        message=Message("lost-members", args),
        symbol=first.function.qualname,
        subject=f"{cls.name} {' '.join(keys)}",
        evidence=(class_definition(cls, unit, keys),),
        related=tuple(others),
    )
