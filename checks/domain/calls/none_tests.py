"""Conditions that want an attribute of `self` to be None, or to be true, where it never is."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.domain.calls.classes import Classes, place_of
from checks.domain.conditions import split_condition
from checks.domain.ops import statement_expressions
from checks.eval.interpreter.values import ClassRef
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, Param
from checks.lang.ir.stmt import Assign, guarded_statements

_CLASS = re.compile(r"(?:\w+\.)*(?!Any\b|Optional\b|List\b|Dict\b|Tuple\b|Set\b)[A-Z]\w*")
_ARITHMETIC = frozenset({"+", "-", "*", "/", "//", "%", "**"})


def holds_never(guards: tuple[E.Expr, ...], ref: ClassRef, change: ChangeSet) -> bool:
    """Whether one of the conditions wants an attribute of the object to be None that no code of its
    family can leave so, or to be true that all code sets to False.

    sgl-project/sglang@efbc687c2 copied a method with a branch for `self.q_lora_rank is None`; the
    class sets it to the size of a layer. ModelTC/lightllm@df9f8d4ca copied a model with the branch
    of its training, and `self.gradient_checkpointing = False`.
    """
    for guard in guards:
        for part, holds in split_condition(guard, holds=True):
            name = _wanted_none(part, holds=holds)
            if name and _is_never_none(name, ref, change):
                return True
            name = _wanted_true(part, holds=holds)
            if name and _is_never_true(name, ref, change):
                return True
    return False


def is_spare(name: str, function: Function) -> bool:
    """Whether the method reads `self.name` only where a parameter is not given that always is:
    `wrapper or self.wrapper`, and every call passes a `Wrapper`."""
    if not function.params:
        return False
    given = {param.name for param in function.params if _is_object(param)}
    read = E.Attr(E.Name(function.params[0].name), name)
    reads = spare = 0
    for _, expressions in statement_expressions(function.body):
        for expr in expressions:
            reads += expr == read
            match expr:
                case E.Binary(op="or", left=E.Name(id=left), right=right) if left in given:
                    spare += right == read
    return reads == spare > 0


def _is_object(param: Param) -> bool:
    """Whether every call has to pass the parameter, by its annotation an object of a class."""
    is_class = _CLASS.fullmatch(param.type.strip("\"'")) is not None
    return param.default is None and param.kind == "positional" and is_class


def _wanted_none(test: E.Expr, *, holds: bool) -> str:
    """`a` where `self.a` has to be None for the test to come out so."""
    match test:
        case E.Binary(
            op="is" | "is-not" as op,
            left=E.Attr(base=E.Name(id="self"), name=name),
            right=E.Const(value=None),
        ):
            return name if (op == "is") is holds else ""
        case _:
            return ""


def _wanted_true(test: E.Expr, *, holds: bool) -> str:
    """`a` where `self.a` has to be true for the test to come out so."""
    match test:
        case E.Attr(base=E.Name(id="self"), name=name) if holds:
            return name
        case _:
            return ""


def _is_never_none(name: str, ref: ClassRef, change: ChangeSet) -> bool:
    """Whether the object's classes set the attribute, each time to something."""
    values = list(_values_set(name, ref, change))
    if not values or not all(_is_something(value, change) for value in values):
        return False
    emptied = re.compile(rf"\.{re.escape(name)}\s*(?::[^=\n]*)?=\s*None\b")
    return not any(emptied.search(line.text) for line in change.head.find(name, "python"))


def _is_never_true(name: str, ref: ClassRef, change: ChangeSet) -> bool:
    """Whether the object's classes set the attribute, each time to False or None, and no line of
    the tree sets it of another object to more, or has it in quotes."""
    values = list(_values_set(name, ref, change))
    if not values or not all(_is_false(value) for value in values):
        return False
    word = re.escape(name)
    given = re.compile(
        rf"(?<!\bself)\.{word}\s*(?::[^=\n]+)?[|&+]?=(?!=)(?!\s*(?:False|None)\b)"
        rf"|[\"']{word}[\"']"
    )
    return not any(given.search(line.text) for line in change.head.find(name, "python"))


def _is_false(value: E.Expr | None) -> bool:
    return isinstance(value, E.Const) and (value.value is False or value.value is None)


def _values_set(name: str, ref: ClassRef, change: ChangeSet) -> Iterator[E.Expr | None]:
    """What `self.name` is set to in the class, in those it inherits and in those that inherit."""
    classes = Classes.of_change(change)
    family = {}
    for member in (ref, *classes.subclasses(ref)):
        for owner in classes.lineage(member).classes:
            family[place_of(owner)] = owner
    target = E.Attr(E.Name("self"), name)
    for owner in family.values():
        if (owner.cls.name, name) in owner.unit.constants_named:
            yield None
        for function in owner.unit.functions:
            if function.owner != owner.cls.name:
                continue
            for guarded in guarded_statements(function.body):
                stmt = guarded.stmt
                if isinstance(stmt, Assign) and target in E.walk(stmt.target):
                    yield stmt.value if stmt.target == target else None


def _is_something(value: E.Expr | None, change: ChangeSet) -> bool:
    """Whether a value is certainly not None."""
    match value:
        case E.Const(value=content):
            return content is not None
        case E.Sequence() | E.Mapping() | E.Comprehension():
            return True
        case E.Binary(op=op):
            return op in _ARITHMETIC
        case E.Attr(name=name):
            return _is_set_to_something(name, change)
        case _:
            return False


def _is_set_to_something(name: str, change: ChangeSet) -> bool:
    """Whether objects of the tree have an attribute of this name, and no line lets it be None."""
    word = re.escape(name)
    emptied = re.compile(rf"\b{word}\s*(?::[^=\n]*\b(?:None|Optional)\b|(?::[^=\n]*)?=\s*None\b)")
    stored = re.compile(rf"\bself\.{word}\s*(?::[^=\n]+)?=(?!=)")
    lines = [line.text for line in change.head.find(name, "python")]
    if any(emptied.search(line) for line in lines):
        return False
    return any(stored.search(line) for line in lines)
