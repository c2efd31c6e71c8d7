"""Operators, and what an expression does besides having a value (`a[i++]`, `x = y = 0`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from checks.lang.cpp.context import DEEPEST, Context
from checks.lang.cpp.dispatch import field_expr, lower_expr, maybe
from checks.lang.ir.expr import Binary, Cast, Const, Expr, Name, Ternary, Unary
from checks.lang.ir.stmt import Assign, ExprStmt

if TYPE_CHECKING:
    from tree_sitter import Node

_LOGIC = {"&&": "and", "||": "or", "bitand": "&", "bitor": "|", "xor": "^", "not_eq": "!="}
_UNARY = {"!": "not", "compl": "~"}
_UNIFORM = frozenset(
    [
        "+",
        "-",
        "*",
        "/",
        "%",
        "<<",
        ">>",
        "&",
        "|",
        "^",
        "==",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "and",
        "or",
    ]
)


def _binary(ctx: Context, node: Node) -> Expr:
    """Left-leaning chains are walked in a loop, so that their length costs no recursion."""
    depth = ctx.depth
    try:
        return _chain(ctx, node)
    finally:
        ctx.depth = depth


def _chain(ctx: Context, node: Node) -> Expr:
    chain: list[tuple[str, Node]] = []
    while True:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if left is None or right is None or operator is None or ctx.depth >= DEEPEST:
            return ctx.unknown(node)
        ctx.depth += 1
        chain.append((_LOGIC.get(operator.type, operator.type), right))
        if left.type != "binary_expression" or left.has_error:
            break
        node = left
    result = lower_expr(ctx, left)
    for op, operand in reversed(chain):
        logic = op in ("and", "or")
        value = maybe(ctx, operand) if logic else lower_expr(ctx, operand)
        if op not in _UNIFORM:
            return ctx.unknown(node)
        result = Binary(op, result, value, line=result.line)
    return result


def _unary(ctx: Context, node: Node) -> Expr:
    operator = node.child_by_field_name("operator")
    op = operator.type if operator is not None else ""
    op = _UNARY.get(op, op)
    if op not in ("not", "-", "+", "~", "*", "&"):
        return ctx.unknown(node)
    value = field_expr(ctx, node, "argument")
    return Unary(op, value, line=ctx.line(node))


def _update(ctx: Context, node: Node) -> Expr:
    """`i++` inside an expression is its value, and an assignment moved out behind the statement (`++i`: before)."""
    argument, operator = node.child_by_field_name("argument"), node.child_by_field_name("operator")
    if ctx.conditional or argument is None or operator is None:
        return ctx.unknown(node)
    target = lower_expr(ctx, argument)
    line = ctx.line(node)
    step = Assign(target, f"{operator.type[0]}=", Const(1), line=line, end_line=ctx.end_line(node))
    prefix = operator.start_byte < argument.start_byte
    (ctx.before if prefix else ctx.after).append(step)
    return target


def _assignment(ctx: Context, node: Node) -> Expr:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = node.child_by_field_name("operator")
    if ctx.conditional or left is None or right is None or operator is None:
        return ctx.unknown(node)
    if left.type == "call_expression":  # `py::arg("x") = 3`: a default, nothing is set
        return ctx.unknown(node)
    value, target = lower_expr(ctx, right), lower_expr(ctx, left)
    line, end_line = ctx.line(node), ctx.end_line(node)
    ctx.before.append(Assign(target, operator.type, value, line=line, end_line=end_line))
    return target


def _comma(ctx: Context, node: Node) -> Expr:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if ctx.conditional or left is None or right is None:
        return ctx.unknown(node)
    first = lower_expr(ctx, left)
    if not isinstance(first, Name):
        ctx.before.append(ExprStmt(first, line=ctx.line(left), end_line=ctx.end_line(left)))
    return lower_expr(ctx, right)


def _ternary(ctx: Context, node: Node) -> Expr:
    then, orelse = node.child_by_field_name("consequence"), node.child_by_field_name("alternative")
    if then is None or orelse is None:
        return ctx.unknown(node)
    test = field_expr(ctx, node, "condition")
    return Ternary(test, maybe(ctx, then), maybe(ctx, orelse), line=ctx.line(node))


def _cast(ctx: Context, node: Node) -> Expr:
    kind = node.child_by_field_name("type")
    text = ctx.span(kind.start_byte, kind.end_byte) if kind is not None else ""
    return Cast(text, field_expr(ctx, node, "value"), line=ctx.line(node))


HANDLERS: dict[str, Callable[[Context, Node], Expr]] = {
    "binary_expression": _binary,
    "unary_expression": _unary,
    "pointer_expression": _unary,
    "update_expression": _update,
    "assignment_expression": _assignment,
    "comma_expression": _comma,
    "conditional_expression": _ternary,
    "cast_expression": _cast,
}
