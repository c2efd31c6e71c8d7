"""Names, literals, members and elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from checks.lang.cpp import calls, literals
from checks.lang.cpp.context import Context, named, squeeze
from checks.lang.cpp.dispatch import field_expr, lower_expr
from checks.lang.ir.expr import Attr, Const, Expr, Index, Name

if TYPE_CHECKING:
    from tree_sitter import Node


def _name(ctx: Context, node: Node) -> Expr:
    return Name(squeeze(ctx.text(node)), line=ctx.line(node))


def _qualified(ctx: Context, node: Node) -> Expr:
    """`std::min` of `std::min<int>`: a call has its template arguments in `template`."""
    arguments = calls.template_arguments(node)
    end = arguments.start_byte if arguments is not None else node.end_byte
    text = squeeze(ctx.data[node.start_byte : end].decode("utf-8", "replace"))
    return Name(text.replace(" ::", "::").replace(":: ", "::"), line=ctx.line(node))


def _template_function(ctx: Context, node: Node) -> Expr:
    name = node.child_by_field_name("name")
    return lower_expr(ctx, name) if name is not None else ctx.unknown(node)


def _number(ctx: Context, node: Node) -> Expr:
    return literals.number(ctx.text(node), ctx.line(node))


def _string(ctx: Context, node: Node) -> Expr:
    return Const(literals.string(ctx.text(node)), line=ctx.line(node))


def _strings(ctx: Context, node: Node) -> Expr:
    parts = named(node)
    if any(part.type not in ("string_literal", "raw_string_literal") for part in parts):
        return ctx.unknown(node)
    return Const("".join(literals.string(ctx.text(part)) for part in parts), line=ctx.line(node))


def _character(ctx: Context, node: Node) -> Expr:
    return literals.character(ctx.text(node), ctx.line(node))


def _keyword(ctx: Context, node: Node) -> Expr:
    return Const({"true": True, "false": False}.get(node.type), line=ctx.line(node))


def _parenthesized(ctx: Context, node: Node) -> Expr:
    inner = named(node)
    return lower_expr(ctx, inner[0]) if len(inner) == 1 else ctx.unknown(node)


def _field(ctx: Context, node: Node) -> Expr:
    member = node.child_by_field_name("field")
    base = field_expr(ctx, node, "argument")
    if member is None:
        return ctx.unknown(node)
    if member.type in ("template_method", "dependent_name"):
        member = calls.plain_member(member)
    return Attr(base, squeeze(ctx.text(member)), line=ctx.line(node))


def _subscript(ctx: Context, node: Node) -> Expr:
    base = field_expr(ctx, node, "argument")
    indices = node.child_by_field_name("indices")
    items = named(indices) if indices is not None else []
    if not items or (indices is not None and indices.has_error):
        return ctx.unknown(node)
    return Index(base, tuple(lower_expr(ctx, item) for item in items), line=ctx.line(node))


def _pack(ctx: Context, node: Node) -> Expr:
    inner = named(node)
    return lower_expr(ctx, inner[0]) if len(inner) == 1 else ctx.unknown(node)


HANDLERS: dict[str, Callable[[Context, Node], Expr]] = {
    "identifier": _name,
    "field_identifier": _name,
    "namespace_identifier": _name,
    "this": _name,
    "type_identifier": _name,
    "operator_name": _name,
    "qualified_identifier": _qualified,
    "dependent_name": _qualified,
    "template_function": _template_function,
    "number_literal": _number,
    "string_literal": _string,
    "raw_string_literal": _string,
    "concatenated_string": _strings,
    "char_literal": _character,
    "true": _keyword,
    "false": _keyword,
    "null": _keyword,
    "parenthesized_expression": _parenthesized,
    "condition_clause": _parenthesized,
    "field_expression": _field,
    "subscript_expression": _subscript,
    "parameter_pack_expansion": _pack,
}
