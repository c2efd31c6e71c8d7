"""How many arguments the C++ functions of a tree take, by their plain name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from checks.core.change import ChangeSet
from checks.core.finding import Side
from checks.core.words import as_bytes
from checks.lang.ir.source_file import Declaration, Function, Param, SourceFile

# A name that stands in more C++ files than this is not looked at.
_MOST_FILES = 60


@dataclass(frozen=True, slots=True)
class Arity:
    """The least and the most arguments that a function takes."""

    least: int
    most: int

    def takes(self, count: int) -> bool:
        """Whether a call with `count` arguments fits."""
        return self.least <= count <= self.most


@dataclass
class CppFunctions:
    """The C++ functions of one side of a change."""

    change: ChangeSet
    side: Side = Side.HEAD
    _known: dict[str, frozenset[Arity] | None] = field(default_factory=dict)

    @classmethod
    def of_change(cls, change: ChangeSet, side: Side = Side.HEAD) -> CppFunctions:
        """The one table of this side of the change."""
        return change.memo((cls, side), lambda: cls(change, side))

    def arities(self, name: str) -> frozenset[Arity] | None:
        """What the definitions and declarations of the plain name `name` take, all over the tree.

        Empty where there is none; None where a macro, a type, a method or what cannot be read has
        the name: a class may call its own methods so, and `malloc` of an allocator is not C's.
        """
        if name not in self._known:
            self._known[name] = self._find(name)
        return self._known[name]

    def _find(self, name: str) -> frozenset[Arity] | None:
        tree = self.change.tree(self.side)
        paths = tree.paths_containing(name, "cpp")
        if len(paths) > _MOST_FILES:
            return None
        other = re.compile(
            as_bytes(rf"(?:#\s*define|struct|class|using|enum|\]\()\s+{re.escape(name)}\b")
        )
        found: set[Arity] = set()
        for path in paths:
            if other.search(tree.read(path) or b""):
                return None
            unit = self.change.unit(path, self.side)
            if unit is None:
                return None
            here = arities_in(unit).get(name, frozenset())
            if None in here:
                return None
            found |= {arity for arity in here if arity is not None}
        return frozenset(found)


def arities_in(unit: SourceFile) -> dict[str, frozenset[Arity | None]]:
    """What the functions that a file defines or declares take, by plain name; None among them for
    a method, and for one that cannot be read whole."""
    return unit.memo(arities_in, lambda: _arities_in(unit))


def _arities_in(unit: SourceFile) -> dict[str, frozenset[Arity | None]]:
    known: list[Function | Declaration] = [*unit.functions, *unit.declarations]
    found: dict[str, set[Arity | None]] = {}
    for one in known:
        found.setdefault(plain_name(one.name), set()).add(None if one.owner else arity_of(one))
    return {name: frozenset(arities) for name, arities in found.items()}


def plain_name(name: str) -> str:
    """A name without its namespaces."""
    return name.rsplit("::", 1)[-1]


def arity_of(function: Function | Declaration) -> Arity | None:
    """How many arguments it takes; None where not all parameters are known."""
    if isinstance(function, Function) and not function.clean:
        return None
    params = list(_counted(function.params))
    if any("..." in param.type + param.name for param in params):
        return None
    least = sum(param.default is None for param in params)
    return Arity(least, len(params))


def _counted(params: Iterable[Param]) -> Iterator[Param]:
    """The parameters, without the `void` of a C function that has none."""
    for param in params:
        if param.name or param.type.strip() != "void":
            yield param
