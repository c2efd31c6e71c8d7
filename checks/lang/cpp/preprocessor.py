"""`#define` and `#include`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from checks.lang.cpp.context import Context, named
from checks.lang.cpp.snippets import expression
from checks.lang.ir.expr import Expr
from checks.lang.ir.source_file import Constant, Import

if TYPE_CHECKING:
    from tree_sitter import Node

_CONTINUED = re.compile(rb"\\(?=\r?\n)")
DEFINE = re.compile(rb"#[ \t]*define\b")


def define(ctx: Context, node: Node, path: str) -> Constant:
    """`#define NAME value`: the value as an expression, None where there is none."""
    name = node.child_by_field_name("name")
    text = ctx.text(name) if name is not None else ""
    body = node.child_by_field_name("value")
    listed = node.child_by_field_name("parameters")
    params = tuple(ctx.text(p) for p in named(listed)) if listed is not None else None
    value = _value(ctx, body) if body is not None else None
    return Constant(text, value, path, ctx.line(node), "define", params=params)


def _value(ctx: Context, body: Node) -> Expr | None:
    # Comments are blank in the masked text, and no macro is masked on a directive.
    text = _CONTINUED.sub(b" ", ctx.code[body.start_byte : body.end_byte])
    return expression(text, ctx.line(body)) if text.strip() else None


def include(ctx: Context, node: Node, guard: str) -> Import:
    """`#include "a/b.h"`: the path without its quotes."""
    path = node.child_by_field_name("path")
    text = ctx.text(path).strip('"<>') if path is not None else ""
    return Import(text, "", "", ctx.line(node), guard)


def inner_defines(
    ctx: Context, root: Node, quiet: bytes, path: str, seen: set[int]
) -> list[Constant]:
    """The `#define`s that a walk over the top level does not meet: those inside functions. `seen` are lines."""
    found: list[Constant] = []
    line, counted = ctx.first_line, 0
    for match in DEFINE.finditer(quiet):
        start = match.end() - 1
        line += quiet.count(b"\n", counted, start)
        counted = start
        if line in seen:
            continue
        node = root.descendant_for_byte_range(start, start + 1)
        while node is not None and node.type not in ("preproc_def", "preproc_function_def"):
            node = node.parent
        if node is not None:
            found.append(define(ctx, node, path))
    return found
