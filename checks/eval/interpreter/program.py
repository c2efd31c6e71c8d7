"""The modules of a tree, by dotted name, as the interpreter imports them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from checks.eval.interpreter.setups import SetupSnapshot
from checks.eval.interpreter.values import (
    UNKNOWN_VALUE,
    ClassRef,
    FuncRef,
    ModuleRef,
    Native,
    Value,
)
from checks.lang.ir.source_file import Function, Import, SourceFile

_SUSPENSION = re.compile(r"\b(?:yield|await)\b")
# Ways of setting an attribute whose name is not written down.
_DYNAMIC_ATTRIBUTES = re.compile(r"setattr\(|__dict__|__getattr|\bvars\(")
_TRANSPARENT_DECORATOR = re.compile(
    r"^(staticmethod|classmethod|(abc\.)?abstractmethod|override)$"
    r"|inference_mode|no_grad|nvtx|annotate"
)
PROPERTY_DECORATORS = frozenset({"property", "cached_property", "functools.cached_property"})
# Where a tree may keep its packages.
_SOURCE_FOLDERS = ("", "python/", "src/")

# A file and the start line of something in it.
Position = tuple[str, int]
# A file and a name in it (`Class.attribute` for an attribute).
NameKey = tuple[str, str]


@dataclass
class Modules:
    """The files of one tree; `unit` gives the parsed file at a path, or None.

    What the files say is looked up once for all the tests that are run over them. `set_ups` holds
    what the set-ups of test classes left behind, by the place of the class.
    """

    unit: Callable[[str], SourceFile | None]
    set_ups: dict[Position, SetupSnapshot] = field(default_factory=dict)
    _modules: dict[str, ModuleRef] = field(default_factory=dict)
    _definitions: dict[NameKey, Value | None] = field(default_factory=dict)
    _top_functions: dict[str, Function] = field(default_factory=dict)
    _inner_classes: dict[Position, dict[str, Value]] = field(default_factory=dict)
    _followable: dict[Position, bool] = field(default_factory=dict)
    _dynamic: dict[Position, bool] = field(default_factory=dict)

    def named(self, name: str) -> ModuleRef:
        """The module with this dotted name; foreign when the tree has no such file."""
        if name not in self._modules:
            self._modules[name] = self._find_module(name)
        return self._modules[name]

    def _find_module(self, name: str) -> ModuleRef:
        path = name.replace(".", "/")
        for folder in _SOURCE_FOLDERS:
            for file in (f"{folder}{path}.py", f"{folder}{path}/__init__.py"):
                unit = self.unit(file)
                if unit is not None:
                    return ModuleRef(name, unit)
        return ModuleRef(name)

    def defined(self, unit: SourceFile, name: str) -> Value | None:
        """A function or class that `unit` defines at its top level.

        Unknown where several things go by the name, None where none does.
        """
        key = (unit.path, name)
        if key not in self._definitions:
            self._definitions[key] = _find_definition(unit, name)
        return self._definitions[key]

    def top(self, unit: SourceFile) -> Function:
        """What stands for the function in which the statements of a file run."""
        if unit.path not in self._top_functions:
            self._top_functions[unit.path] = Function(
                "<module>", "<module>", unit.path, (), 0, 0, lambda: ()
            )
        return self._top_functions[unit.path]

    def inner_classes(self, ref: ClassRef) -> dict[str, Value]:
        """The classes defined inside a class, by their short names."""
        key = (ref.unit.path, ref.cls.start_line)
        if key not in self._inner_classes:
            self._inner_classes[key] = _find_inner_classes(ref)
        return self._inner_classes[key]

    def can_follow(self, ref: FuncRef) -> bool:
        """Whether a call runs just what is written.

        It must give no generator or coroutine, and have no unknown decorator.
        """
        key = (ref.unit.path, ref.function.start_line)
        if key not in self._followable:
            self._followable[key] = _runs_as_written(ref.function, ref.unit)
        return self._followable[key]

    def dynamic(self, chain: list[ClassRef]) -> bool:
        """Whether one of these classes gives its objects attributes that no assignment names."""
        return any(self._is_dynamic(ref) for ref in chain)

    def _is_dynamic(self, ref: ClassRef) -> bool:
        key = (ref.unit.path, ref.cls.start_line)
        if key not in self._dynamic:
            text = ref.unit.text(ref.cls.start_line, ref.cls.end_line)
            self._dynamic[key] = _DYNAMIC_ATTRIBUTES.search(text) is not None
        return self._dynamic[key]


def _find_definition(unit: SourceFile, name: str) -> Value | None:
    functions = unit.functions_named.get(name, ())
    if len(functions) == 1:
        if unit.constants_named.get(("", name)):
            return UNKNOWN_VALUE
        return Value(FuncRef(functions[0], unit))
    classes = unit.classes_named.get(name, ())
    if len(classes) == 1:
        return Value(ClassRef(classes[0], unit))
    return UNKNOWN_VALUE if functions or classes else None


def _find_inner_classes(ref: ClassRef) -> dict[str, Value]:
    prefix = f"{ref.cls.name}."
    inner: dict[str, Value] = {}
    for cls in ref.unit.classes:
        short_name = cls.name.removeprefix(prefix)
        if cls.name.startswith(prefix) and "." not in short_name:
            inner[short_name] = Value(ClassRef(cls, ref.unit))
    return inner


def is_fixture(function: Function) -> bool:
    """Whether pytest calls this function to make an argument of tests."""
    return any("fixture" in mark for mark in function.marks)


def _runs_as_written(function: Function, unit: SourceFile) -> bool:
    if not is_fixture(function) and any(map(_is_opaque_decorator, function.marks)):
        return False
    if _suspends(unit.text(function.start_line, function.end_line)):
        return False
    return function.clean


def _is_opaque_decorator(mark: str) -> bool:
    """Whether a decorator puts something unknown in the place of the function."""
    return mark not in PROPERTY_DECORATORS and not _TRANSPARENT_DECORATOR.search(mark)


def _suspends(text: str) -> bool:
    """Whether `yield` or `await` stands on a line, before any comment."""
    return any(_SUSPENSION.search(line.partition("#")[0]) for line in text.split("\n"))


@dataclass
class Program:
    """`modules` as one test sees them.

    `overrides` are names that its patches replaced, by file and name; write them with `replace`.
    """

    modules: Modules
    overrides: dict[NameKey, Value] = field(default_factory=dict)
    # The imports that are being followed: two modules may import a name from each other.
    _following: set[NameKey] = field(default_factory=set)
    _bases: dict[Position, list[ClassRef] | None] = field(default_factory=dict)
    _ancestors: dict[Position, list[ClassRef]] = field(default_factory=dict)

    def replace(self, key: NameKey, value: Value | None) -> None:
        """Put `value` under the name `key`; None takes the patch away."""
        self._bases.clear()
        self._ancestors.clear()
        if value is None:
            self.overrides.pop(key, None)
        else:
            self.overrides[key] = value

    def module(self, name: str) -> ModuleRef:
        """The module with this dotted name; foreign when the tree has no such file."""
        return self.modules.named(name)

    def imported(self, item: Import, unit: SourceFile) -> Value:
        """What an import in `unit` binds."""
        name = absolute(item.module, unit.path)
        if item.name:
            return self.member(self.module(name), item.name)
        # `import a.b` binds `a`, `import a.b as c` binds the module itself.
        package = name.split(".")[0]
        if item.alias and item.alias != package:
            return Value(self.module(name))
        return Value(self.module(package))

    def member(self, module: ModuleRef, name: str) -> Value:
        """`module.name`; unknown where the module is ours but does not say."""
        if module.unit is not None:
            definition = self._member_of_file(module.unit, name)
            if definition is not None:
                return definition
        submodule = self.module(f"{module.name}.{name}")
        if submodule.unit is not None:
            return Value(submodule)
        if module.unit is None:
            return Value(Native(f"{module.name}.{name}"))
        return UNKNOWN_VALUE

    def _member_of_file(self, unit: SourceFile, name: str) -> Value | None:
        """What `unit` defines or imports as `name`; None where that cannot be said."""
        definition = self.defined(unit, name)
        if definition is not None:
            return definition
        imports = [item for item in _imports_of(unit, name) if not item.function]
        key = (unit.path, name)
        if len(imports) != 1 or key in self._following:
            return None
        self._following.add(key)
        imported = self.imported(imports[0], unit)
        self._following.discard(key)
        return imported if imported.known else None

    def defined(self, unit: SourceFile, name: str) -> Value | None:
        """A function or class that `unit` defines at its top level, or what a patch put there."""
        if (unit.path, name) in self.overrides:
            return self.overrides[unit.path, name]
        return self.modules.defined(unit, name)

    def bases(self, ref: ClassRef) -> list[ClassRef] | None:
        """The class and its ancestors, nearest first; None where one of them is not in the tree."""
        key = (ref.unit.path, ref.cls.start_line)
        if key not in self._bases:
            self._bases[key] = self._find_bases(ref)
        return self._bases[key]

    def _find_bases(self, ref: ClassRef) -> list[ClassRef] | None:
        chain = [ref]
        for base in ref.cls.bases:
            if base in ("object", "ABC", "abc.ABC"):
                continue
            parent = self._find_class(base, ref.unit)
            if parent is None or parent.cls == ref.cls:
                return None
            above = self.bases(parent)
            if above is None:
                return None
            chain += above
        return chain

    def ancestors(self, ref: ClassRef) -> list[ClassRef]:
        """Like `bases`, leaving out those that are not in the tree."""
        key = (ref.unit.path, ref.cls.start_line)
        if key not in self._ancestors:
            self._ancestors[key] = self._find_ancestors(ref)
        return self._ancestors[key]

    def _find_ancestors(self, ref: ClassRef) -> list[ClassRef]:
        chain = [ref]
        for base in ref.cls.bases:
            parent = self._find_class(base, ref.unit)
            if parent is not None and parent.cls != ref.cls:
                chain += self.ancestors(parent)
        return chain

    def _find_class(self, name: str, unit: SourceFile) -> ClassRef | None:
        local = unit.classes_named.get(name, ())
        if len(local) == 1:
            return ClassRef(local[0], unit)
        imports = _imports_of(unit, name)
        if len(imports) != 1:
            return None
        value = self.imported(imports[0], unit).value
        return value if isinstance(value, ClassRef) else None


def _imports_of(unit: SourceFile, name: str) -> list[Import]:
    """Imports that bind `name` to what is called so, not to the package that holds it."""
    return [item for item in unit.imports_named.get(name, ()) if item.alias or item.name]


def absolute(module: str, path: str) -> str:
    """`module` as imported in the file `path`, without leading dots."""
    if not module.startswith("."):
        return module
    tail = module.lstrip(".")
    level = len(module) - len(tail)
    folders = PurePosixPath(path).parent.parts
    parts = list(folders[: len(folders) - level + 1])
    if tail:
        parts.append(tail)
    return ".".join(parts)
