"""Names resolved to values across files and languages, each value with the places that define it.

A name that has several definitions (`#ifdef`, an import in both arms of an `if`) has a value only
where they all agree on it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.finding import Location, Side
from checks.eval.constants.resolver import Frame, Resolver
from checks.eval.constants.values import known
from checks.lang.ir.expr import Expr
from checks.lang.ir.source_file import Constant, Function, SourceFile
from checks.lang.source import language

Plain = int | float | str | bool | tuple[object, ...] | None


@dataclass(frozen=True, slots=True)
class Value:
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
    ) -> Value | None:
        """What `expr` comes to in `unit` (and `function`), or None where that is not certain.

        Names are looked up in the function (where it sets them to one value), the file, its
        includes or imports, and its class. C++ keeps the widths of its types; Python's integers
        have none.
        """
        frame = Frame(unit, function, function.owner if function else "")
        return self._finish(self._resolver.run(expr, frame), frame)

    def value_of(self, constant: Constant) -> Value | None:
        """The value of one definition, read where it stands."""
        unit = self._resolver.scopes.unit(constant.path)
        if unit is None:
            return None
        frame = Frame(unit)
        return self._finish(self._resolver.agree([self._resolver.source(constant)], frame), frame)

    def definitions(self, name: str) -> tuple[Constant, ...]:
        """Every definition of `name` at file or class level in the tree, in order of place."""
        shapes = _shapes(name)
        hits = self._tree.find(name)
        paths = sorted({h.path for h in hits if shapes[language(h.path)].search(h.text)})
        units = [self._resolver.scopes.unit(path) for path in paths]
        return tuple(c for u in units if u is not None for c in u.constants if c.name == name)

    def _finish(self, raw: object, frame: Frame) -> Value | None:
        value = self._resolver.rules_of(frame.unit).plain(raw)
        value = tuple(value) if isinstance(value, list) else value
        if not known(value) or not isinstance(value, int | float | str | tuple | None):
            return None
        return Value(value, tuple(dict.fromkeys(frame.trace)))


def _shapes(name: str) -> dict[str, re.Pattern[str]]:
    """What a line that defines `name` looks like, by language: only files with one are parsed."""
    word = re.escape(name)
    listed = rf"(?:\w+\s*,\s*)*{word}\s*(?:,\s*\w+\s*)*(?::|=(?!=))"
    return {
        "python": re.compile(rf"(?:^|;)\s*{listed}|=\s*{word}\s*=(?!=)"),
        "cpp": re.compile(
            rf"\bdefine\s+{word}\b|\benum\b.*\b{word}\b|\bconst\w*\b[^()]*\b{word}\s*[=\[{{]"
            rf"|^\s*{word}\s*(?:[=,}}]|/[/*]|$)"
        ),
        "": re.compile(r"(?!)"),
    }
