"""The classes of one side of a change: what they inherit, what inherits them, what they define."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from checks.core.change import ChangeSet
from checks.core.finding import Side
from checks.core.words import as_bytes
from checks.eval.interpreter.modules import Modules
from checks.eval.interpreter.program import PatchedModules
from checks.eval.interpreter.values import ClassRef, FuncRef, ModuleRef, Value
from checks.lang.ir.source_file import Class, Function, Import, SourceFile

# Bases that give their classes nothing which matters here.
_EMPTY_BASES = frozenset({"object", "ABC", "Generic", "Protocol"})
# How far down a family is followed.
_MOST_SUBCLASSES = 200

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Lineage:
    """A class and what it inherits, nearest first.

    `foreign` are the names of bases that are not in the tree, with the number of classes of the
    tree that come before each.
    """

    classes: tuple[ClassRef, ...]
    foreign: tuple[tuple[int, str], ...]

    @property
    def is_whole(self) -> bool:
        """Whether every base is in the tree."""
        return not self.foreign

    def before_foreign(self) -> tuple[ClassRef, ...]:
        """The classes that are looked at before any base out of the tree."""
        return self.classes[: self.foreign[0][0]] if self.foreign else self.classes


@dataclass
class Classes:
    """The classes of one side of a change."""

    change: ChangeSet
    side: Side = Side.HEAD
    _lineages: dict[Place, Lineage] = field(default_factory=dict)
    _subclasses: dict[Place, tuple[ClassRef, ...]] = field(default_factory=dict)
    _visiting: set[Place] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.program = PatchedModules(Modules(self.unit))

    @classmethod
    def of_change(cls, change: ChangeSet, side: Side = Side.HEAD) -> Classes:
        """The one table of this side of the change."""
        return change.memo((cls, side), lambda: cls(change, side))

    def unit(self, path: str) -> SourceFile | None:
        """The parsed file at `path` on this side."""
        return self.change.unit(path, self.side)

    def named(self, name: str, unit: SourceFile) -> ClassRef | None:
        """The class that `name`, which may be dotted, means at the top level of `unit`."""
        value = self.value(name, unit)
        return value.value if value is not None and isinstance(value.value, ClassRef) else None

    def base(self, name: str, child: ClassRef) -> ClassRef | None:
        """The class that `name`, which may be dotted, means where `child` inherits from it."""
        value = self.value(name, child.unit, child.cls.start_line)
        return value.value if value is not None and isinstance(value.value, ClassRef) else None

    def value(self, name: str, unit: SourceFile, line: int = 0) -> Value | None:
        """The function, class or module that `name` means at the top level of `unit`: when it has
        run, or at `line` while it runs.

        None where nothing or several things go by the name.
        """
        head, _, rest = name.partition(".")
        if not rest or unit.classes_named.get(name):
            return self._plain_value(name, unit, line)
        value = self._plain_value(head, unit, line)
        for part in rest.split("."):
            module = value.value if value is not None else None
            if not isinstance(module, ModuleRef) or module.unit is None:
                return None
            value = self.program.member(module, part)
        return value

    def _plain_value(self, name: str, unit: SourceFile, line: int = 0) -> Value | None:
        """What the name means when the file has run, or at `line` while it runs."""
        imports = [item for item in imports_of(unit, name) if not item.function]
        defined = self.program.defined(unit, name)
        if imports and defined is not None:
            # `class Layer(Layer)`: what was imported until then, and the file's own afterwards.
            start = _definition_line(defined)
            if any(item.guard or item.line >= start for item in imports):
                return None
            defined = None if line and line <= start else defined
        if defined is not None:
            return defined if defined.known else None
        if len({(item.module, item.name) for item in imports}) != 1:
            return None
        # Where the import fails, the name may be something else.
        if unit.constants_named.get(("", name)):
            return None
        value = self.program.imported(imports[0], unit)
        return value if value.known else None

    def lineage(self, ref: ClassRef) -> Lineage:
        """The class and what it inherits."""
        place = place_of(ref)
        if place not in self._lineages:
            if place in self._visiting:
                return Lineage((ref,), ())
            self._visiting.add(place)
            self._lineages[place] = self._find_lineage(ref)
            self._visiting.discard(place)
        return self._lineages[place]

    def _find_lineage(self, ref: ClassRef) -> Lineage:
        classes: list[ClassRef] = [ref]
        foreign: list[tuple[int, str]] = []
        for base in ref.cls.bases:
            name = base_name(base)
            if name.rsplit(".", 1)[-1] in _EMPTY_BASES:
                continue
            parent = self.base(name, ref)
            if parent is None or place_of(parent) == place_of(ref):
                foreign.append((len(classes), name))
                continue
            above = self.lineage(parent)
            foreign += [(len(classes) + count, other) for count, other in above.foreign]
            classes += above.classes
        return _each_once(classes, foreign)

    def subclasses(self, ref: ClassRef) -> tuple[ClassRef, ...]:
        """Every class of the tree that inherits from this one, however far down."""
        place = place_of(ref)
        if place not in self._subclasses:
            found: dict[Place, ClassRef] = {}
            waiting = [ref]
            while waiting and len(found) < _MOST_SUBCLASSES:
                for child in self._children(waiting.pop()):
                    if place_of(child) not in found:
                        found[place_of(child)] = child
                        waiting.append(child)
            self._subclasses[place] = tuple(found.values())
        return self._subclasses[place]

    def _children(self, ref: ClassRef) -> list[ClassRef]:
        children: list[ClassRef] = []
        name = ref.cls.name.rsplit(".", 1)[-1]
        header = re.compile(as_bytes(rf"class\s+\w+\s*\([^)]*\b{re.escape(name)}\b"))
        for path in self.change.tree(self.side).paths_containing(name, "python"):
            data = self.change.tree(self.side).read(path) or b""
            unit = self.unit(path) if header.search(data) else None
            if unit is None:
                continue
            for cls in unit.classes:
                child = ClassRef(cls, unit)
                parents = [self.base(base_name(base), child) for base in cls.bases]
                if any(parent and place_of(parent) == place_of(ref) for parent in parents):
                    children.append(child)
        return children

    def method(self, ref: ClassRef, name: str) -> tuple[Function, ClassRef] | None:
        """The method `name` of the class or of the nearest class it inherits.

        None where there is none, where several go by the name, or where a base out of the tree
        would be asked first for what every class has (`__init__`).
        """
        lineage = self.lineage(ref)
        is_special = name.startswith("__")
        for owner in lineage.before_foreign() if is_special else lineage.classes:
            found = methods_of(owner, name)
            if len(found) > 1 or (owner.cls.name, name) in owner.unit.constants_named:
                return None
            if found:
                return found[0], owner
        return None


def _definition_line(defined: Value) -> int:
    """Where a function or class is defined; 0 for what a patch put there."""
    match defined.value:
        case ClassRef(cls=cls):
            return cls.start_line
        case FuncRef(function=function):
            return function.start_line
        case _:
            return 0


def _each_once(classes: list[ClassRef], foreign: list[tuple[int, str]]) -> Lineage:
    """A class that is inherited twice comes where it is named last, as Python orders them."""
    last = {place_of(ref): number for number, ref in enumerate(classes)}
    kept = [number for number, ref in enumerate(classes) if last[place_of(ref)] == number]
    order = tuple([classes[number] for number in kept])
    moved = [(sum(number < count for number in kept), name) for count, name in foreign]
    return Lineage(order, tuple(dict.fromkeys(moved)))


def place_of(ref: ClassRef) -> Place:
    """What tells one class from another."""
    return ref.unit.path, ref.cls.start_line


def is_protocol(cls: Class) -> bool:
    """Whether the class only says what others look like (PEP 544)."""
    return any(base_name(base).rsplit(".", 1)[-1] == "Protocol" for base in cls.bases)


def base_name(base: str) -> str:
    """The class that a base names: `Impl` for `Impl[T]`."""
    return base.partition("[")[0].strip()


def methods_of(ref: ClassRef, name: str) -> list[Function]:
    """The methods of this name that the class itself defines."""
    found = ref.unit.functions_named.get(f"{ref.cls.name}.{name}", [])
    # A property and its setter are one.
    return [function for function in found if not _is_overload_or_setter(function)]


def _is_overload_or_setter(function: Function) -> bool:
    return any(mark.endswith((".setter", ".deleter", "overload")) for mark in function.marks)


def imports_of(unit: SourceFile, name: str) -> list[Import]:
    """The imports that bind `name` to what is called so, not to the package that holds it."""
    items = unit.imports_named.get(name, [])
    return [item for item in items if item.alias or item.name or item.module == name]
