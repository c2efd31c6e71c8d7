"""`#define` and `#include`."""

from __future__ import annotations

import re

from tree_sitter import Node

from checks.lang.cpp.context import Context, named_children
from checks.lang.cpp.snippets import expression
from checks.lang.ir.expr import Expr
from checks.lang.ir.source_file import Constant, Import

_CONTINUED = re.compile(rb"\\(?=\r?\n)")
_DEFINE = re.compile(rb"#[ \t]*define\b")


def define(ctx: Context, node: Node, path: str) -> Constant:
    """`#define NAME value`: the value as an expression, None where there is none."""
    name_node = node.child_by_field_name("name")
    name = ctx.text(name_node) if name_node is not None else ""
    body = node.child_by_field_name("value")
    value = _value(ctx, body) if body is not None else None
    params: tuple[str, ...] | None = None
    listed = node.child_by_field_name("parameters")
    if listed is not None:
        params = tuple(ctx.text(param) for param in named_children(listed))
    return Constant(name, value, path, ctx.line(node), "define", params=params)


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
    """The `#define`s that a walk over the top level does not meet: those inside functions.

    `seen` are the lines of those that were met; `quiet` is the source without comments and strings.
    """
    constants: list[Constant] = []
    line, counted = ctx.first_line, 0
    for match in _DEFINE.finditer(quiet):
        start = match.end() - 1
        line += quiet.count(b"\n", counted, start)
        counted = start
        if line in seen:
            continue
        node = root.descendant_for_byte_range(start, start + 1)
        while node is not None and node.type not in ("preproc_def", "preproc_function_def"):
            node = node.parent
        if node is not None:
            constants.append(define(ctx, node, path))
    return constants
