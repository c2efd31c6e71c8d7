"""The parser, and expressions that stand alone: the value of a `#define`, the arguments of a masked macro."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from checks.lang.cpp import literals
from checks.lang.cpp.context import LONGEST, Context, named, squeeze
from checks.lang.cpp.dispatch import lower_expr
from checks.lang.ir.expr import Expr, Name, Unknown

if TYPE_CHECKING:
    from tree_sitter import Parser, Tree

_WORD = re.compile(r"[A-Za-z_]\w*")
_DIGITS = re.compile(r"\(?(\d[\w.]*)\)?")
_LONGEST_SNIPPET = 4000


@cache
def _parser() -> Parser:
    # Loading the grammar takes longer than reading a small file: not at import.
    import tree_sitter
    import tree_sitter_cuda

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))


def tree(code: bytes) -> Tree:
    """The syntax tree of masked source."""
    return _parser().parse(code)


def expression(text: bytes, line: int, depth: int = 0) -> Expr:
    """The expression `text`, which starts at `line`; `Unknown` when it is none, or `depth` is used up."""
    words = text.decode("utf-8", "replace").strip()
    if match := _DIGITS.fullmatch(words):
        return literals.number(match[1], line)
    if _WORD.fullmatch(words) and words not in ("true", "false", "nullptr", "NULL", "this"):
        return Name(words, line=line)
    return _parsed(text, line, depth) or Unknown(squeeze(words)[:LONGEST], line=line)


def _parsed(text: bytes, line: int, depth: int) -> Expr | None:
    if not text.strip() or len(text) > _LONGEST_SNIPPET:
        return None
    code = b"auto _ = " + text.strip() + b"\n;"
    root = tree(code).root_node
    statements = named(root)
    if root.has_error or len(statements) != 1 or statements[0].type != "declaration":
        return None
    declarators = statements[0].children_by_field_name("declarator")
    if len(declarators) != 1:
        return None
    value = declarators[0].child_by_field_name("value")
    # Side effects have no statement to go to here.
    ctx = Context(code, code, first_line=line, depth=depth, conditional=1)
    return lower_expr(ctx, value) if value is not None else None
