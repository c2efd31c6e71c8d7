"""A class leaves out a constructor that it inherits, and what that constructor sets is read.

## What it does

Where the change lets a constructor set a new attribute, or a method read one, looks at the classes
that inherit the method: those whose own `__init__` does not call the constructor that sets the
attribute, and that set it nowhere else, fail when the method runs.

## Why it matters

sgl-project/sglang set `capture_aux_hidden_states` in the constructor of Qwen2.5-VL and read it in
`forward`. GLM-4V inherits `forward` and calls the constructor of `Module` alone: every request
failed until #10147.

## Example

```python
class Vision(Module):
    def __init__(self):
        self.capture = False         # new

    def forward(self, rows):
        return self.capture          # new

class OtherVision(Vision):
    def __init__(self):
        Module.__init__(self)        # Vision's constructor does not run
```

## Known limits

What other code sets on objects of the subclass is not known. A method counts as called on them
where the product names it of any object, or of `self` in the family.
Reads behind `hasattr` or `getattr`, classes that make attributes by computed names, and those of
which another method calls the constructor later, are left out. All of it is for the pedantic
persona: of fourteen that were read on commits by chance two were useful.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.config import Config
from checks.core.finding import (
    Confidence,
    Finding,
    Location,
    Message,
    Related,
    Severity,
)
from checks.core.tree import WordMatch
from checks.domain.calls.attributes import AttributeRead, Attributes, own_reads
from checks.domain.calls.classes import Classes, Place, methods_of, place_of
from checks.domain.calls.initialisation import initialisation
from checks.domain.calls.syntax_names import binds
from checks.eval.interpreter.values import ClassRef
from checks.lang.ir.source_file import Function, SourceFile

ID = "sync.skipped-init"

# A layer that is called runs these.
_CALLED_BY_LAYERS = ("forward",)


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each class, about the first attribute: it is one call that is missing."""
    reported: set[Place] = set()
    for read, owner in _reads_to_check(change, config):
        for member in _makers(owner, read, change):
            place = place_of(member)
            if place in reported or config.is_test(member.unit.path):
                continue
            if _may_run(member, read.function, change, config):
                reported.add(place)
                yield _finding(read, owner, member)


def _reads_to_check(change: ChangeSet, config: Config) -> Iterator[tuple[AttributeRead, ClassRef]]:
    """New reads, and the reads of what a constructor has come to set."""
    for changed in changed_functions(change, config):
        owner = _owner(changed.head.owner, changed.unit) if changed.python else None
        if owner is None:
            continue
        for read in _new_reads(changed):
            yield read, owner
        if changed.head.name == "__init__" and changed.base is not None:
            yield from _reads_of_new(changed, owner)


def _new_reads(changed: ChangedFunction) -> Iterator[AttributeRead]:
    """Reads of what the method did not read before, and does not set itself or ask for by name."""
    before = {read.name for read in own_reads(changed.base)} if changed.base else set()
    for read in own_reads(changed.head):
        is_new = changed.touched(read.line) and read.name not in before
        if is_new and not binds(changed.text, read.name):
            yield read


def _reads_of_new(
    changed: ChangedFunction, owner: ClassRef
) -> Iterator[tuple[AttributeRead, ClassRef]]:
    """Reads, in other methods of the class, of what its constructor did not set before."""
    for function in owner.unit.functions:
        if function.owner != owner.cls.name or function.name == "__init__":
            continue
        for read in own_reads(function):
            if binds(changed.text, read.name) and not binds(changed.base_text, read.name):
                yield read, owner


def _owner(name: str, unit: SourceFile) -> ClassRef | None:
    owners = unit.classes_named.get(name, [])
    return ClassRef(owners[0], unit) if len(owners) == 1 else None


def _makers(owner: ClassRef, read: AttributeRead, change: ChangeSet) -> Iterator[ClassRef]:
    """The classes with this method whose objects certainly lack the attribute."""
    classes = Classes.of_change(change)
    for member in (owner, *classes.subclasses(owner)):
        lineage = classes.lineage(member).classes
        made = initialisation(member, classes)
        if not made.skipped or not made.leaves_out(read.name, lineage):
            continue
        as_written = Attributes.of_change(change).is_made_as_written(member)
        if as_written and _inherits(member, owner, read.function.name, classes):
            yield member


def _inherits(member: ClassRef, owner: ClassRef, method: str, classes: Classes) -> bool:
    """Whether objects of `member` run the method of `owner`."""
    for ref in classes.lineage(member).classes:
        if place_of(ref) == place_of(owner):
            return True
        if methods_of(ref, method):
            return False
    return False


def _may_run(member: ClassRef, method: Function, change: ChangeSet, config: Config) -> bool:
    """Whether the product names the method of an object that may be a `member`.

    `self.method` in another class is another object's.
    """
    if method.name.startswith("__") or method.name in _CALLED_BY_LAYERS:
        return True
    classes = Classes.of_change(change)
    family = {place_of(ref) for ref in classes.lineage(member).classes}
    family |= {place_of(ref) for ref in classes.subclasses(member)}
    use = re.compile(rf"(\bself|\bsuper\(\))?\.{re.escape(method.name)}\b")
    for match in change.head.find(method.name, "python"):
        found = use.search(match.text)
        if found is None or config.is_test(match.path):
            continue
        if found[1] is None or _owner_at(match, change) in family:
            return True
    return False


def _owner_at(match: WordMatch, change: ChangeSet) -> Place | None:
    """The class in whose lines a word stands."""
    unit = change.unit(match.path)
    for cls in unit.classes if unit is not None else ():
        if cls.start_line <= match.line <= cls.end_line:
            return match.path, cls.start_line
    return None


def _finding(read: AttributeRead, owner: ClassRef, member: ClassRef) -> Finding:
    constructors = methods_of(member, "__init__")
    line = constructors[0].start_line if constructors else member.cls.start_line
    place = Location(owner.unit.path, read.line)
    finding = Finding.at(
        ID,
        Location(member.unit.path, line),
        "skipped",
        severity=Severity.SUGGESTION,
        confidence=Confidence.MEDIUM,
        symbol=member.cls.name,
        subject=f"{member.cls.name} {read.name}",
        name=read.name,
        owner=member.cls.name,
        method=read.function.qualname,
        at=place,
    )
    finding = finding.with_related(Related(place, Message("read-here", {"name": read.name})))
    return replace(finding, pedantic=True)
