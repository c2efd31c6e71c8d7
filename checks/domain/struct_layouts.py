"""Structs as one C++ file sees them: the definition that counts there, and its members in numbers.

Several structs of one repository may share a name, so a struct is looked for in a file and in what
the file includes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.finding import Side
from checks.core.words import as_bytes, contains_word
from checks.eval.constants.files import path_index
from checks.eval.constants.lookup import Constants
from checks.eval.integers import integer_type
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile, Struct

# Includes of includes, and structs in structs, are followed this deep.
_DEPTH = 4
_NO_STRUCTS = frozenset({"", "float", "double", "void"})
_WORD = re.compile(rb"\w+")


@dataclass(frozen=True, slots=True)
class StructField:
    """A struct member with its dims folded to numbers (None where that is not certain)."""

    name: str
    type: str
    dims: tuple[int | None, ...]
    line: int


class StructLayouts:
    """The structs of one side of a change, found when asked for."""

    def __init__(self, change: ChangeSet, side: Side) -> None:
        self._change = change
        self._side = side
        self._constants = Constants.of(change, side)
        self._files = path_index(change, side)
        self._known: dict[tuple[str, str], Struct | None] = {}

    def find(self, name: str, unit: SourceFile) -> Struct | None:
        """The struct `name` as `unit` sees it: defined there, or in what it includes."""
        plain = name.removeprefix("struct ").rstrip("*& ")
        key = (plain, unit.path)
        # Kept, because each end and each member asks, and all included files are searched for it.
        if key not in self._known:
            self._known[key] = self._find(plain, unit)
        return self._known[key]

    def _find(self, name: str, unit: SourceFile) -> Struct | None:
        if name in _NO_STRUCTS or integer_type(name):
            return None
        for near in self._units_naming(name, unit):
            for struct in near.structs:
                if struct.name == name and struct.members:
                    return struct
        return None

    def _units_naming(self, struct: str, unit: SourceFile) -> Iterator[SourceFile]:
        """`unit` and the files of the repository that it includes, nearest first: those in which
        the name stands."""
        tree = self._change.tree(self._side)
        words = _WORD.findall(as_bytes(struct))
        level = [unit.path]
        seen = {unit.path}
        for _ in range(_DEPTH):
            for path in level:
                data = tree.read(path) or b""
                if not all(contains_word(data, word) for word in words):
                    continue
                near = self._change.unit(path, self._side)
                if near is not None:
                    yield near
            level = self._included_by(level, seen)
            seen.update(level)

    def _included_by(self, paths: list[str], seen: set[str]) -> list[str]:
        """The files that `paths` include and that are not in `seen`."""
        included: dict[str, None] = {}
        for path in paths:
            unit = self._change.unit(path, self._side)
            if unit is None:
                continue
            for include in unit.imports:
                targets = self._files.include(path, include.module)
                if len(targets) == 1 and targets[0] not in seen:
                    included[targets[0]] = None
        return list(included)

    def layout(self, struct: Struct, unit: SourceFile) -> tuple[StructField, ...]:
        """The members of `struct` with the dims that `unit`, which uses it, gives them.

        Inner structs are flattened as `outer.inner`, their dims behind the outer ones.
        """
        return tuple(self._flat_fields(struct, unit, "", (), 0))

    def _flat_fields(
        self,
        struct: Struct,
        unit: SourceFile,
        prefix: str,
        outer: tuple[int | None, ...],
        depth: int,
    ) -> Iterator[StructField]:
        home = self._change.unit(struct.path, self._side) or unit
        for member in struct.members:
            name = f"{prefix}{member.name}"
            dims = (*outer, *(self.number(dim, home) for dim in member.dims))
            inner = self.find(member.type, home) if depth < _DEPTH else None
            if inner is None:
                yield StructField(name, member.type, dims, member.line)
            else:
                yield from self._flat_fields(inner, unit, f"{name}.", dims, depth + 1)

    def number(
        self, expr: E.Expr, unit: SourceFile, function: Function | None = None
    ) -> int | None:
        """The whole number that `expr` certainly is."""
        value = self._constants.resolve(expr, unit, function)
        if value is None or not isinstance(value.value, int):
            return None
        return value.value
