"""A method reads an attribute of its own object that no class of the family sets.

## What it does

Looks at what the change reads of `self`, and, for every attribute and method that it took out of a
class or renamed, at who still reads it in the class, in those that inherit from it and in those it
inherits. Reports what none of these classes sets, declares or defines any more. Where the change
sets another attribute that nobody reads and that is one letter apart, the finding stands there.

## Why it matters

sgl-project/sglang renamed `prefill_tp_size_table` in the base class of the connection managers; the
manager of one transport went on reading the old name where a node had failed, until #12234.

## Example

```python
class Manager:
    def __init__(self):
        self.attn_sizes = {}          # the change renamed `sizes`

class FastManager(Manager):
    def failed(self, node):
        del self.sizes[node]          # AttributeError
```

## Known limits

The whole family must be in the tree (`Module`, `Layer`, a data model or a built-in class may stand
above it). Classes that make attributes by computed names are left out, and so are names that any
code sets on an object other than `self`, reads behind `hasattr` or `getattr`, and branches that
want an attribute to be None which the class always sets to something, or to be true which it always
sets to False. An object that is handed to another class's method (`Other.prepare(self)`) may get
there what is set there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from checks.core.change import ChangeSet
from checks.core.changed import changed_files, changed_functions
from checks.core.code import is_ready_for
from checks.core.config import Config
from checks.core.finding import (
    Confidence,
    Finding,
    Location,
    Message,
    Related,
    Severity,
    Side,
)
from checks.core.words import one_slip_apart
from checks.domain.calls.attributes import AttributeRead, Attributes, own_reads
from checks.domain.calls.classes import Classes
from checks.domain.calls.initialisation import initialisation
from checks.domain.calls.none_tests import holds_never, is_spare
from checks.domain.calls.syntax_names import binds
from checks.domain.calls.targets import CallTargets
from checks.eval.interpreter.values import ClassRef
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Class, SourceFile
from checks.lang.ir.stmt import Assign, guarded_statements

ID = "sync.unset-attribute"

_SET = re.compile(
    r"\bself\.(\w+)\s*(?::[^=\n]+)?=(?!=)|^\s+(?:async )?def (\w+)|^    (\w+)\s*[:=]", re.MULTILINE
)
_HANDED = re.compile(r"\b([A-Z]\w*)\.\w+\(\s*self\b")
_READ_HERE = Message("read-here")
_STORED = re.compile(r"\s+self\.(\w+)\s*(?::[^=\n]+)?=(?!=)")


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """New reads, then reads of what went away; one finding for each attribute of a class."""
    lacking: dict[tuple[str, str, str], tuple[SourceFile, dict[str, AttributeRead]]] = {}
    for read, unit in [*_new_reads(change, config), *_stale_reads(change, config)]:
        place = unit.path, read.function.owner, read.name
        _, by_method = lacking.get(place, (unit, {}))
        if read.function.qualname not in by_method and _is_lacking(read, unit, change):
            by_method[read.function.qualname] = read
            lacking[place] = unit, by_method
    for unit, by_method in lacking.values():
        first, *others = by_method.values()
        also = [Related(Location(unit.path, other.line), _READ_HERE) for other in others]
        yield _finding(first, unit, change).with_related(*also)


def _new_reads(change: ChangeSet, config: Config) -> Iterator[tuple[AttributeRead, SourceFile]]:
    for changed in changed_functions(change, config):
        if not changed.python:
            continue
        before: set[str] = set()
        if changed.base is not None:
            before = {read.name for read in own_reads(changed.base)}
        for read in own_reads(changed.head):
            if changed.touched(read.line) and read.name not in before:
                yield read, changed.unit


def _stale_reads(change: ChangeSet, config: Config) -> Iterator[tuple[AttributeRead, SourceFile]]:
    """Reads of attributes that a class had before, in it and in the classes of its family."""
    classes = Classes.of_change(change)
    for unit, base_unit in changed_files(change, config, "python"):
        if base_unit is None:
            continue
        for cls in unit.classes:
            removed = _removed_names(cls, unit, base_unit)
            if not removed:
                continue
            ref = ClassRef(cls, unit)
            family = [*classes.lineage(ref).classes, *classes.subclasses(ref)]
            for member in family:
                yield from _reads_in(member, removed)


def _removed_names(cls: Class, unit: SourceFile, base_unit: SourceFile) -> set[str]:
    """What the class set or defined before and does not now."""
    old = base_unit.classes_named.get(cls.name, [])
    if len(old) != 1:
        return set()
    before = base_unit.text_of(old[0])
    now = unit.text_of(cls)
    return _names_set(before) - _names_set(now) if before != now else set()


def _names_set(text: str) -> set[str]:
    names: set[str] = set()
    for groups in _SET.findall(text):
        names.update(filter(None, groups))
    return names


def _reads_in(member: ClassRef, names: set[str]) -> Iterator[tuple[AttributeRead, SourceFile]]:
    word = re.compile(rf"\.(?:{'|'.join(sorted(map(re.escape, names)))})\b")
    for function in member.unit.functions:
        if function.owner != member.cls.name:
            continue
        if not word.search(member.unit.text_of(function)):
            continue
        for read in own_reads(function):
            if read.name in names:
                yield read, member.unit


def _is_lacking(read: AttributeRead, unit: SourceFile, change: ChangeSet) -> bool:
    owners = unit.classes_named.get(read.function.owner, [])
    if len(owners) != 1 or is_ready_for("AttributeError", unit.text_of(read.function)):
        return False
    ref = ClassRef(owners[0], unit)
    was_set = _gave_value(read, unit, change)
    lacks = Attributes.of_change(change).certainly_lacks(ref, read.name, was_set=was_set)
    if not lacks and not (was_set and _is_left_to_skipped(ref, read.name, change)):
        return False
    if holds_never(read.guards, ref, change) or is_spare(read.name, read.function):
        return False
    if CallTargets.of_change(change).is_always_replaced(read.function, unit):
        return False
    if _is_given_by_others(ref, read.name, change):
        return False
    return not _was_lacking(read, unit, change)


def _is_left_to_skipped(ref: ClassRef, name: str, change: ChangeSet) -> bool:
    """Whether only constructors that the class inherits and does not run set the attribute."""
    classes, attributes = Classes.of_change(change), Attributes.of_change(change)
    lineage = classes.lineage(ref).classes
    if not attributes.is_made_as_written(ref) or classes.subclasses(ref):
        return False
    if not initialisation(ref, classes).leaves_out(name, lineage):
        return False
    return not any(_sets_later(owner, name) for owner in lineage)


def _sets_later(owner: ClassRef, name: str) -> bool:
    """Whether a method of the class, other than its constructor, sets the attribute."""
    methods = [f for f in owner.unit.functions if f.owner == owner.cls.name]
    later = [owner.unit.text_of(f) for f in methods if f.name != "__init__"]
    return any(binds(text, name) for text in later)


def _is_given_by_others(ref: ClassRef, name: str, change: ChangeSet) -> bool:
    """Whether a method of the class hands its object to one of a class that it does not inherit,
    as in `Other.prepare(self)`, and the attribute is set anywhere.

    ModelTC/lightllm@59aee2904 has the quantization of its weights chosen in this way.
    """
    lineage = Classes.of_change(change).lineage(ref).classes
    known = {owner.cls.name for owner in lineage}
    handed: set[str] = set()
    for owner in lineage:
        handed.update(_HANDED.findall(owner.unit.text_of(owner.cls)))
    if handed <= known:
        return False
    stored = [_STORED.match(line.text) for line in change.head.find(name, "python")]
    return any(found is not None and found[1] == name for found in stored)


def _gave_value(read: AttributeRead, unit: SourceFile, change: ChangeSet) -> bool:
    """Whether the class of the read set the attribute before the change, to more than a constant:
    what begins as None is set by others."""
    file = change.changed(unit.path)
    base_unit = change.unit(file.base_path, Side.BASE) if file and file.base_path else None
    stored = E.Attr(E.Name("self"), read.name)
    for function in base_unit.functions if base_unit is not None else ():
        if function.owner != read.function.owner:
            continue
        for guarded in guarded_statements(function.body):
            stmt = guarded.stmt
            if isinstance(stmt, Assign) and stmt.target == stored:
                return not isinstance(stmt.value, E.Const | None)
    return False


def _was_lacking(read: AttributeRead, unit: SourceFile, change: ChangeSet) -> bool:
    """Whether the same method read the attribute before, and nothing set it then either."""
    file = change.changed(unit.path)
    path = file.base_path if file is not None else unit.path
    base_unit = change.unit(path, Side.BASE) if path else None
    if base_unit is None:
        return False
    owners = base_unit.classes_named.get(read.function.owner, [])
    if len(owners) != 1:
        return False
    functions = base_unit.functions_named.get(read.function.qualname, [])
    if not any(old.name == read.name for function in functions for old in own_reads(function)):
        return False
    table = Attributes.of_change(change, Side.BASE)
    return table.certainly_lacks(ClassRef(owners[0], base_unit), read.name)


def _misspelt(read: AttributeRead, unit: SourceFile, change: ChangeSet) -> tuple[str, int] | None:
    """The name and line under which the class sets, since the change, what the method reads."""
    for cls in unit.classes_named.get(read.function.owner, []):
        for number in range(cls.start_line, cls.end_line + 1):
            stored = _STORED.match(unit.text(number))
            if stored is None or not one_slip_apart(stored[1], read.name):
                continue
            if change.touches(unit.path, number, number) and not _is_read(stored[1], change):
                return stored[1], number
    return None


def _is_read(name: str, change: ChangeSet) -> bool:
    """Whether anything but an assignment to the attribute of `self` names it."""
    return any(not _STORED.match(found.text) for found in change.head.find(name, "python"))


def _finding(read: AttributeRead, unit: SourceFile, change: ChangeSet) -> Finding:
    owner = read.function.owner
    place = Location(unit.path, read.line)
    finding = Finding.at(
        ID,
        place,
        "unset",
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        symbol=read.function.qualname,
        subject=f"{owner} {read.name}",
        name=read.name,
        owner=owner,
    )
    misspelt = _misspelt(read, unit, change)
    if misspelt is None:
        return finding
    args = {"written": misspelt[0], "name": read.name, "at": place}
    message = Message("misspelt", args)
    location = Location(unit.path, misspelt[1])
    moved = replace(finding, location=location, message=message)
    return moved.with_related(Related(place, _READ_HERE))
