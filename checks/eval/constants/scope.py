"""Where a name of one file is defined: in the file, its includes, its imports, or a class.

A list of definitions holds None for one that exists but lies outside the tree, or could not be
followed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from checks.core.change import ChangeSet
from checks.core.finding import Side
from checks.core.words import as_bytes
from checks.eval.constants.files import path_index
from checks.lang.ir.source_file import Constant, Function, Import, SourceFile

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*[<"]([^">\r\n]+)[>"]', re.MULTILINE)
# How many includes, imports or base classes are followed one after another.
_DEEPEST = 8

Definition = TypeVar("Definition", bound=Constant | Function)
# What one file itself defines by a name.
FindInFile = Callable[[SourceFile, str], list[Definition]]
# A Python module (with an empty name), or a class in it.
Namespace = tuple[SourceFile, str]


class Scopes:
    """Looks names up over one side of a change."""

    def __init__(self, change: ChangeSet, side: Side) -> None:
        self._change = change
        self._side = side
        self._tree = change.tree(side)
        self._files = path_index(change, side)
        self._includes: dict[str, list[str]] = {}

    def unit(self, path: str) -> SourceFile | None:
        """The parsed file at `path`."""
        return self._change.unit(path, self._side)

    def constants(self, unit: SourceFile, name: str, function: str = "") -> list[Constant | None]:
        """The definitions that the plain name `name` (`ns::K` in C++) may mean.

        It stands in `unit`, in the function named `function`. Macros with parameters are among
        them.
        """
        return self._find(unit, name, function, _constants_in)

    def functions(self, unit: SourceFile, name: str, function: str = "") -> list[Function | None]:
        """The functions at file level that `name` may mean in `unit`."""
        return self._find(unit, name, function, _functions_in)

    def _find(
        self, unit: SourceFile, name: str, function: str, find_in: FindInFile[Definition]
    ) -> list[Definition | None]:
        if unit.language == "python":
            return self._find_python(unit, name, function, find_in, 0)
        return [*self._find_cpp(unit, name, find_in)]

    def _find_cpp(
        self, unit: SourceFile, name: str, find_in: FindInFile[Definition]
    ) -> list[Definition]:
        """The definitions in `unit`, else in the nearest headers that have any."""
        definitions = find_in(unit, name)
        word = as_bytes(name.rsplit("::", 1)[-1])
        seen = {unit.path}
        level = [unit.path]
        for _ in range(_DEEPEST):
            if definitions or not level:
                break
            level = self._next_headers(level, seen)
            seen.update(level)
            for path in level:
                # Parsing a header costs; one without the word has no definition of it.
                if word not in (self._tree.read(path) or b""):
                    continue
                header = self.unit(path)
                if header is not None:
                    definitions += find_in(header, name)
        return definitions

    def _next_headers(self, level: list[str], seen: set[str]) -> list[str]:
        """The headers that the files of `level` include, without those `seen` before."""
        headers: dict[str, None] = {}
        for path in level:
            for header in self._included(path):
                if header not in seen:
                    headers[header] = None
        return list(headers)

    def _included(self, path: str) -> list[str]:
        if path not in self._includes:
            data = self._tree.read(path) or b""
            headers: list[str] = []
            for match in _INCLUDE.findall(data):
                headers += self._files.include(path, match.decode("utf-8", "replace"))
            self._includes[path] = headers
        return self._includes[path]

    def _find_python(
        self,
        unit: SourceFile,
        name: str,
        function: str,
        find_in: FindInFile[Definition],
        depth: int,
    ) -> list[Definition | None]:
        definitions: list[Definition | None] = [*find_in(unit, name)]
        if depth >= _DEEPEST:
            return definitions
        imports = _visible_imports(unit, function)
        for item in imports:
            if item.name and (item.alias or item.name) == name:
                members = self._find_in_module(unit, item.module, item.name, find_in, depth)
                definitions += members or [None]
        if definitions:
            return definitions
        for item in imports:
            if item.name == "*":
                definitions += self._find_in_module(unit, item.module, name, find_in, depth)
        return definitions

    def _find_in_module(
        self,
        unit: SourceFile,
        module: str,
        name: str,
        find_in: FindInFile[Definition],
        depth: int,
    ) -> list[Definition | None]:
        """What `name` means in the module that `unit` imports as `module`."""
        definitions: list[Definition | None] = []
        for imported in self._modules(unit, module):
            if imported.path != unit.path:
                definitions += self._find_python(imported, name, "", find_in, depth + 1)
        return definitions

    def _modules(self, unit: SourceFile, module: str) -> list[SourceFile]:
        """The files that `unit` imports as `module`, as far as they parse."""
        modules = [self.unit(path) for path in self._files.module(unit.path, module)]
        return [imported for imported in modules if imported is not None]

    def attribute(
        self, unit: SourceFile, parts: list[str], function: str = ""
    ) -> list[Constant | None]:
        """The definitions of a dotted Python name: `module.K`, `Class.K`, `module.Class.K`."""
        constants: list[Constant | None] = []
        for namespace in self.namespaces(unit, parts[:-1], function):
            if namespace is None:
                constants.append(None)
                continue
            module, cls = namespace
            if cls:
                constants += self.member(namespace, parts[-1]) or [None]
            else:
                constants += self.constants(module, parts[-1]) or [None]
        return constants

    def member(self, cls: Namespace, name: str, depth: int = 0) -> list[Constant | None]:
        """The class-level definitions of `name` in a class, else in its bases."""
        unit, owner = cls
        constants: list[Constant | None] = [*unit.constants_named.get((owner, name), [])]
        if constants or depth >= _DEEPEST:
            return constants
        for definition in unit.classes_named.get(owner, []):
            for base in definition.bases:
                for parent in self.namespaces(unit, base.split("."), ""):
                    if parent is not None and parent != cls:
                        constants += self.member(parent, name, depth + 1)
        return constants

    def namespaces(
        self, unit: SourceFile, parts: list[str], function: str, depth: int = 0
    ) -> list[Namespace | None]:
        """The modules and classes that the dotted name `parts` may mean in `unit`."""
        if depth >= _DEEPEST or not parts:
            return []
        namespaces: list[Namespace | None] = []
        path = ".".join(parts)
        if path in unit.classes_named:
            namespaces.append((unit, path))
        for item in _visible_imports(unit, function):
            if item.name:
                namespaces += self._namespaces_from(unit, item, parts, depth)
            else:
                namespaces += self._namespaces_below(unit, item, parts, depth)
        return namespaces

    def _namespaces_from(
        self, unit: SourceFile, item: Import, parts: list[str], depth: int
    ) -> list[Namespace | None]:
        """What `parts` means by `from module import name`; empty where that binds another name."""
        if (item.alias or item.name) != parts[0]:
            return []
        dot = "" if item.module.endswith(".") else "."
        submodule = f"{item.module}{dot}{item.name}"
        namespaces = self._namespaces_in(unit, submodule, parts[1:], depth)
        if not namespaces:
            namespaces = self._namespaces_in(unit, item.module, [item.name, *parts[1:]], depth)
        return namespaces or [None]

    def _namespaces_below(
        self, unit: SourceFile, item: Import, parts: list[str], depth: int
    ) -> list[Namespace | None]:
        """What `parts` means by `import module`; empty where that binds another name."""
        bound = [item.alias] if item.alias else item.module.split(".")
        if parts[: len(bound)] != bound:
            return []
        return self._namespaces_in(unit, item.module, parts[len(bound) :], depth) or [None]

    def _namespaces_in(
        self, unit: SourceFile, module: str, rest: list[str], depth: int
    ) -> list[Namespace | None]:
        """What the dotted name `rest` means in a module; the module itself where it is empty."""
        namespaces: list[Namespace | None] = []
        for imported in self._modules(unit, module):
            if not rest:
                namespaces.append((imported, ""))
                continue
            namespaces += self.namespaces(imported, rest, "", depth + 1)
            if not namespaces and imported.path.endswith("/__init__.py"):
                namespaces += self._namespaces_in(unit, f"{module}.{rest[0]}", rest[1:], depth + 1)
        return namespaces


def _visible_imports(unit: SourceFile, function: str) -> list[Import]:
    """The imports of `unit` that hold in the function named `function`: the file's and its own."""
    visible: list[Import] = []
    for item in unit.imports:
        if not item.function or f"{function}.".startswith(f"{item.function}."):
            visible.append(item)
    return visible


