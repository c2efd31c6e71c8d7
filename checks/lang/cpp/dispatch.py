"""From a tree-sitter expression to the function that lowers its kind."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from checks.lang.cpp.context import DEEPEST, STEP, Context
from checks.lang.ir.expr import Expr

if TYPE_CHECKING:
    from tree_sitter import Node


@cache
def _handlers() -> dict[str, Callable[[Context, Node], Expr]]:
    # These modules need this one for the operands inside theirs.
    from checks.lang.cpp import calls, expressions, objects, operators

    return {
        **expressions.HANDLERS,
        **operators.HANDLERS,
        **objects.HANDLERS,
        "call_expression": calls.lower_call,
    }


def lower_expr(ctx: Context, node: Node) -> Expr:
    """The expression at `node`; `Unknown` where it has no form, holds an error or nests too deep."""
    handler = _handlers().get(node.type)
    if handler is None or ctx.depth >= DEEPEST:
        return ctx.unknown(node)
    if node.has_error and any(c.is_error or c.is_missing for c in node.children):
        return ctx.unknown(node)
    ctx.depth += STEP
    try:
        return handler(ctx, node)
    finally:
        ctx.depth -= STEP


def field_expr(ctx: Context, node: Node, name: str) -> Expr:
    """The expression in one field of `node`, `Unknown` when it is not there."""
    child = node.child_by_field_name(name)
    return lower_expr(ctx, child) if child is not None else ctx.unknown(node)


def maybe(ctx: Context, node: Node) -> Expr:
    """An expression whose evaluation depends on another one: nothing is moved out of it."""
    ctx.conditional += 1
    try:
        return lower_expr(ctx, node)
    finally:
        ctx.conditional -= 1
