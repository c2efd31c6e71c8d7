"""The modules of a tree, by dotted name, as the interpreter imports them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePosixPath

from checks.core.tree import word_regex
from checks.eval.interpreter.setups import SetUp
from checks.eval.interpreter.values import ANY, ClassRef, FuncRef, ModuleRef, Native, V
from checks.lang.ir.source_file import Function, Import, SourceFile

_LAZY = re.compile(rf"(?:{word_regex('yield')}|{word_regex('await')})\b")
_DYNAMIC = ("setattr(", "__dict__", "__getattr")
_VARS = re.compile(rf"{word_regex('vars')}\(")
_TRANSPARENT = re.compile(
    r"^(staticmethod|classmethod|(abc\.)?abstractmethod|override)$|inference_mode|no_grad|nvtx|annotate"
)
_READ_THROUGH = frozenset({"property", "cached_property", "functools.cached_property"})
PREFIXES = ("", "python/", "src/")


@dataclass
class Modules:
    """The files of one tree; `unit` gives the parsed file at a path, or None. What they say is looked up once for all
    the tests that are run over them."""

    unit: Callable[[str], SourceFile | None]
    set_ups: dict[tuple[str, int], SetUp] = field(default_factory=dict)
    _found: dict[str, ModuleRef] = field(default_factory=dict)
    _defined: dict[tuple[str, str], V | None] = field(default_factory=dict)
    _tops: dict[str, Function] = field(default_factory=dict)
    _inner: dict[tuple[str, int], dict[str, V]] = field(default_factory=dict)
    _followed: dict[tuple[str, int], bool] = field(default_factory=dict)
    _dynamic: dict[tuple[str, int], bool] = field(default_factory=dict)

    def named(self, name: str) -> ModuleRef:
        """The module with this dotted name; foreign when the tree has no such file."""
        if name not in self._found:
            self._found[name] = self._find(name)
        return self._found[name]

    def _find(self, name: str) -> ModuleRef:
        path = name.replace(".", "/")
        for prefix in PREFIXES:
            for file in (f"{prefix}{path}.py", f"{prefix}{path}/__init__.py"):
                found = self.unit(file)
                if found is not None:
                    return ModuleRef(name, found)
        return ModuleRef(name)

    def defined(self, unit: SourceFile, name: str) -> V | None:
        """A function or class that `unit` defines at its top level; `ANY` where several things go by the name."""
        key = (unit.path, name)
        if key not in self._defined:
            self._defined[key] = self._define(unit, name)
        return self._defined[key]

    def _define(self, unit: SourceFile, name: str) -> V | None:
        functions = unit.functions_named.get(name, ())
        if len(functions) == 1:
            again = any(c.name == name and not c.owner for c in unit.constants)
            return ANY if again else V(FuncRef(functions[0], unit))
        classes = unit.classes_named.get(name, ())
        if len(classes) == 1:
            return V(ClassRef(classes[0], unit))
        return ANY if functions or classes else None

    def top(self, unit: SourceFile) -> Function:
        """What stands for the function in which the statements of a file run."""
        if unit.path not in self._tops:
            self._tops[unit.path] = Function(
                "<module>", "<module>", unit.path, (), 0, 0, lambda: ()
            )
        return self._tops[unit.path]

    def inner(self, ref: ClassRef) -> dict[str, V]:
        """The classes defined inside a class, by their short names."""
        key = (ref.unit.path, ref.cls.start_line)
        if key not in self._inner:
            prefix = f"{ref.cls.name}."
            inside = (
                c
                for c in ref.unit.classes
                if c.name.startswith(prefix) and "." not in c.name[len(prefix) :]
            )
            self._inner[key] = {c.name[len(prefix) :]: V(ClassRef(c, ref.unit)) for c in inside}
        return self._inner[key]

    def followed(self, ref: FuncRef) -> bool:
        """Whether a call runs just what is written: it gives no generator or coroutine, and no decorator is unknown."""
        function, unit = ref.function, ref.unit
        key = (unit.path, function.start_line)
        if key not in self._followed:
            plain = is_fixture(function) or not any(map(_opaque, function.marks))
            lazy = plain and _suspends(unit.text(function.start_line, function.end_line))
            self._followed[key] = plain and not lazy and function.clean
        return self._followed[key]

    def dynamic(self, chain: list[ClassRef]) -> bool:
        """Whether one of these classes gives its objects attributes that no assignment names."""
        for ref in chain:
            key = (ref.unit.path, ref.cls.start_line)
            if key not in self._dynamic:
                self._dynamic[key] = _sets_any(ref.unit.text(ref.cls.start_line, ref.cls.end_line))
            if self._dynamic[key]:
                return True
        return False


def is_fixture(function: Function) -> bool:
    """Whether pytest calls this function to make an argument of tests."""
    return any("fixture" in m for m in function.marks)


def _opaque(mark: str) -> bool:
    """Whether a decorator puts something unknown in the place of the function."""
    return mark not in _READ_THROUGH and not _TRANSPARENT.search(mark)


def _suspends(text: str) -> bool:
    """Whether `yield` or `await` stands on a line, before any comment."""
    if "yield" not in text and "await" not in text:
        return False
    return any(
        "#" not in text[text.rfind("\n", 0, m.start()) + 1 : m.start()]
        for m in _LAZY.finditer(text)
    )


def _sets_any(text: str) -> bool:
    """Whether an attribute may be set or made whose name is not written."""
    return any(word in text for word in _DYNAMIC) or _VARS.search(text) is not None


@dataclass
class Program:
    """`modules` as one test sees them: `overrides` are names replaced by its patches, with `replace`."""

    modules: Modules
    overrides: dict[tuple[str, str], V] = field(default_factory=dict)
    _following: set[tuple[str, str]] = field(default_factory=set)
    _bases: dict[tuple[str, int], list[ClassRef] | None] = field(default_factory=dict)
    _ancestors: dict[tuple[str, int], list[ClassRef]] = field(default_factory=dict)

    def replace(self, key: tuple[str, str], value: V | None) -> None:
        """Put `value` under the name `key` (a path and a name in it), or with None what is there without a patch."""
        self._bases.clear()
        self._ancestors.clear()
        if value is None:
            self.overrides.pop(key, None)
        else:
            self.overrides[key] = value

    def module(self, name: str) -> ModuleRef:
        """The module with this dotted name; foreign when the tree has no such file."""
        return self.modules.named(name)

    def imported(self, item: Import, unit: SourceFile) -> V:
        """What an import binds."""
        name = absolute(item.module, unit.path)
        if not item.name:
            top = name if item.alias and item.alias != name.split(".")[0] else name.split(".")[0]
            return V(self.module(top))
        return self.member(self.module(name), item.name)

    def member(self, module: ModuleRef, name: str) -> V:
        """`module.name`; `ANY` where the module is ours but does not say."""
        unit = module.unit
        found = self.defined(unit, name) if unit is not None else None
        if found is not None:
            return found
        again = [i for i in _imports(unit, name) if not i.function] if unit is not None else []
        if unit is not None and len(again) == 1 and (unit.path, name) not in self._following:
            self._following.add((unit.path, name))
            found = self.imported(again[0], unit)
            self._following.discard((unit.path, name))
            if found.known:
                return found
        inner = self.module(f"{module.name}.{name}")
        if inner.unit is not None:
            return V(inner)
        return V(Native(f"{module.name}.{name}")) if unit is None else ANY

    def defined(self, unit: SourceFile, name: str) -> V | None:
        """A function or class that `unit` defines at its top level, or what a patch put there."""
        if self.overrides and (unit.path, name) in self.overrides:
            return self.overrides[unit.path, name]
        return self.modules.defined(unit, name)

    def bases(self, ref: ClassRef) -> list[ClassRef] | None:
        """The class and its ancestors, nearest first; None where one of them is not in the tree."""
        key = (ref.unit.path, ref.cls.start_line)
        if key not in self._bases:
            self._bases[key] = self._known_bases(ref)
        return self._bases[key]

    def _known_bases(self, ref: ClassRef) -> list[ClassRef] | None:
        chain = [ref]
        for base in ref.cls.bases:
            if base in ("object", "ABC", "abc.ABC"):
                continue
            found = self._class(base, ref.unit)
            above = self.bases(found) if found is not None and found.cls != ref.cls else None
            if above is None:
                return None
            chain += above
        return chain

    def ancestors(self, ref: ClassRef) -> list[ClassRef]:
        """Like `bases`, leaving out those that are not in the tree."""
        key = (ref.unit.path, ref.cls.start_line)
        if key not in self._ancestors:
            self._ancestors[key] = self._some_bases(ref)
        return self._ancestors[key]

    def _some_bases(self, ref: ClassRef) -> list[ClassRef]:
        chain = [ref]
        for base in ref.cls.bases:
            found = self._class(base, ref.unit)
            if found is not None and found.cls != ref.cls:
                chain += self.ancestors(found)
        return chain

    def _class(self, name: str, unit: SourceFile) -> ClassRef | None:
        local = unit.classes_named.get(name, ())
        if len(local) == 1:
            return ClassRef(local[0], unit)
        imports = _imports(unit, name)
        if len(imports) != 1:
            return None
        value = self.imported(imports[0], unit).value
        return value if isinstance(value, ClassRef) else None


def _imports(unit: SourceFile, name: str) -> list[Import]:
    """Imports that bind `name` to what is called so, not to the package that holds it."""
    return [i for i in unit.imports_named.get(name, ()) if i.alias or i.name]


@lru_cache(4096)
def absolute(module: str, path: str) -> str:
    """`module` as imported in the file `path`, without leading dots."""
    if not module.startswith("."):
        return module
    level = len(module) - len(module.lstrip("."))
    parts = PurePosixPath(path).parent.parts
    parts = parts[: len(parts) - level + 1]
    tail = module[level:]
    return ".".join([*parts, *([tail] if tail else [])])
