"""The modules of a tree as one test sees them: with its patches, and through imports."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath

from checks.eval.interpreter.modules import Modules, NameKey, Position
from checks.eval.interpreter.values import (
    UNKNOWN_VALUE,
    ClassRef,
    ModuleRef,
    Native,
    Value,
)
from checks.lang.ir.source_file import Import, SourceFile


@dataclass
class PatchedModules:
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

    def module_of(self, item: Import, unit: SourceFile) -> ModuleRef:
        """The module that an import in `unit` names."""
        name = absolute_module_name(item.module, unit.path)
        return self.modules.named_in(name, unit.path)

    def imported(self, item: Import, unit: SourceFile) -> Value:
        """What an import in `unit` binds."""
        if item.name:
            return self.member(self.module_of(item, unit), item.name)
        # `import a.b` binds `a`, `import a.b as c` binds the module itself.
        package = item.module.split(".")[0]
        if item.alias and item.alias != package:
            return Value(self.module_of(item, unit))
        return Value(self.modules.named_in(package, unit.path))

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
        # A package that only hands on what its modules define.
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


def absolute_module_name(module: str, path: str) -> str:
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
