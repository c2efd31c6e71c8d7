"""The insides of a Python file's functions, read when they are asked for.

Trees of all functions of all files, most of which nobody asks for, would take 30 bytes of memory a byte of source.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cached_property

from checks.lang.ir.source_file import Function, Ranges, Unit
from checks.lang.ir.stmt import Opaque
from checks.lang.ir.wanted import Wanted, between
from checks.lang.python.lower import Body, Statements, end
from checks.lang.python.text import REFUSED, parse


class Again:
    """One function at a time, by its qualified name and the lines of its `def` and its end. `whole` reads the file
    with everything in it: for a function that alone does not parse. What is `wanted` was read with the file."""

    def __init__(self, statements: Statements, whole: Callable[[], Unit], wanted: Wanted) -> None:
        self._statements = statements
        self._read_whole = whole
        self._wanted = wanted
        self._bodies: dict[int, Body] = {}
        self._refused: set[int] = set()

    def keep(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Lower a function that was read with the file, where that is wanted."""
        if self._wanted.lowered and between(self._wanted.lines, node.lineno, end(node)):
            self._bodies[node.lineno] = self._statements.function(node)

    def body(self, name: str, start: int, last: int) -> Body:
        """The function's statements, lowered."""
        if start not in self._bodies:
            self._bodies[start] = self._lowered(name, start, last)
        return self._bodies[start]

    def broken(self, name: str, start: int, last: int) -> Ranges:
        """The function's lines that did not parse."""
        if between(self._wanted.lines, start, last):
            return ()
        self.body(name, start, last)
        if start not in self._refused:
            return ()
        found = self._mended(name, start)
        return ((start, last),) if found is None else found.broken

    def _lowered(self, name: str, start: int, last: int) -> Body:
        text = "\n".join(self._statements.source.lines[start - 1 : last])
        # Python is through a string of line ends in half the time that as many empty lines take.
        above = "'''" + "\n" * (start - 3) + "'''\n" if start > 2 else ""
        before = above + ("if 1:\n" if text[:1].isspace() else "\n") if start > 1 else ""
        try:
            node: ast.stmt = parse(before + text).body[-1]
        except REFUSED:
            self._refused.add(start)
            found = self._mended(name, start)
            return (Opaque(text, line=start, end_line=last),) if found is None else found.lower()
        if isinstance(node, ast.If):
            node = node.body[0]
        assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        return self._statements.function(node)

    def _mended(self, name: str, start: int) -> Function | None:
        """The function as it stands in the whole file."""
        return next((f for f in self._whole.functions_named.get(name, ()) if f.covers(start)), None)

    @cached_property
    def _whole(self) -> Unit:
        return self._read_whole()
