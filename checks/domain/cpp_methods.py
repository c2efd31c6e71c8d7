"""How many arguments the methods of C++ classes take, and of which class an object is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from checks.core.change import ChangeSet
from checks.core.finding import Side
from checks.domain.cpp_functions import Arity, arity_of, plain_name
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Class, Function, SourceFile, Struct
from checks.lang.ir.stmt import Assign, guarded_statements

# A class that stands in more C++ files than this is not looked at.
_MOST_FILES = 60
_POINTER = re.compile(r"^(?:std::)?(?:shared_ptr|unique_ptr|optional)<(.+)>$")
_MADE = re.compile(r"^(?:std::)?make_(?:shared|unique)$")


@dataclass
class CppMethods:
    """The methods of the C++ classes of one side of a change."""

    change: ChangeSet
    side: Side = Side.HEAD
    _known: dict[tuple[str, str], frozenset[Arity] | None] = field(default_factory=dict)

    @classmethod
    def of_change(cls, change: ChangeSet, side: Side = Side.HEAD) -> CppMethods:
        """The one table of this side of the change."""
        return change.memo((cls, side), lambda: cls(change, side))

    def arities(self, owner: str, name: str) -> frozenset[Arity] | None:
        """What the methods `name` take that classes named `owner` declare.

        None where one of them cannot be read, or where none declares any: it may inherit them.
        """
        key = owner, name
        if key not in self._known:
            self._known[key] = self._find(owner, name)
        return self._known[key]

    def _find(self, owner: str, name: str) -> frozenset[Arity] | None:
        found: set[Arity | None] = set()
        for cls, unit in self._definitions(owner):
            text = "\n".join(unit.lines[cls.start_line - 1 : cls.end_line])
            # What it takes over from its base goes by the same name.
            if re.search(rf"\busing\s+[\w:]+::{re.escape(name)}\b", text):
                return None
            found.update(_declared_in(cls, name, unit))
        known = frozenset(arity for arity in found if arity is not None)
        return known if known and None not in found else None

    def _definitions(self, owner: str) -> Iterator[tuple[Class | Struct, SourceFile]]:
        tree = self.change.tree(self.side)
        paths = tree.paths_containing(owner, "cpp")
        for path in paths if len(paths) <= _MOST_FILES else ():
            unit = self.change.unit(path, self.side)
            for cls in _types_of(unit) if unit is not None else ():
                if unit is not None and plain_name(cls.name) == owner:
                    yield cls, unit

    def receiver(self, call: E.Call, function: Function) -> str:
        """The class of the object whose method is called; empty where it is not known."""
        match call.func:
            case E.Attr(base=E.Name(id="this")):
                return plain_name(function.owner)
            case E.Attr(base=E.Name(id=name)):
                return _class_in(_declared_type(name, function) or self._member(name, function))
            case E.Name(id=name) if function.owner and self.arities(function.owner, name):
                return plain_name(function.owner)
            case _:
                return ""

    def _member(self, name: str, function: Function) -> str:
        """The type of a member of the class in whose method this is."""
        types: set[str] = set()
        owner = plain_name(function.owner)
        for _, unit in self._definitions(owner) if owner else ():
            for struct in unit.structs:
                if plain_name(struct.name) == owner:
                    types |= {member.type for member in struct.members if member.name == name}
        return types.pop() if len(types) == 1 else ""


def methods_in(unit: SourceFile) -> dict[tuple[str, str], frozenset[Arity | None]]:
    """What the methods take that the classes of a file declare, by class and name."""
    found: dict[tuple[str, str], frozenset[Arity | None]] = {}
    for cls in _types_of(unit):
        names = {plain_name(one.name) for one in unit.declarations if _stands_in(one.line, cls)}
        names |= {f.name for f in unit.functions if f.owner and _stands_in(f.start_line, cls)}
        for name in names:
            found[plain_name(cls.name), name] = frozenset(_declared_in(cls, name, unit))
    return found


def _types_of(unit: SourceFile) -> list[Class | Struct]:
    """The classes and structs that a file defines; one with methods and members comes twice."""
    return [*unit.classes, *unit.structs]


def _declared_in(cls: Class | Struct, name: str, unit: SourceFile) -> Iterator[Arity | None]:
    for one in unit.declarations:
        if plain_name(one.name) == name and _stands_in(one.line, cls):
            yield arity_of(one)
    for function in unit.named(name):
        if _stands_in(function.start_line, cls):
            yield arity_of(function)


def _stands_in(line: int, cls: Class | Struct) -> bool:
    return cls.start_line <= line <= cls.end_line


def _declared_type(name: str, function: Function) -> str:
    """The type that a parameter or a local is declared with."""
    for param in function.params:
        if param.name == name:
            return param.type
    for guarded in guarded_statements(function.body):
        match guarded.stmt:
            case Assign(target=E.Name(id=target), declares=str() as kind, value=value) if (
                target == name
            ):
                return _made_type(value) if kind.startswith("auto") else kind
            case _:
                pass
    return ""


def _made_type(value: E.Expr | None) -> str:
    """`Rows` for `std::make_unique<Rows>(2)`."""
    match value:
        case E.Call(func=E.Name(id=name), template=template) if _MADE.match(name):
            return template
        case _:
            return ""


def _class_in(kind: str) -> str:
    """`Rows` for `const std::shared_ptr<x::Rows>&` and `Rows*`; empty for another template."""
    bare = re.sub(r"\bconst\b|[&*]", "", kind).strip()
    pointer = _POINTER.match(bare)
    bare = pointer[1].strip() if pointer else bare
    return plain_name(bare) if re.fullmatch(r"[\w:]+", bare) else ""
