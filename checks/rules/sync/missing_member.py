"""A new class lacks what nearly all other classes of its kind have.

## What it does

For a class that the change adds, looks at the classes that inherit from the same class of the tree,
when there are eight of them at least. Reports methods and fields that all of them have, or that the
common class declares and nine in ten of them have, while the new one does not, and something in the
product reads it without asking (`hasattr`) whether it is there.

## Why it matters

`vllm-project/vllm#29327` added a model without the field `merge_by_field_config`, which the models
for several kinds of input had: its images came with a wrong rank, until #29950. #28439 added one
without `get_placeholder_str`, and the server could not show it an image, until #31546.

## Example

```python
class OcrModel(Model):        # 40 of 42 classes that inherit from Model have `merge_by_field`
    def forward(self, x): ...
```

## Known limits

Members that the new class inherits from elsewhere count as its own, and so does what the common
class does itself: a method with a body, a field with a value in whose place the others each put
another. Why the others have a member is not asked: where this one has no need of it the finding is
wrong.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.changed import changed_files
from checks.core.code import equal_code, is_stub
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Message, Related, Severity
from checks.core.tree import WordMatch
from checks.domain.calls.classes import Classes, base_name, place_of
from checks.eval.interpreter.values import ClassRef
from checks.lang.ir import expr as E

ID = "sync.missing-member"

_LEAST_SIBLINGS = 8
_LEAST_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class _Family:
    """The other classes that inherit from `parent`, and how many of them have each member."""

    parent: ClassRef
    siblings: tuple[ClassRef, ...]
    counts: Counter[str]

    @property
    def usual(self) -> list[str]:
        """The members that nearly all of them have."""
        least = _LEAST_SHARE * len(self.siblings)
        return sorted(name for name, count in self.counts.items() if count >= least)


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each new class."""
    for ref in _new_classes(change, config):
        for family in _families(ref, change, config):
            lacking = _lacking(ref, family, change, config)
            if lacking:
                yield _finding(ref, family, lacking, change)
                break


def _new_classes(change: ChangeSet, config: Config) -> Iterator[ClassRef]:
    """The classes that stand in no file of the base, without those that others inherit from: what
    they lack, the others may have."""
    classes = Classes.of_change(change)
    for unit, base in changed_files(change, config, "python"):
        for cls in unit.classes:
            was_here = base is not None and cls.name in base.classes_named
            if was_here or not cls.bases or change.base.contains(f"class {cls.name}"):
                continue
            ref = ClassRef(cls, unit)
            if not classes.subclasses(ref):
                yield ref


def _families(ref: ClassRef, change: ChangeSet, config: Config) -> Iterator[_Family]:
    """The families that the class joins and that are large enough to tell what is usual."""
    classes = Classes.of_change(change)
    for base in ref.cls.bases:
        parent = classes.named(base_name(base), ref.unit)
        if parent is None:
            continue
        siblings = []
        for other in classes.subclasses(parent):
            is_product = not config.is_test(other.unit.path)
            if (
                is_product
                and place_of(other) != place_of(ref)
                and _inherits(other, parent, classes)
            ):
                siblings.append(other)
        if len(siblings) >= _LEAST_SIBLINGS:
            counts = Counter(
                name for other in siblings for name in _members(other, parent, classes)
            )
            yield _Family(parent, tuple(siblings), counts)


def _inherits(ref: ClassRef, parent: ClassRef, classes: Classes) -> bool:
    """Whether the class names `parent` itself among its bases."""
    named = [classes.named(base_name(base), ref.unit) for base in ref.cls.bases]
    return any(found is not None and place_of(found) == place_of(parent) for found in named)


def _members(ref: ClassRef, parent: ClassRef, classes: Classes) -> set[str]:
    """The methods and fields of a class that it does not have from `parent`."""
    above = {place_of(other) for other in classes.lineage(parent).classes}
    members: set[str] = set()
    for owner in classes.lineage(ref).classes:
        if place_of(owner) not in above:
            members.update(function.name for function in owner.unit.methods_of(owner.cls.name))
            members.update(constant.name for constant in owner.unit.constants_of(owner.cls.name))
    return {name for name in members if not name.startswith("__")}


def _lacking(ref: ClassRef, family: _Family, change: ChangeSet, config: Config) -> list[str]:
    classes = Classes.of_change(change)
    if _has_other_foreign_bases(ref, family, classes):
        return []
    own = _members(ref, family.parent, classes)
    lacking = [name for name in family.usual if name not in own]
    lacking = [name for name in lacking if _is_asked_for(name, family, classes)]
    lacking = [name for name in lacking if not _is_provided(name, family, classes)]
    return [name for name in lacking if _is_read(name, family, change, config)]


