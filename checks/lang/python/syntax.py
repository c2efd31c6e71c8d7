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
    syntax = Syntax()
    cursor = tree.walk()
    depth, holder, definitions = 0, (0, 0), [0]
    while True:
        node = cursor.node
        if node is not None and node.is_named:
            first = node.start_point[0] + 1
            if depth == 1 and node.start_point[1] == 0 and node.type not in _CONTINUES:
                syntax.starts.append(first)
            if node.type in _SIMPLE or node.type in _PYTHON_2:
                holder = (first, depth)
            if holder[0]:
                deepest = max(syntax.depths.get(holder[0], 0), depth - holder[1])
                syntax.depths[holder[0]] = deepest
            _note(node, first, definitions, syntax)
        step = _advance(cursor)
        if step is None:
            return syntax
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


def _note(node: Node, first: int, definitions: list[int], syntax: Syntax) -> None:
    """Enter `node` into `syntax`; `definitions` are the last lines of the definitions around it."""
    last = node.end_point[0] + (1 if node.end_point[1] else 0)
    if node.type in _SIMPLE or node.type in _PYTHON_2:
        for line in range(first, last + 1):
            syntax.simple[line] = (first, last)
    if node.type in _PYTHON_2:
        syntax.foreign.append((first, last))
    elif node.type == "type_parameter" and node.parent and node.parent.type in _DEFINITIONS:
        if first == last:
            syntax.generics.append((first, node.start_point[1], node.end_point[1]))
    elif node.type in _DEFINITIONS:
        name = node.child_by_field_name("name")
        while len(definitions) > 1 and definitions[-1] < first:
            definitions.pop()
        if name is not None and name.text is not None:
            word, level = name.text.decode("utf-8", "replace"), len(definitions) - 1
            kind = node.type == "class_definition"
            syntax.outlines.append(Outline(word, kind, first, last, level))
        definitions.append(last)
