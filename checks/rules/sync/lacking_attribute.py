"""An attribute or method is read of an object whose class does not have it.

## What it does

Looks at what the change reads of objects whose class is known: by annotation, constructor,
assignment, or what a function returns. Reports what nothing in the class, in what it inherits or in
what inherits it sets, declares or defines. What a method reads of itself is
`sync.unset-attribute`'s.

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
its value in the class that reads it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Severity
from checks.domain.calls.attributes import Attributes, asks_for_attributes, sets
from checks.domain.calls.classes import Classes, is_protocol
from checks.domain.calls.types import Types
from checks.domain.calls.value_types import Scope
from checks.domain.ops import statement_expressions
from checks.eval.interpreter.values import ClassRef
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign

ID = "sync.lacking-attribute"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each attribute of a class in a function."""
    for changed in changed_functions(change, config):
        if not changed.python:
            continue
        reported: set[tuple[str, str]] = set()
        for read, line, scope in _new_reads(changed):
            owner = _class_of(read.base, scope, change)
            if owner is None or (owner.cls.name, read.name) in reported:
                continue
            if _may_be_another(read, owner, changed, change):
                continue
            if Attributes.of_change(change).certainly_lacks(owner, read.name):
                reported.add((owner.cls.name, read.name))
                yield _finding(read, line, owner, changed)


def _new_reads(changed: ChangedFunction) -> Iterator[tuple[E.Attr, int, Scope]]:
    """The attributes that lines of the change read of objects other than `self`."""
    for guarded, expressions in statement_expressions(changed.head.body):
        if asks_for_attributes(guarded.guards, expressions):
            continue
        stmt = guarded.stmt
        target = stmt.target if isinstance(stmt, Assign) else None
        scope = Scope(changed.head, changed.unit, guarded.guards)
        for expr in expressions:
            if not isinstance(expr, E.Attr) or expr is target:
                continue
            line = expr.line or stmt.line
            if _is_new(expr, line, changed) and not _is_own(expr.base, changed):
                yield expr, line, scope


def _is_new(read: E.Attr, line: int, changed: ChangedFunction) -> bool:
    return changed.touched(line) and f".{read.name}" not in changed.base_text


def _is_own(base: E.Expr, changed: ChangedFunction) -> bool:
    """Whether `base` is the first parameter of a method."""
    params = changed.head.params
    return bool(changed.head.owner and params) and base == E.Name(params[0].name)


def _class_of(base: E.Expr, scope: Scope, change: ChangeSet) -> ClassRef | None:
    """The class of an object, where that is certain enough to say what it lacks."""
    found = Types.of_change(change).object_class(base, scope)
    if found is None or not _is_made_here(base, scope):
        return None
    lineage = Classes.of_change(change).lineage(found.ref).classes
    if any(is_protocol(ref.cls) or _is_decorated(ref) for ref in lineage):
        return None
    return found.ref


def _is_made_here(base: E.Expr, scope: Scope) -> bool:
    """Whether what is read of `self` gets its value in the same class.

    A subclass may hand another object to the constructor that it inherits.
    """
    params = scope.function.params
    match base:
        case E.Attr(base=E.Name(id=first), name=name) if params and params[0].name == first:
            owners = scope.unit.classes_named.get(scope.function.owner, [])
            stored = re.compile(
                rf"\bself\.{name}\s*(?::[^=\n]+)?=(?!=)|^    {name}\s*:", re.MULTILINE
            )
            return any(stored.search(scope.unit.text_of(owner)) for owner in owners)
        case E.Attr(base=outer):
            return _is_made_here(outer, scope)
        case _:
            return True


def _may_be_another(
    read: E.Attr, owner: ClassRef, changed: ChangedFunction, change: ChangeSet
) -> bool:
    """Whether only an annotation tells the class, and another class of the tree has the attribute.

    An annotation may be less than the truth: a router stood for the manager
    (sgl-project/sglang#10074), a linear attention for an attention.
    """
    if _is_constructed(read.base, owner, changed):
        return False
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


def _is_decorated(ref: ClassRef) -> bool:
    return any("dataclass" not in decorator for decorator in ref.cls.decorators)


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
