"""What is carried along while a C++ tree is lowered to the common language."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tree_sitter import Node

from checks.lang.ir.expr import Expr, Unknown
from checks.lang.ir.stmt import Stmt

# Deeper nesting is given up on. A nested statement or expression costs `STEP` (and about four of
# Python's 1000 frames). A link of a chain (`a + b + ...`, `else if`) costs 1: it takes no frame
# here, but one in a later walk over the result.
DEEPEST = 200
STEP = 2
# Characters of source that an `Unknown` or `Opaque` keeps: for a reader, not for analysis.
LONGEST_TEXT = 400


@dataclass(slots=True)
class Context:
    """The source that is lowered, and the state of the statement that is being lowered.

    `data` is the source, `code` the masked text that was parsed; both have the same positions.
    `blocks` maps where a macro's block starts to the macro's span, `dropped` are lines that were
    blanked.

    The common language has no side effects inside expressions: `before` and `after` collect what
    an expression does besides having a value (`a[i++]`), and `lambdas` the lambdas in it.
    `conditional` is above 0 where an operand might not be evaluated: nothing may be moved out then.
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
    lambdas: list[Node] = field(default_factory=list)

    def text(self, node: Node) -> str:
        """The source of `node`, as written."""
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def masked_text(self, node: Node) -> str:
        """The masked source of `node`, on one line."""
        return self.masked_between(node.start_byte, node.end_byte)

    def masked_between(self, start: int, end: int) -> str:
        """The masked source between two byte offsets, on one line."""
        return collapse_whitespace(self.code[start:end].decode("utf-8", "replace"))

    def line(self, node: Node) -> int:
        """The line where `node` starts."""
        return node.start_point[0] + self.first_line

    def end_line(self, node: Node) -> int:
        """The last line of `node`."""
        row, column = node.end_point
        # A preprocessor node ends at the start of the line after it.
        if column == 0:
            row -= 1
        return max(node.start_point[0], row) + self.first_line

    def unknown(self, node: Node) -> Expr:
        """`node` as an expression that is not understood."""
        text = collapse_whitespace(self.text(node))
        return Unknown(text[:LONGEST_TEXT], line=self.line(node))

    @contextmanager
    def deeper(self, steps: int) -> Iterator[None]:
        """Count `steps` of nesting inside a `with` block."""
        self.depth += steps
        try:
            yield
        finally:
            self.depth -= steps

    @contextmanager
    def conditionally(self) -> Iterator[None]:
        """Inside a `with` block, nothing is moved out of expressions."""
        self.conditional += 1
        try:
            yield
        finally:
            self.conditional -= 1

    @contextmanager
    def own_effects(self) -> Iterator[None]:
        """Inside a `with` block, side effects are collected apart from those outside."""
        outside = self.before, self.after, self.lambdas, self.conditional
        self.before, self.after, self.lambdas, self.conditional = [], [], [], 0
        try:
            yield
        finally:
            self.before, self.after, self.lambdas, self.conditional = outside


def collapse_whitespace(text: str) -> str:
    """Runs of white space as one space, none at the ends."""
    return " ".join(text.split())


def named_children(node: Node | None) -> list[Node]:
    """The named children but comments; none of None."""
    if node is None:
        return []
    return [child for child in node.named_children if child.type != "comment"]


def field_of(node: Node, *names: str) -> Node | None:
    """The child of `node` in the first of the fields `names` that it has."""
    for name in names:
        child = node.child_by_field_name(name)
        if child is not None:
            return child
    return None


def has_broken_child(node: Node) -> bool:
    """Whether the parser skipped something directly inside `node`."""
    return any(child.is_error for child in node.children)


def is_static(ctx: Context, declaration: Node) -> bool:
    """Whether a declaration has the storage class `static`."""
    for child in declaration.children:
        if child.type == "storage_class_specifier" and ctx.text(child) == "static":
            return True
    return False
