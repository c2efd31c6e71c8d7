"""Expressions that stand alone: the value of a `#define`, the arguments of a masked macro."""

from __future__ import annotations

import re

from checks.lang.cpp import literals
from checks.lang.cpp.context import LONGEST_TEXT, Context, collapse_whitespace, named_children
from checks.lang.cpp.expressions import lower_expr
from checks.lang.cpp.grammar import syntax_tree
from checks.lang.ir.expr import Expr, Name, Unknown

_WORD = re.compile(r"[A-Za-z_]\w*")
_DIGITS = re.compile(r"\(?(\d[\w.]*)\)?")
_KEYWORDS = frozenset({"true", "false", "nullptr", "NULL", "this"})
# Bytes; what is longer is a table or generated code.
_LONGEST_SNIPPET = 4000


def expression(text: bytes, line: int, depth: int = 0) -> Expr:
    """The expression `text`, which starts at `line`.

    `Unknown` when it is no expression, or `depth` is used up.
    """
    words = text.decode("utf-8", "replace").strip()
    # Most of them are a number or a name, which needs no parser.
    if match := _DIGITS.fullmatch(words):
        return literals.number(match[1], line)
    if _WORD.fullmatch(words) and words not in _KEYWORDS:
        return Name(words, line=line)
    parsed = _parse_snippet(text.strip(), line, depth)
    if parsed is None:
        return Unknown(collapse_whitespace(words)[:LONGEST_TEXT], line=line)
    return parsed


def _parse_snippet(text: bytes, line: int, depth: int) -> Expr | None:
    if not text or len(text) > _LONGEST_SNIPPET:
        return None
    # The grammar reads whole declarations only.
    code = b"auto _ = " + text + b"\n;"
    root = syntax_tree(code)
    statements = named_children(root)
    if root.has_error or len(statements) != 1 or statements[0].type != "declaration":
        return None
    declarators = statements[0].children_by_field_name("declarator")
    if len(declarators) != 1:
        return None
    value = declarators[0].child_by_field_name("value")
    if value is None:
        return None
    # Side effects have no statement to go to here, so none may be moved out.
    return lower_expr(Context(code, code, first_line=line, depth=depth, conditional=1), value)
