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
    """A container whose elements are `element`, or have that annotation, written in `unit`.

    Those of a mapping (`keyed`) are its values, over which no loop goes.
    """

    element: Annotation | ObjectType
    unit: SourceFile
    keyed: bool = False


ValueType = ObjectType | ElementsType


@dataclass(frozen=True, slots=True)
class Scope:
    """Where an expression stands: its function, its file, and the conditions around it."""

    function: Function
    unit: SourceFile
    guards: tuple[E.Expr, ...] = ()


def common_type(found: Sequence[ValueType | None]) -> ValueType | None:
    """The one type of all of them; None where they differ or one is not known."""
    known = [item for item in found if item is not None]
    if not known or len(known) < len(found):
        return None
    first = _identity(known[0])
    return known[0] if all(_identity(item) == first for item in known) else None


def _identity(found: ValueType) -> object:
    """What is equal for two that are one type: a class is known by where it stands."""
    if isinstance(found, ObjectType):
        return place_of(found.ref)
    if isinstance(found.element, ObjectType):
        return place_of(found.element.ref), found.keyed
    return found
