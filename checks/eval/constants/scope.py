"""Where a name of one file is defined: in the file, in what it includes, in what it imports, in a
class.

A list of definitions holds None for one that exists but lies outside the tree, or could not be
followed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from checks.core.change import ChangeSet
from checks.core.finding import Side
from checks.eval.constants.files import files
from checks.lang.ir.source_file import Constant, Function, Import, SourceFile

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*[<"]([^">\r\n]+)[>"]', re.MULTILINE)
_DEEPEST = 8

T = TypeVar("T", bound=Constant | Function)
Space = tuple[SourceFile, str]


class Scopes:
    """Lookup over one side of a change. A `Space` is a Python module, or with a name a class in it."""

    def __init__(self, change: ChangeSet, side: Side) -> None:
        self._change = change
        self._side = side
        self._tree = change.tree(side)
        self._files = files(change, side)
        self._includes: dict[str, list[str]] = {}

    def unit(self, path: str) -> SourceFile | None:
        return self._change.unit(path, self._side)

    def constants(self, unit: SourceFile, name: str, function: str = "") -> list[Constant | None]:
        """The definitions that the plain name `name` (`ns::K` in C++) may mean in `unit`, in the
        function `function`. Macros with parameters are among them."""
        return self._find(unit, name, function, _constants)

    def functions(self, unit: SourceFile, name: str, function: str = "") -> list[Function | None]:
        """The functions at file level that `name` may mean in `unit`."""
        return self._find(unit, name, function, _functions)

    def _find(
        self, unit: SourceFile, name: str, function: str, pick: Callable[[SourceFile, str], list[T]]
    ) -> list[T | None]:
        if unit.language == "python":
            return self._python(unit, name, function, pick, 0)
        return [*self._cpp(unit, name, pick)]

    def _cpp(
        self, unit: SourceFile, name: str, pick: Callable[[SourceFile, str], list[T]]
    ) -> list[T]:
        """The definitions in `unit`, else in the nearest headers that have any."""
        found = pick(unit, name)
        word = name.rsplit("::", 1)[-1].encode()
        seen, level = {unit.path}, [unit.path]
        for _ in range(_DEEPEST):
            if found or not level:
                break
            level = [p for path in level for p in self._included(path) if p not in seen]
            level = list(dict.fromkeys(level))
            seen.update(level)
            for path in level:
                # Parsing a header costs; one without the word has no definition of it.
                header = self.unit(path) if word in (self._tree.read(path) or b"") else None
                found += [] if header is None else pick(header, name)
        return found

    def _included(self, path: str) -> list[str]:
        if path not in self._includes:
            data = self._tree.read(path) or b""
            names = [m.decode("utf-8", "replace") for m in _INCLUDE.findall(data)]
            self._includes[path] = [p for name in names for p in self._files.include(path, name)]
        return self._includes[path]

    def _python(
        self,
        unit: SourceFile,
        name: str,
        function: str,
        pick: Callable[[SourceFile, str], list[T]],
        depth: int,
    ) -> list[T | None]:
        found: list[T | None] = [*pick(unit, name)]
        if depth >= _DEEPEST:
            return found
        for one in _visible(unit, function):
            if one.name and (one.alias or one.name) == name:
                found += self._members(unit, one.module, one.name, pick, depth) or [None]
        if not found:
            for one in _visible(unit, function):
                if one.name == "*":
                    found += self._members(unit, one.module, name, pick, depth)
        return found

    def _members(
        self,
        unit: SourceFile,
        module: str,
        name: str,
        pick: Callable[[SourceFile, str], list[T]],
        depth: int,
    ) -> list[T | None]:
        found: list[T | None] = []
        for other in self._modules(unit, module):
            if other.path != unit.path:
                found += self._python(other, name, "", pick, depth + 1)
        return found

    def _modules(self, unit: SourceFile, module: str) -> list[SourceFile]:
        units = [self.unit(path) for path in self._files.module(unit.path, module)]
        return [u for u in units if u is not None]

    def attribute(
        self, unit: SourceFile, parts: list[str], function: str = ""
    ) -> list[Constant | None]:
        """The definitions of the dotted Python name `parts`: `module.K`, `Class.K`, `module.Class.K`."""
        found: list[Constant | None] = []
        for space in self.spaces(unit, parts[:-1], function):
            if space is None:
                found.append(None)
            elif space[1]:
                found += self.member(space, parts[-1]) or [None]
            else:
                found += self.constants(space[0], parts[-1]) or [None]
        return found

    def member(self, space: Space, name: str, depth: int = 0) -> list[Constant | None]:
        """The class-level definitions of `name` in a class, else in its bases."""
        unit, owner = space
        found: list[Constant | None] = [
            c for c in unit.constants if c.owner == owner and c.name == name
        ]
        if found or depth >= _DEEPEST:
            return found
        for one in unit.classes:
            for base in one.bases if one.name == owner else ():
                for above in self.spaces(unit, base.split("."), ""):
                    if above is not None and above != space:
                        found += self.member(above, name, depth + 1)
        return found

    def spaces(
        self, unit: SourceFile, parts: list[str], function: str, depth: int = 0
    ) -> list[Space | None]:
        """The modules and classes that the dotted name `parts` may mean in `unit`."""
        if depth >= _DEEPEST or not parts:
            return []
        found: list[Space | None] = []
        if any(c.name == ".".join(parts) for c in unit.classes):
            found.append((unit, ".".join(parts)))
        for one in _visible(unit, function):
            found += self._imported(unit, one, parts, depth)
        return found

    def _imported(
        self, unit: SourceFile, one: Import, parts: list[str], depth: int
    ) -> list[Space | None]:
        """What `parts` means by way of the import `one`; empty where that binds another name."""
        if one.name:
            if (one.alias or one.name) != parts[0]:
                return []
            dot = "" if one.module.endswith(".") else "."
            whole = self._inside(unit, f"{one.module}{dot}{one.name}", parts[1:], depth)
            return whole or self._inside(unit, one.module, [one.name, *parts[1:]], depth) or [None]
        bound = [one.alias] if one.alias else one.module.split(".")
        if parts[: len(bound)] != bound:
            return []
        return self._inside(unit, one.module, parts[len(bound) :], depth) or [None]

    def _inside(
        self, unit: SourceFile, module: str, rest: list[str], depth: int
    ) -> list[Space | None]:
        found: list[Space | None] = []
        for other in self._modules(unit, module):
            if not rest:
                found.append((other, ""))
                continue
            found += self.spaces(other, rest, "", depth + 1)
            if not found and other.path.endswith("/__init__.py"):
                found += self._inside(unit, f"{module}.{rest[0]}", rest[1:], depth + 1)
        return found


def _visible(unit: SourceFile, function: str) -> list[Import]:
    """The imports of `unit` that hold in the function named `function`: the file's and its own."""
    return [
        i for i in unit.imports if not i.function or f"{function}.".startswith(f"{i.function}.")
    ]


