"""An attribute or method is read of an object whose class does not have it.

## What it does

Looks at what the change reads of objects whose class is known: by annotation, constructor,
assignment, or what a function returns. Reports what nothing in the class, in what it inherits or in
what inherits it sets, declares or defines. What a method reads of itself is
`sync.unset-attribute`'s. A module is an object too: reported is what a function reads of an
imported one that does not bind it, or binds it no more since the change.

## Why it matters

`sgl-project/sglang#7211` called `get_flat_data_pages` of a memory pool that has
`get_flat_data_page`, and `vllm-project/vllm#9016` read `self.model.transformer` of a model whose
parts have other names: `AttributeError` for the users of one option.

## Example

```python
class Pool:
    def page(self, index): ...

def backup(pool: Pool):
    return pool.pages(0)        # AttributeError
```

## Known limits

As for `sync.unset-attribute`; where only an annotation tells the class, nothing in the tree may
have an attribute of that name, for annotations say less than the truth; and the classes must have
no decorators but those of data classes, which may add attributes. An attribute of `self` must get
its value in the class that reads it. A module that anything gives names by `setattr`, a star or
`__getattr__` is left out, and so is a name that any code sets on an object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Severity
from checks.domain.calls.attributes import Attributes, sets
from checks.domain.calls.known_objects import class_of_object, reads_of_others
from checks.domain.calls.value_types import Scope
from checks.eval.interpreter.values import ClassRef
from checks.lang.ir import expr as E
from checks.rules.sync._module_reads import ModuleRead, reads_of_lacking

ID = "sync.lacking-attribute"
# What containers and texts have.
_OF_CONTAINERS = frozenset(name for kind in (dict, list, set, str) for name in dir(kind))


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each attribute of a class in a function, and each name of a module."""
    yield from _of_classes(change, config)
    reported: set[tuple[str, str]] = set()
    for read in reads_of_lacking(change, config):
        if (read.module.path, read.name) not in reported:
            reported.add((read.module.path, read.name))
            yield _module_finding(read)


def _of_classes(change: ChangeSet, config: Config) -> Iterator[Finding]:
    for changed in changed_functions(change, config):
        if not changed.python:
            continue
        reported: set[tuple[str, str]] = set()
        for read, line, scope in _new_reads(changed):
            owner = class_of_object(read.base, scope, change)
            if owner is None or (owner.cls.name, read.name) in reported:
                continue
            if _may_be_another(read, owner, changed, change):
                continue
            if Attributes.of_change(change).certainly_lacks(owner, read.name):
                reported.add((owner.cls.name, read.name))
                yield _finding(read, line, owner, changed)


def _new_reads(changed: ChangedFunction) -> Iterator[tuple[E.Attr, int, Scope]]:
    """The attributes that lines of the change read of objects other than `self`."""
    for read, line, scope in reads_of_others(changed.head, changed.unit):
        if changed.touched(line) and f".{read.name}" not in changed.base_text:
            yield read, line, scope


def _may_be_another(
    read: E.Attr, owner: ClassRef, changed: ChangedFunction, change: ChangeSet
) -> bool:
    """Whether only an annotation tells the class, and another class of the tree has the attribute.

    An annotation may be less than the truth: a router stood for the manager
    (sgl-project/sglang#10074), a linear attention for an attention, one element for a mapping.
    """
    if _is_constructed(read.base, owner, changed):
        return False
    if read.name in _OF_CONTAINERS:
        return True
    for path in change.head.paths_containing(read.name, "python"):
        unit = change.unit(path)
        if unit is not None and any(sets(ClassRef(cls, unit), read.name) for cls in unit.classes):
            return True
    return False


def _is_constructed(base: E.Expr, owner: ClassRef, changed: ChangedFunction) -> bool:
    """Whether the object is seen to be made, in this function or in its class."""
    if isinstance(base, E.Call):
        return E.callee(base) == owner.cls.name
    name = (E.dotted(base) or "").rpartition(".")[2]
    made = re.compile(rf"(?<!\w){name}\s*(?::[^=\n]+)?=\s*[\w.]*\b{owner.cls.name}\(")
    texts = [changed.code]
    if isinstance(base, E.Attr):
        around = changed.unit.classes_named.get(changed.head.owner, [])
        texts += [changed.unit.text_of(cls) for cls in around]
    return any(made.search(text) for text in texts)


def _finding(read: E.Attr, line: int, owner: ClassRef, changed: ChangedFunction) -> Finding:
    place = Location(owner.unit.path, owner.cls.start_line)
    return changed.finding(
        ID,
        line,
        "lacking",
        severity=Severity.BUG,
        confidence=Confidence.MEDIUM,
        subject=f"{owner.cls.name} {read.name}",
        name=read.name,
        owner=owner.cls.name,
        at=place,
    )


def _module_finding(read: ModuleRead) -> Finding:
    return Finding.at(
        ID,
        Location(read.unit.path, read.line),
        "module",
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        symbol=read.function.qualname,
        subject=f"{read.module.path} {read.name}",
        name=read.name,
        at=Location(read.module.path, 0),
    )
