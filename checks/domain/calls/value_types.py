"""What is known of a value: the class of an object, or the elements of a container."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from checks.domain.calls.classes import place_of
from checks.eval.interpreter.values import ClassRef
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.python.annotations import Annotation


@dataclass(frozen=True, slots=True)
class ObjectType:
    """An object of the class `ref`; `exact` where it is of no subclass."""

    ref: ClassRef
    exact: bool = False


@dataclass(frozen=True, slots=True)
class ElementsType:
    """A container whose elements have the annotation `element`, written in `unit`."""

    element: Annotation
    unit: SourceFile


ValueType = ObjectType | ElementsType


@dataclass(frozen=True, slots=True)
class Scope:
    """Where an expression stands: its function, its file, and the conditions around it."""

    function: Function
    unit: SourceFile
    guards: tuple[E.Expr, ...] = ()


def common_type(found: Sequence[ValueType | None]) -> ValueType | None:
    """The one type of all of them; None where they differ or one is not known."""
    if not found or any(item is None for item in found):
        return None
    first = found[0]
    if isinstance(first, ElementsType):
        return first if all(item == first for item in found) else None
    refs = {place_of(item.ref) for item in found if isinstance(item, ObjectType)}
    same = len(refs) == 1 and all(isinstance(item, ObjectType) for item in found)
    return first if same else None