def _is_asked_for(name: str, family: _Family, classes: Classes) -> bool:
    """Whether the common class declares the member, or all of the others have it: what one of them
    can do without, this one may too."""
    if family.counts[name] == len(family.siblings):
        return True
    if classes.method(family.parent, name) is not None:
        return True
    owners = classes.lineage(family.parent).classes
    declared = [constant.name for ref in owners for constant in ref.unit.constants_of(ref.cls.name)]
    return name in declared


def _is_provided(name: str, family: _Family, classes: Classes) -> bool:
    """Whether what the class inherits from `parent` under this name is as good as its own."""
    found = classes.method(family.parent, name)
    if found is not None:
        return not is_stub(found[0])
    for owner in classes.lineage(family.parent).classes:
        for constant in owner.unit.constants_of(owner.cls.name):
            if constant.name == name:
                is_none = isinstance(constant.value, E.Const) and constant.value.value is None
                return constant.value is not None and not is_none and not _agree(name, family)
    return False


def _agree(name: str, family: _Family) -> bool:
    """Whether all siblings that set the field themselves give it the same value."""
    values: list[E.Expr | None] = []
    for other in family.siblings:
        own = other.unit.constants_of(other.cls.name)
        values += [constant.value for constant in own if constant.name == name]
    return all(equal_code(value, values[0]) for value in values)


def _is_read(name: str, family: _Family, change: ChangeSet, config: Config) -> bool:
    """Whether code of the product takes the member from an object without asking whether it is
    there.

    No reading is: a class that hands on to what it inherits or takes over another's, and the module
    of a sibling, which reads its own. Where a class outside of the family has such a field too,
    nobody can tell whose is read.
    """
    word = re.escape(name)
    asked = re.compile(rf"hasattr\([^)]*[\"']{word}[\"']")
    read = re.compile(rf"(?<!super\(\))\.{word}\b|(?<![\"'])[\"']{word}[\"'](?![\"'])")
    written = re.compile(rf"\s*(?:self\.)?{word}\s*(?::[^=]*)?=(?!=)")
    modules_of_siblings = {other.unit.path for other in family.siblings} - {family.parent.unit.path}
    is_read = False
    for match in change.head.find(name, "python"):
        if config.is_test(match.path):
            continue
        if written.match(match.text):
            if not _is_of_family(match, family, change):
                return False
            continue
        if asked.search(match.text):
            return False
        if match.path not in modules_of_siblings:
            is_read = is_read or read.search(match.text) is not None
    return is_read


def _is_of_family(match: WordMatch, family: _Family, change: ChangeSet) -> bool:
    """Whether the line stands in a class that inherits from the family's parent, or in none."""
    unit = change.unit(match.path)
    if unit is None:
        return True
    classes = Classes.of_change(change)
    around = [cls for cls in unit.classes if cls.start_line <= match.line <= cls.end_line]
    for cls in around:
        lineage = classes.lineage(ClassRef(cls, unit)).classes
        if any(place_of(above) == place_of(family.parent) for above in lineage):
            return True
    return not around


def _has_other_foreign_bases(ref: ClassRef, family: _Family, classes: Classes) -> bool:
    """Whether the class may have members from a base out of the tree that no sibling has."""
    known: set[str] = set()
    for other in family.siblings:
        known.update(name for _, name in classes.lineage(other).foreign)
    return any(name not in known for _, name in classes.lineage(ref).foreign)


def _finding(ref: ClassRef, family: _Family, lacking: list[str], change: ChangeSet) -> Finding:
    classes = Classes.of_change(change)
    example = next(
        other for other in family.siblings if lacking[0] in _members(other, family.parent, classes)
    )
    place = Location(example.unit.path, example.cls.start_line)
    args = {
        "name": ref.cls.name,
        "parent": family.parent.cls.name,
        "members": lacking,
        "count": min(family.counts[name] for name in lacking),
        "siblings": len(family.siblings),
    }
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION,
        confidence=Confidence.MEDIUM,
        location=Location(ref.unit.path, _body_start(ref)),
        message=Message("lacking", args),
        symbol=ref.cls.name,
        subject=" ".join(lacking),
        related=(Related(place, Message("example", {})),),
    )


def _body_start(ref: ClassRef) -> int:
    """The line on which the bases of a class end: behind it the member would stand."""
    for number in range(ref.cls.start_line, ref.cls.end_line):
        if ref.unit.excerpt(number).partition("#")[0].rstrip().endswith(":"):
            return number
    return ref.cls.start_line
