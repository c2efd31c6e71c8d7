"""The class of an object, where that is certain enough to say what it lacks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.domain.calls.attributes import asks_for_attributes
from checks.domain.calls.classes import Classes, is_protocol
from checks.domain.calls.types import Types
from checks.domain.calls.value_types import Scope
from checks.domain.ops import statement_expressions
from checks.eval.interpreter.values import ClassRef
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign


def reads_of_others(function: Function, unit: SourceFile) -> Iterator[tuple[E.Attr, int, Scope]]:
    """The attributes that a function reads of objects other than its own, with line and scope,
    without asking whether they are there."""
    for guarded, expressions in statement_expressions(function.body):
        if asks_for_attributes(guarded.guards, expressions):
            continue
        stmt = guarded.stmt
        target = stmt.target if isinstance(stmt, Assign) else None
        scope = Scope(function, unit, guarded.guards)
        for expr in expressions:
            if isinstance(expr, E.Attr) and expr is not target and not _is_own(expr.base, function):
                yield expr, expr.line or stmt.line, scope


def _is_own(base: E.Expr, function: Function) -> bool:
    """Whether `base` is the first parameter of a method."""
    is_method = bool(function.owner and function.params)
    return is_method and base == E.Name(function.params[0].name)


def class_of_object(base: E.Expr, scope: Scope, change: ChangeSet) -> ClassRef | None:
    """The class of the object `base` of the head; None where it is not known for certain, or where
    a decorator may give it attributes."""
    found = Types.of_change(change).object_class(base, scope)
    if found is None or not _is_made_here(base, scope):
        return None
    return found.ref if _is_plain(found.ref, change) else None


def named_class(base: E.Expr, scope: Scope, change: ChangeSet) -> ClassRef | None:
    """The class that `base` names: `Kind` in `Kind.EMPTY`."""
    if not isinstance(base, E.Name):
        return None
    found = Types.of_change(change).function_or_class(base.id, base.line, scope)
    return found if isinstance(found, ClassRef) and _is_plain(found, change) else None


def _is_plain(ref: ClassRef, change: ChangeSet) -> bool:
    lineage = Classes.of_change(change).lineage(ref).classes
    return not any(is_protocol(owner.cls) or _is_decorated(owner) for owner in lineage)


def _is_decorated(ref: ClassRef) -> bool:
    return any("dataclass" not in decorator for decorator in ref.cls.decorators)


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
