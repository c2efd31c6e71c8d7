"""Which attributes objects of a class have: what it, what it inherits and what inherits it set."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from checks.core.change import ChangeSet
from checks.core.config import PathsConfig, matches
from checks.core.finding import Side
from checks.core.tree import Tree
from checks.domain.calls.classes import Classes, Place, methods_of, place_of
from checks.domain.calls.decorators import keeps_constructor
from checks.domain.calls.foreign_bases import MADE_WITHOUT_INIT, inherited_attributes
from checks.domain.calls.records import is_dataclass
from checks.domain.calls.syntax_names import OBJECTS, binds
from checks.domain.ops import statement_expressions
from checks.eval.interpreter.values import ClassRef
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function
from checks.lang.ir.stmt import Assign

# Ways of giving an object attributes whose names are not written down. Who only looks into the
# `__dict__` of another object gives it none (the scheduler of sgl-project/sglang does, and called
# a method under its old name until #7403).
_OWN = rf"(?:{'|'.join(sorted(OBJECTS))})"
_DYNAMIC = re.compile(
    rf"setattr\(\s*{_OWN}\s*,\s*(?![\"'])|\b{_OWN}\.__dict__|\bvars\(\s*{_OWN}?\s*\)"
    r"|__dict__(?:\.update\b|\.setdefault\b|\[[^\]]*\])?\s*(?:=(?!=)|\|=|\()"
    rf"|__getattr|__slots__|\b{_OWN}\.update_from|locals\(\)"
    # A data model that keeps whatever it is given.
    r"|\bextra[\"']?\s*[=:]\s*(?:[\"']allow\b|Extra\.allow\b)"
)
# Who asks whether an object has an attribute gives it none.
_ASKED = re.compile(r"\b(?:has|get|del)attr\([^()]*\)")
# What every object has, or every class: the first parameter of `__init_subclass__` is one.
_OF_OBJECTS = frozenset(dir(object)) | frozenset(dir(type))
_TESTS = PathsConfig().tests
_STORED = r"(?:\s*:[^=\n]+)?\s*=(?!=)|\s*,[^=\n()]*[^=!<>\n]=(?!=)|\s*(?:\+|-|\*|/|\||&)="


@dataclass(frozen=True, slots=True)
class AttributeRead:
    """A read of `self.name` on `line` of a method, and the conditions around it."""

    name: str
    line: int
    function: Function
    guards: tuple[E.Expr, ...] = ()


@dataclass
class Attributes:
    """The attributes that the classes of one side of a change have."""

    classes: Classes
    _families: dict[Place, tuple[ClassRef, ...] | None] = field(default_factory=dict)
    _set_outside: dict[str, bool] = field(default_factory=dict)

    @classmethod
    def of_change(cls, change: ChangeSet, side: Side = Side.HEAD) -> Attributes:
        """The one table of this side of the change."""
        return change.memo((cls, side), lambda: cls(Classes.of_change(change, side)))

    def certainly_lacks(self, ref: ClassRef, name: str, *, was_set: bool = False) -> bool:
        """Whether no object of the class or of a subclass can have the attribute `name`.

        False where a class of the family is not in the tree, or makes attributes by other names.
        With `was_set`, the class gave it a value itself before the change: no decorator did, and
        who set it on other objects then did so on those of other classes.
        """
        if name in _OF_OBJECTS:
            return False
        family = self._family(ref)
        if family is None:
            return False
        if any(name in (inherited_attributes(base) or ()) for base in self._foreign(family)):
            return False
        if any(sets(member, name) for member in family):
            return False
        if was_set:
            return not self._is_set_outside_anew(name)
        # A decorator may make another class of it, or add one to its bases.
        is_decorated = not all(keeps_constructor(member.cls) for member in family)
        if is_decorated and self._is_set_anywhere(name):
            return False
        return not self.is_set_outside(name)

    def is_made_as_written(self, ref: ClassRef) -> bool:
        """Whether objects of the class have just the attributes that it and its bases name."""
        lineage = self.classes.lineage(ref)
        if any(inherited_attributes(base) is None for _, base in lineage.foreign):
            return False
        return not any(_DYNAMIC.search(owner.unit.text_of(owner.cls)) for owner in lineage.classes)

    def _family(self, ref: ClassRef) -> tuple[ClassRef, ...] | None:
        """The classes of which an object of `ref` may be; None where not all are known."""
        place = place_of(ref)
        if place not in self._families:
            self._families[place] = self._find_family(ref)
        return self._families[place]

    def _find_family(self, ref: ClassRef) -> tuple[ClassRef, ...] | None:
        family = self._members_in_tree(ref)
        if any(inherited_attributes(base) is None for base in self._foreign(family)):
            return None
        if any(_DYNAMIC.search(owner.unit.text_of(owner.cls)) for owner in family):
            return None
        # A class whose objects nobody makes, but tests, lends its methods to others.
        made = [owner for owner in family if not matches(owner.unit.path, _TESTS)]
        is_made = any(self._has_constructor(owner) or self._is_called(owner) for owner in made)
        return family if is_made else None

    def _members_in_tree(self, ref: ClassRef) -> tuple[ClassRef, ...]:
        """The class, those that inherit from it, and what all of them inherit, as far as it is in
        the tree."""
        family: dict[Place, ClassRef] = {}
        for member in (ref, *self.classes.subclasses(ref)):
            for owner in self.classes.lineage(member).classes:
                family[place_of(owner)] = owner
        return tuple(family.values())

    def lacks_renamed(self, ref: ClassRef, name: str) -> bool:
        """Whether objects of the class have no `name` that the change gave another name.

        A base of which nothing is known did not give it: the class declared it itself.
        """
        family = self._members_in_tree(ref)
        if any(_DYNAMIC.search(owner.unit.text_of(owner.cls)) for owner in family):
            return False
        return not any(sets(owner, name) for owner in family) and not self._is_set_outside_anew(
            name
        )

    def _has_constructor(self, ref: ClassRef) -> bool:
        """Whether objects of the class can be made: by its own `__init__`, or by what it is."""
        bases = {name.rsplit(".", 1)[-1] for _, name in self.classes.lineage(ref).foreign}
        made_otherwise = is_dataclass(ref.cls) or not bases.isdisjoint(MADE_WITHOUT_INIT)
        return made_otherwise or bool(methods_of(ref, "__init__"))

    def _is_called(self, ref: ClassRef) -> bool:
        """Whether code of the product makes objects of the class by its name."""
        name = ref.cls.name.rsplit(".", 1)[-1]
        made = re.compile(rf"(?<!class )\b{re.escape(name)}\s*\(")
        lines = self.classes.change.tree(self.classes.side).find(name, "python")
        return any(made.search(line.text) and not matches(line.path, _TESTS) for line in lines)

    def _foreign(self, family: tuple[ClassRef, ...]) -> set[str]:
        return {name for ref in family for _, name in self.classes.lineage(ref).foreign}

    def is_set_outside(self, name: str) -> bool:
        """Whether any code gives an object that is not `self` this attribute, or names it in quotes
        where attributes are made."""
        if name not in self._set_outside:
            self._set_outside[name] = self._find_outside(name)
        return self._set_outside[name]

    def _is_set_outside_anew(self, name: str) -> bool:
        """Whether more code does so than before the change."""
        change = self.classes.change
        now, before = (
            self._lines_outside(name, change.tree(side)) for side in (Side.HEAD, Side.BASE)
        )
        return bool(set(now) - set(before))

    def _is_set_anywhere(self, name: str) -> bool:
        stored = re.compile(rf"\.{name}(?:{_STORED})")
        lines = self.classes.change.tree(self.classes.side).find(name, "python")
        return any(stored.search(line.text) for line in lines)

    def _find_outside(self, name: str) -> bool:
        return bool(self._lines_outside(name, self.classes.change.tree(self.classes.side)))

    def _lines_outside(self, name: str, tree: Tree) -> list[str]:
        # The name as an argument in quotes: `layer.register_parameter("name", ...)`.
        stored = re.compile(rf"(?<!\bself)\.{name}(?:{_STORED})|[\"']{name}[\"']\s*[,)]")
        found = [_ASKED.sub("", line.text).strip() for line in tree.find(name, "python")]
        return [text for text in found if stored.search(text)]


def sets(ref: ClassRef, name: str) -> bool:
    """Whether a class sets, declares or defines `name`."""
    return binds(ref.unit.text_of(ref.cls), name)


def own_reads(function: Function) -> Iterator[AttributeRead]:
    """The attributes of its own object that a method reads without asking whether they are there.

    Also those of a method that it calls: a call reads it.
    """
    if not function.owner or not function.params or "staticmethod" in function.marks:
        return
    first = function.params[0]
    # `def add_args(parser: Parser)` in a class is called on the class, and gets no object of it.
    if first.type.strip("\"'") not in ("", "Self", function.owner):
        return
    me = E.Name(first.name)
    for guarded, expressions in statement_expressions(function.body):
        target = guarded.stmt.target if isinstance(guarded.stmt, Assign) else None
        if asks_for_attributes(guarded.guards, expressions):
            continue
        for expr in expressions:
            match expr:
                case E.Attr(base=base, name=name) if base == me and expr is not target:
                    yield AttributeRead(
                        name, expr.line or guarded.stmt.line, function, guarded.guards
                    )
                case _:
                    pass


def asks_for_attributes(guards: tuple[E.Expr, ...], expressions: list[E.Expr]) -> bool:
    """Whether a statement, or a condition around it, asks which attributes an object has."""
    asked = list(expressions)
    for guard in guards:
        asked += E.walk(guard)
    names = ("hasattr", "getattr")
    return any(isinstance(part, E.Call) and E.callee(part) in names for part in asked)
