"""The files of a tree as Python modules: what each defines, and what can be followed."""

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
    Value,
)
from checks.lang.ir.source_file import Function, SourceFile

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

    def named_in(self, name: str, path: str) -> ModuleRef:
        """The module that the file at `path` means by this dotted name.

        Wherever a tree keeps a package, the files of it name it alike: `engine.ops` is
        `server/engine/ops.py` for `server/engine/models/draft.py`.
        """
        folder = self._folder_of_package(name.partition(".")[0], PurePosixPath(path))
        own = self.named(f"{folder}.{name}") if folder else None
        return own if own is not None and own.unit is not None else self.named(name)

    def _folder_of_package(self, package: str, path: PurePosixPath) -> str:
        """Dotted, the folder of the outermost folder `package` around `path`.

        Empty where there is none, or where it is a part of another package.
        """
        folders = path.parent.parts
        above = folders[: folders.index(package)] if package in folders else ()
        if any(
            self.unit(f"{'/'.join(above[:end])}/__init__.py") for end in range(1, len(above) + 1)
        ):
            return ""
        return ".".join(above)

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
            text = ref.unit.text_of(ref.cls)
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
    if _suspends(unit.text_of(function)):
        return False
    return function.clean


def _is_opaque_decorator(mark: str) -> bool:
    """Whether a decorator puts something unknown in the place of the function."""
    return mark not in PROPERTY_DECORATORS and not _TRANSPARENT_DECORATOR.search(mark)


def _suspends(text: str) -> bool:
    """Whether `yield` or `await` stands on a line, before any comment."""
    return any(_SUSPENSION.search(line.partition("#")[0]) for line in text.split("\n"))
