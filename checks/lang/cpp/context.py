"""What lowering carries along: the two texts, the depth, and what has to run before or after a statement."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from checks.lang.ir.expr import Expr, Unknown
from checks.lang.ir.stmt import Stmt

if TYPE_CHECKING:
    from tree_sitter import Node

# Nesting that is given up on. A nested statement or expression costs `STEP` (and about four of Python's 1000 frames),
# a link of a chain (`a + b + ...`, `else if`), which costs no frame here but one in a walk over the tree, is 1.
DEEPEST = 200
STEP = 2
# A side effect or a lambda's text is kept for a reader, not for analysis.
LONGEST = 400


@dataclass(slots=True)
class Context:
    """`data` is the source, `code` the masked text that was parsed; both have the same positions.

    `before` and `after` collect what an expression does besides having a value (`a[i++]`), `lambdas` the bodies of
    lambdas in it; `conditional` is above 0 where an operand might not be evaluated, so that nothing may be moved out.
    """

    data: bytes
    code: bytes
    first_line: int = 1
    blocks: dict[int, tuple[int, int]] = field(default_factory=dict)
    dropped: tuple[tuple[int, int], ...] = ()
    depth: int = 0
    conditional: int = 0
    before: list[Stmt] = field(default_factory=list)
    after: list[Stmt] = field(default_factory=list)
    lambdas: list[Stmt] = field(default_factory=list)

    def text(self, node: Node) -> str:
        """The source of `node`, as written."""
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def span(self, start: int, end: int) -> str:
        """Masked source between two offsets, on one line."""
        return squeeze(self.code[start:end].decode("utf-8", "replace"))

    def line(self, node: Node) -> int:
        return node.start_point[0] + self.first_line

    def end_line(self, node: Node) -> int:
        row, column = node.end_point
        # A preprocessor node ends at the start of the line after it.
        return max(node.start_point[0], row - (column == 0)) + self.first_line

    def unknown(self, node: Node) -> Expr:
        return Unknown(squeeze(self.text(node))[:LONGEST], line=self.line(node))


def squeeze(text: str) -> str:
    """Runs of white space as one space, none at the ends."""
    return " ".join(text.split())


def named(node: Node) -> list[Node]:
    """The named children but comments."""
    return [child for child in node.named_children if child.type != "comment"]
