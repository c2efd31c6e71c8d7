"""Initialisers, types as operands, `new` and `delete`, lambdas."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from checks.lang.cpp.context import Context, named, squeeze
from checks.lang.cpp.dispatch import field_expr, lower_expr
from checks.lang.cpp.lower import lower_lambda
from checks.lang.ir.expr import Call, Cast, Expr, Mapping, Name, Sequence, Unknown

if TYPE_CHECKING:
    from tree_sitter import Node


def _initializer(ctx: Context, node: Node) -> Expr:
    items = named(node)
    if items and all(item.type == "initializer_pair" for item in items):
        pairs = [(_designator(ctx, item), field_expr(ctx, item, "value")) for item in items]
        return Mapping(tuple(pairs), line=ctx.line(node))
    return Sequence("init", tuple(lower_expr(ctx, item) for item in items), line=ctx.line(node))


def _designator(ctx: Context, pair: Node) -> Expr:
    node = pair.child_by_field_name("designator")
    if node is None:
        return ctx.unknown(pair)
    inner = named(node)
    if node.type == "subscript_designator" and len(inner) == 1:
        return lower_expr(ctx, inner[0])
    return Name(squeeze(ctx.text(node)).lstrip("."), line=ctx.line(node))


def _sizeof(ctx: Context, node: Node) -> Expr:
    """`sizeof(T)`: the type is a name, as the grammar cannot tell it from a variable."""
    word = node.type.partition("_")[0]
    kind, value = node.child_by_field_name("type"), node.child_by_field_name("value")
    target = kind if kind is not None else value
    if target is None:
        return ctx.unknown(node)
    line = ctx.line(node)
    argument = (
        Name(squeeze(ctx.text(target)), line=line) if target is kind else lower_expr(ctx, target)
    )
    return Call(Name(word, line=line), (argument,), line=line)


def _type(ctx: Context, node: Node) -> Expr:
    return Name(ctx.span(node.start_byte, node.end_byte), line=ctx.line(node))


def _new(ctx: Context, node: Node) -> Expr:
    kind = node.child_by_field_name("type")
    arguments = node.child_by_field_name("arguments")
    items = named(arguments) if arguments is not None else []
    size = node.child_by_field_name("declarator")
    args = [_type(ctx, kind) if kind is not None else ctx.unknown(node)]
    args += [lower_expr(ctx, item) for item in ([*named(size), *items] if size else items)]
    return Call(Name("new", line=ctx.line(node)), tuple(args), line=ctx.line(node))


def _delete(ctx: Context, node: Node) -> Expr:
    args = tuple(lower_expr(ctx, item) for item in named(node))
    return Call(Name("delete", line=ctx.line(node)), args, line=ctx.line(node))


def _compound_literal(ctx: Context, node: Node) -> Expr:
    """`int{x}` is a cast, `dim3{a, b}` a call."""
    kind, value = node.child_by_field_name("type"), node.child_by_field_name("value")
    if kind is None or value is None:
        return ctx.unknown(node)
    name, line = _type(ctx, kind), ctx.line(node)
    items = tuple(lower_expr(ctx, item) for item in named(value))
    if kind.type in ("primitive_type", "sized_type_specifier") and len(items) == 1:
        return Cast(ctx.span(kind.start_byte, kind.end_byte), items[0], line=line)
    return Call(name, items, line=line)


def _lambda(ctx: Context, node: Node) -> Expr:
    """The body goes before the statement (`Context.lambdas`); what stays is the head, as text."""
    body = node.child_by_field_name("body")
    if body is None:
        return ctx.unknown(node)
    ctx.lambdas.append(lower_lambda(ctx, node))
    head = ctx.span(node.start_byte, body.start_byte)
    return Unknown(f"{head} {{...}}", line=ctx.line(node))


HANDLERS: dict[str, Callable[[Context, Node], Expr]] = {
    "template_type": _type,
    "type_descriptor": _type,
    "primitive_type": _type,
    "sized_type_specifier": _type,
    "initializer_list": _initializer,
    "sizeof_expression": _sizeof,
    "alignof_expression": _sizeof,
    "new_expression": _new,
    "delete_expression": _delete,
    "compound_literal_expression": _compound_literal,
    "lambda_expression": _lambda,
}