def _constants_in(unit: SourceFile, name: str) -> list[Constant]:
    qualifier, _, word = name.rpartition("::")
    owner = qualifier.rpartition("::")[2]
    constants: list[Constant] = []
    for constant in unit.constants:
        if constant.name == word and constant.kind != "alias" and _reaches(constant, owner, unit):
            constants.append(constant)
    return constants


def _reaches(constant: Constant, owner: str, unit: SourceFile) -> bool:
    """Whether a plain name, or `owner::name`, reaches `constant`."""
    if owner and constant.owner:
        return constant.owner.rpartition("::")[2] == owner
    if owner:
        # A namespace is not kept as an owner; a template's parameter must not pass for one.
        return _opens_namespace(owner, unit)
    # The members of C++'s enums are taken as open.
    return not constant.owner or (unit.language == "cpp" and constant.kind == "enum")


def _opens_namespace(name: str, unit: SourceFile) -> bool:
    opening = re.compile(rf"namespace\s[\w:\s]*\b{re.escape(name)}\b")
    return any(opening.search(line) for line in unit.lines)


def _functions_in(unit: SourceFile, name: str) -> list[Function]:
    if unit.language == "python":
        return list(unit.functions_named.get(name, []))
    plain = name.removeprefix("::")
    functions: list[Function] = []
    for function in unit.functions:
        is_named = function.name == plain or f"::{function.qualname}".endswith(f"::{plain}")
        if is_named and not function.owner:
            functions.append(function)
    return functions
