"""The imports of a file that stand under a test of the hardware."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, Import, SourceFile

_PLATFORM_TEST = re.compile(r"\bis_(\w+)\(\)")


@dataclass(frozen=True, slots=True)
class PlatformImports:
    """The names that `unit` binds, at file level, by imports under tests of the hardware alone."""

    unit: SourceFile
    by_name: dict[str, list[Import]]

    @classmethod
    def of(cls, unit: SourceFile) -> PlatformImports:
        by_name: dict[str, list[Import]] = {}
        for item in unit.imports:
            # An import inside a function is that function's own affair.
            if item.name and not item.function:
                by_name.setdefault(item.alias or item.name, []).append(item)
        guarded: dict[str, list[Import]] = {}
        for name, items in by_name.items():
            if all(_PLATFORM_TEST.search(item.guard) for item in items):
                guarded[name] = items
        return cls(unit, guarded)

    def hardware_without(self, name: str, guards: tuple[E.Expr, ...]) -> list[str]:
        """The hardware of the switch on which a call of `name` under `guards` finds no such name.

        None where the call asks for the hardware itself.
        """
        items = self.by_name.get(name)
        if items is None or _asks_hardware(guards) or self._is_bound_otherwise(name):
            return []
        guards_with = {item.guard for item in items}
        guards_without: set[str] = set()
        # The arms of the same switch are known from the other names that they import.
        for others in self.by_name.values():
            guards_without |= {item.guard for item in others} - guards_with
        having = {hardware for guard in guards_with for hardware in _hardware_of(guard)}
        lacking = {hardware for guard in guards_without for hardware in _hardware_of(guard)}
        return sorted(lacking - having)

    def _is_bound_otherwise(self, name: str) -> bool:
        """Whether a function imports the name, or the file sets it: `name = None`."""
        for item in self.unit.imports:
            if (item.alias or item.name) == name and item.function:
                return True
        assignment = rf"^[ \t]+{re.escape(name)} = "
        text = self.unit.text(1, len(self.unit.lines))
        return re.search(assignment, text, re.MULTILINE) is not None

    def defines_for_hardware(self, function: Function) -> bool:
        """Whether the function is defined under a test of the hardware."""
        lines = self.unit.lines
        depth = _indentation(lines[function.start_line - 1])
        if not depth:
            return False
        for number in range(function.start_line - 2, -1, -1):
            line = lines[number]
            if line.strip() and _indentation(line) < depth:
                return _PLATFORM_TEST.search(line) is not None
        return False


def _asks_hardware(guards: tuple[E.Expr, ...]) -> bool:
    """Whether a condition calls something like `is_cuda()`."""
    for guard in guards:
        for e in E.walk(guard):
            if isinstance(e, E.Call) and "is_" in E.callee(e):
                return True
    return False


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _hardware_of(guard: str) -> list[str]:
    """The hardware that a guard, given as source, lets through: not what it excludes."""
    named = sorted({test[1] for test in _PLATFORM_TEST.finditer(guard)})
    try:
        tree = ast.parse(guard.strip(), mode="eval").body
    except SyntaxError:
        return named
    return [hardware for hardware in named if _may_be(True, tree, hardware)]


def _may_be(wanted: bool, test: ast.expr, hardware: str) -> bool:
    """Whether a condition may come to `wanted` on `hardware`.

    What it asks besides may be anything.
    """
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _may_be(not wanted, operand, hardware)
        case ast.BoolOp(op=op, values=values):
            possible = [_may_be(wanted, value, hardware) for value in values]
            # `a and b` is true only where both are, and false where one of them is; `or` the other
            # way.
            needs_all = isinstance(op, ast.And) is wanted
            return all(possible) if needs_all else any(possible)
        case ast.Call(func=ast.Attribute(attr=name)) if name.startswith("is_"):
            return (name == f"is_{hardware}") is wanted
        case _:
            return True
