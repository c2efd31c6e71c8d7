"""Kinds of values that are never equal to a text, as far as the tree tells them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.domain.calls.classes import Classes, methods_of, place_of
from checks.domain.calls.types import Types
from checks.domain.calls.value_types import ObjectType, Scope
from checks.eval.interpreter.values import ClassRef, FuncRef
from checks.lang.ir import expr as E
from checks.lang.ir.stmt import Assign, guarded_statements
from checks.lang.python.annotations import parse_annotation

# Bases out of the tree that do not make an object equal to a text.
_PLAIN_BASES = frozenset(
    {"Enum", "IntEnum", "Flag", "IntFlag", "Module", "Layer", "BaseModel", "NamedTuple"}
)
_CLASSES = frozenset({"type", "Type"})
# `config.phase = Phase("prefill")`, `phase: Phase = Phase()`; no keyword of a call.
_SETTING = r"(?:\.{name}|^\s+{name}\s*:[^=]*)\s*=(?!=)\s*(?P<value>.*)"
# `phase: str`, and nothing that sets it.
_TEXT_FIELD = r"^\s+{name}\s*:[^=]*\bstr\b"
_CONSTRUCTION = re.compile(r"([A-Z]\w*)\(")


def class_of(value: E.Expr, scope: Scope, change: ChangeSet, config: Config) -> ObjectType | None:
    """The class of an object: by what is known of it, else by what the tree sets the attribute
    to."""
    found = Types.of_change(change).of(value, scope)
    if found is not None:
        return found if isinstance(found, ObjectType) else None
    if isinstance(value, E.Attr):
        key = (class_of, value.name, config.paths.tests)
        return change.memo(key, lambda: _attribute_class(value.name, change, config))
    return None


def _attribute_class(name: str, change: ChangeSet, config: Config) -> ObjectType | None:
    """The class of which every assignment to an attribute `name`, in the product, makes an
    object."""
    setting = re.compile(_SETTING.format(name=re.escape(name)))
    text_field = re.compile(_TEXT_FIELD.format(name=re.escape(name)))
    made: set[tuple[str, str]] = set()
    for line in change.head.find(name, "python"):
        if config.is_test(line.path):
            continue
        if text_field.search(line.text):
            return None
        match = setting.search(line.text)
        if match is None:
            continue
        construction = _CONSTRUCTION.match(match["value"])
        if construction is None:
            return None
        made.add((construction[1], line.path))
    classes = Classes.of_change(change)
    refs: list[ClassRef] = []
    for cls, path in sorted(made):
        unit = change.unit(path)
        ref = classes.named(cls, unit) if unit is not None else None
        if ref is None:
            return None
        refs.append(ref)
    same = len({place_of(ref) for ref in refs}) == 1
    return ObjectType(refs[0], exact=True) if same else None


def equals_no_text(kind: ObjectType, change: ChangeSet) -> bool:
    """Whether no object of the class, or of one that inherits from it, is equal to a text."""
    classes = Classes.of_change(change)
    refs = [kind.ref] if kind.exact else [kind.ref, *classes.subclasses(kind.ref)]
    return all(_keeps_equality(ref, classes) for ref in refs)


def _keeps_equality(ref: ClassRef, classes: Classes) -> bool:
    lineage = classes.lineage(ref)
    if any(name.rsplit(".", 1)[-1] not in _PLAIN_BASES for _, name in lineage.foreign):
        return False
    return not any(methods_of(owner, "__eq__") for owner in lineage.classes)


def is_class_itself(value: E.Expr, scope: Scope, change: ChangeSet) -> bool:
    """Whether a local is a class, not an object of it: its annotation, or the function that gave
    it, says so."""
    if not isinstance(value, E.Name):
        return False
    param = next((p for p in scope.function.params if p.name == value.id), None)
    assigned = list(_assigned_values(value.id, scope))
    if param is not None:
        return not assigned and _names_class(param.type)
    return bool(assigned) and all(_gives_class(made, scope, change) for made in assigned)


def _assigned_values(name: str, scope: Scope) -> Iterator[E.Expr | None]:
    for guarded in guarded_statements(scope.function.body):
        stmt = guarded.stmt
        if isinstance(stmt, Assign) and name in E.names(stmt.target):
            yield stmt.value if stmt.target == E.Name(name) and stmt.op == "=" else None


def _gives_class(value: E.Expr | None, scope: Scope, change: ChangeSet) -> bool:
    """Whether the value is a call of a function that says that it returns a class."""
    if not isinstance(value, E.Call) or not isinstance(value.func, E.Name):
        return False
    types = Types.of_change(change)
    called = types.function_or_class(value.func.id, value.line, scope)
    if not isinstance(called, FuncRef):
        return False
    return _names_class(called.function.returns)


def _names_class(annotation: str) -> bool:
    """Whether an annotation is `type[...]`, and nothing else beside it."""
    found = parse_annotation(annotation) if annotation else None
    return found is not None and found.name.rsplit(".", 1)[-1] in _CLASSES
