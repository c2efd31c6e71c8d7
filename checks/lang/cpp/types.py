"""Structs, enums and constants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from checks.lang.cpp.context import Context, named, squeeze
from checks.lang.cpp.declarators import Declared, declared, initial
from checks.lang.cpp.dispatch import lower_expr
from checks.lang.ir.expr import Binary, Const, Expr, Unary
from checks.lang.ir.source_file import Constant, Member

if TYPE_CHECKING:
    from tree_sitter import Node

_FIELDS = frozenset({"field_declaration", "declaration"})
_ARMS = frozenset(
    {"preproc_if", "preproc_ifdef", "preproc_elif", "preproc_elifdef", "preproc_else"}
)


def members(ctx: Context, body: Node) -> tuple[Member, ...]:
    """The data members of a struct, in order; every arm of an `#if` counts."""
    found: list[Member] = []
    stack = list(reversed(body.children))
    while stack:
        node = stack.pop()
        if node.type in _ARMS:
            stack.extend(reversed(node.children))
        if node.type not in _FIELDS:
            continue
        for one in declared(ctx, node):
            if one.names and one.function is None and not _static(ctx, node):
                dims = tuple(lower_expr(ctx, d) for d in one.dims)
                kind = one.type
                for size in reversed(one.dims):
                    kind = kind.removesuffix(f"[{ctx.span(size.start_byte, size.end_byte)}]")
                found.append(Member(one.names[0], kind, dims, ctx.line(one.node)))
    return tuple(found)


def _static(ctx: Context, node: Node) -> bool:
    return any(
        c.type == "storage_class_specifier" and ctx.text(c) == "static" for c in node.children
    )


def bases(ctx: Context, node: Node) -> tuple[str, ...]:
    """What a class derives from."""
    clause = next((c for c in node.children if c.type == "base_class_clause"), None)
    if clause is None:
        return ()
    kinds = ("type_identifier", "qualified_identifier", "template_type")
    return tuple(ctx.span(c.start_byte, c.end_byte) for c in named(clause) if c.type in kinds)


def enumerators(ctx: Context, node: Node, path: str) -> list[Constant]:
    """The members of an enum; one without a value is one more than the one before it."""
    name = node.child_by_field_name("name")
    owner = ctx.text(name) if name is not None else ""
    base = node.child_by_field_name("base")
    kind = ctx.span(base.start_byte, base.end_byte) if base is not None else ""
    body = node.child_by_field_name("body")
    found: list[Constant] = []
    last: Expr | None = None
    for item in named(body) if body is not None else []:
        label = item.child_by_field_name("name") if item.type == "enumerator" else None
        if label is None:
            continue
        value = item.child_by_field_name("value")
        line = ctx.line(item)
        last = lower_expr(ctx, value) if value is not None else _next(last, line)
        found.append(Constant(ctx.text(label), last, path, line, "enum", owner, type=kind))
    return found


def _next(last: Expr | None, line: int) -> Expr:
    match last:
        case None | Unary(op="-", operand=Const(value=1)):
            return Const(0, line=line)
        case Const(value=int(value)):
            return Const(value + 1, line=line)
        case Binary(op="+", left=left, right=Const(value=int(more))):
            return Binary("+", left, Const(more + 1, line=line), line=line)
        case _:
            return Binary("+", last, Const(1, line=line), line=line)


def constant(ctx: Context, node: Node, one: Declared, path: str, owner: str) -> Constant | None:
    """A `constexpr` or `const` value; `kind` says which."""
    words = {
        ctx.text(c)
        for c in node.children
        if c.type in ("type_qualifier", "storage_class_specifier")
    }
    if not words & {"constexpr", "const", "consteval", "constinit"}:
        return None
    default = node.child_by_field_name("default_value")
    value = lower_expr(ctx, default) if default is not None else initial(ctx, node, one)
    kind = "constexpr" if "constexpr" in words else "const"
    if value is None:
        return None
    return Constant(
        squeeze(one.names[0]), value, path, ctx.line(one.node), kind, owner, type=one.type
    )