def _constants(unit: SourceFile, name: str) -> list[Constant]:
    qualifier, _, word = name.rpartition("::")
    owner = qualifier.rpartition("::")[2]
    same = [c for c in unit.constants if c.name == word and c.kind != "alias"]
    return [c for c in same if _seen(c, owner, unit)]


def _seen(constant: Constant, owner: str, unit: SourceFile) -> bool:
    """Whether a plain name, or `owner::name`, reaches `constant`."""
    if owner and constant.owner:
        return constant.owner.rpartition("::")[2] == owner
    if owner:
        # A namespace is not kept as an owner; a template's parameter must not pass for one.
        spaces = (line for line in unit.lines if "namespace" in line)
        return any(re.search(rf"namespace\s[\w:\s]*\b{re.escape(owner)}\b", s) for s in spaces)
    # The members of C++'s enums are taken as open.
    return not constant.owner or (unit.language == "cpp" and constant.kind == "enum")


def _functions(unit: SourceFile, name: str) -> list[Function]:
    if unit.language == "python":
        return [f for f in unit.functions if f.qualname == name]
    plain = name.removeprefix("::")
    free = [f for f in unit.functions if not f.owner]
    return [f for f in free if f.name == plain or f"::{f.qualname}".endswith(f"::{plain}")]
