"""Names resolved to values across files and languages, each value with the places that define it.

A name that has several definitions (`#ifdef`, an import in both arms of an `if`) has a value only
where they all agree on it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.finding import Location, Side
from checks.eval.constants.definitions import EvalScope
from checks.eval.constants.resolver import Resolver
from checks.eval.constants.values import known
from checks.lang.ir.expr import Expr
from checks.lang.ir.source_file import Constant, Function, SourceFile
from checks.lang.source import language

Plain = int | float | str | bool | tuple[object, ...] | None


@dataclass(frozen=True, slots=True)
class ConstantValue:
    """A value, and the definitions it rests on: the outermost name's first; a literal has none."""

    value: Plain
    locations: tuple[Location, ...] = ()


class Constants:
    """The named values of one side of a change. It keeps results: use one object for one review."""

    def __init__(self, change: ChangeSet, side: Side = Side.HEAD) -> None:
        self._tree = change.tree(side)
        self._resolver = Resolver(change, side)

    @classmethod
    def of(cls, change: ChangeSet, side: Side = Side.HEAD) -> Constants:
        """The one object of this change."""
        return change.memo((cls, side), lambda: cls(change, side))

    def resolve(
        self, expr: Expr, unit: SourceFile, function: Function | None = None
    ) -> ConstantValue | None:
        """The value of `expr` in `unit` (and `function`), or None where that is not certain.

        Names are looked up in the function (where it sets them to one value), the file, its
        includes or imports, and its class. C++ keeps the widths of its types; Python's integers
        have none.
        """
        scope = EvalScope(unit, function, function.owner if function else "")
        return self._to_plain(self._resolver.evaluate(expr, scope), scope)

    def value_of(self, constant: Constant) -> ConstantValue | None:
        """The value of one definition, read where it stands."""
        unit = self._resolver.scopes.unit(constant.path)
        if unit is None:
            return None
        scope = EvalScope(unit)
        definition = self._resolver.definitions.of_constant(constant)
        return self._to_plain(self._resolver.single_value([definition], scope), scope)

    def definitions(self, name: str) -> tuple[Constant, ...]:
        """Every definition of `name` at file or class level in the tree, in order of place."""
        patterns = _definition_patterns(name)
        # Parsing a file costs: only those with a line that looks like a definition are parsed.
        paths: set[str] = set()
        for hit in self._tree.find(name):
            pattern = patterns.get(language(hit.path))
            if pattern is not None and pattern.search(hit.text):
                paths.add(hit.path)
        constants: list[Constant] = []
        for path in sorted(paths):
            unit = self._resolver.scopes.unit(path)
            if unit is not None:
                constants += [c for c in unit.constants if c.name == name]
        return tuple(constants)

    def _to_plain(self, raw: object, scope: EvalScope) -> ConstantValue | None:
        value = self._resolver.rules_of(scope.unit).plain(raw)
        if isinstance(value, list):
            value = tuple(value)
        if not known(value) or not isinstance(value, int | float | str | tuple | None):
            return None
        return ConstantValue(value, tuple(dict.fromkeys(scope.trace)))


def _definition_patterns(name: str) -> dict[str, re.Pattern[str]]:
    """What a line that defines `name` looks like, by language."""
    word = re.escape(name)
    # `a, NAME, b =` and `NAME: int`
    target = rf"(?:\w+\s*,\s*)*{word}\s*(?:,\s*\w+\s*)*(?::|=(?!=))"
    return {
        "python": re.compile(rf"(?:^|;)\s*{target}|=\s*{word}\s*=(?!=)"),
        "cpp": re.compile(
            rf"\bdefine\s+{word}\b|\benum\b.*\b{word}\b|\bconst\w*\b[^()]*\b{word}\s*[=\[{{]"
            rf"|^\s*{word}\s*(?:[=,}}]|/[/*]|$)"
        ),
    }
