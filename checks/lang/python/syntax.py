"""What tree-sitter sees in a Python file that `ast` refuses: statements and definitions."""

from __future__ import annotations

from dataclasses import dataclass, field

import tree_sitter_python
from tree_sitter import Language, Node, Parser, TreeCursor

_SIMPLE = frozenset(
    {
        "assert_statement", "delete_statement", "expression_statement", "future_import_statement",
        "import_from_statement", "import_statement", "raise_statement", "return_statement",
        "type_alias_statement",
    }
)  # fmt: skip
_PYTHON_2 = frozenset({"print_statement", "exec_statement"})
_DEFINITIONS = frozenset({"function_definition", "class_definition"})
_CONTINUES = frozenset(
    {"elif_clause", "else_clause", "except_clause", "finally_clause", "ERROR", "comment"}
)


@dataclass(frozen=True, slots=True)
class Outline:
    """A function or class: `start`..`end` are lines from 1, `level` the definitions around it."""

    name: str
    is_class: bool
    start: int
    end: int
    level: int


@dataclass
class Syntax:
    """What `examine` found.

    `simple` maps a line to the lines of the simple statement that holds it, and `depths` a simple
    statement's first line to the depth of its tree; `foreign` are statements of Python 2;
    `generics` are (line, first byte, end byte) of type parameters; `starts` are the lines where a
    statement starts at the left margin.
    """

    simple: dict[int, tuple[int, int]] = field(default_factory=dict)
    depths: dict[int, int] = field(default_factory=dict)
    foreign: list[tuple[int, int]] = field(default_factory=list)
    generics: list[tuple[int, int, int]] = field(default_factory=list)
    outlines: list[Outline] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)


def examine(text: str) -> Syntax:
    """Read `text` with tree-sitter, in one pass over its nodes and without recursion."""
    tree = Parser(Language(tree_sitter_python.language())).parse(text.encode())
    reader = _Reader()
    cursor = tree.walk()
    depth = 0
    while True:
        node = cursor.node
        if node is not None and node.is_named:
            reader.read(node, depth)
        step = _advance(cursor)
        if step is None:
            return reader.syntax
        depth += step


def _advance(cursor: TreeCursor) -> int | None:
    """Go to the next node, outer first; the change of depth, or None at the end."""
    if cursor.goto_first_child():
        return 1
    step = 0
    while not cursor.goto_next_sibling():
        if not cursor.goto_parent():
            return None
        step -= 1
    return step


class _Reader:
    """Enters nodes into a `Syntax`, in source order."""

    def __init__(self) -> None:
        self.syntax = Syntax()
        # The last simple statement that began: its first line (0: none yet), and its depth.
        self._simple_line = 0
        self._simple_depth = 0
        # The last lines of the definitions around the current node.
        self._ends: list[int] = []

    def read(self, node: Node, depth: int) -> None:
        first = node.start_point[0] + 1
        # A node that ends in column 0 ends with the line before.
        last = node.end_point[0] + (1 if node.end_point[1] else 0)
        if depth == 1 and node.start_point[1] == 0 and node.type not in _CONTINUES:
            self.syntax.starts.append(first)
        if node.type in _SIMPLE or node.type in _PYTHON_2:
            self._simple_line, self._simple_depth = first, depth
            for line in range(first, last + 1):
                self.syntax.simple[line] = (first, last)
        if self._simple_line:
            known = self.syntax.depths.get(self._simple_line, 0)
            self.syntax.depths[self._simple_line] = max(known, depth - self._simple_depth)
        if node.type in _PYTHON_2:
            self.syntax.foreign.append((first, last))
        elif node.type == "type_parameter":
            self._read_generic(node, first, last)
        elif node.type in _DEFINITIONS:
            self._read_definition(node, first, last)

    def _read_generic(self, node: Node, first: int, last: int) -> None:
        """`[T]` of `def f[T](x)`, which Python before 3.12 refuses."""
        of_definition = node.parent is not None and node.parent.type in _DEFINITIONS
        if of_definition and first == last:
            span = (first, node.start_point[1], node.end_point[1])
            self.syntax.generics.append(span)

    def _read_definition(self, node: Node, first: int, last: int) -> None:
        while self._ends and self._ends[-1] < first:
            self._ends.pop()
        name = node.child_by_field_name("name")
        if name is not None and name.text is not None:
            word = name.text.decode("utf-8", "replace")
            is_class = node.type == "class_definition"
            self.syntax.outlines.append(Outline(word, is_class, first, last, len(self._ends)))
        self._ends.append(last)
