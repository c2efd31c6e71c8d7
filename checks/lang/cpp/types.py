"""Structs, enums and constants."""

from __future__ import annotations

from tree_sitter import Node

from checks.lang.cpp.context import Context, collapse_whitespace, is_static, named_children
from checks.lang.cpp.declarators import Declarator, declarators, initial_value
from checks.lang.cpp.expressions import lower_each, lower_expr
from checks.lang.cpp.scope import PREPROCESSOR_ARMS
from checks.lang.ir.expr import Binary, Const, Expr, Unary
from checks.lang.ir.source_file import Constant, Member

_FIELD_TYPES = frozenset({"field_declaration", "declaration"})
_BASE_TYPES = frozenset({"type_identifier", "qualified_identifier", "template_type"})
_CONST_WORDS = frozenset({"constexpr", "const", "consteval", "constinit"})


def members(ctx: Context, body: Node) -> tuple[Member, ...]:
    """The data members of a struct, in order; every arm of an `#if` counts."""
    found: list[Member] = []
    waiting = body.children[::-1]
    while waiting:
        node = waiting.pop()
        if node.type in PREPROCESSOR_ARMS:
            waiting.extend(reversed(node.children))
        if node.type not in _FIELD_TYPES or is_static(ctx, node):
            continue
        for declarator in declarators(ctx, node):
            if declarator.names and declarator.function is None:
                found.append(_member(ctx, declarator))
    return tuple(found)


def _member(ctx: Context, declarator: Declarator) -> Member:
    """A member; its type is without the array sizes, which are its `dims`."""
    kind = declarator.type
    for size in reversed(declarator.dims):
        kind = kind.removesuffix(f"[{ctx.masked_text(size)}]")
    dims = lower_each(ctx, declarator.dims)
    return Member(declarator.names[0], kind, dims, ctx.line(declarator.node))


def bases(ctx: Context, node: Node) -> tuple[str, ...]:
    """What a class derives from."""
    clause = next((c for c in node.children if c.type == "base_class_clause"), None)
    return tuple(ctx.masked_text(c) for c in named_children(clause) if c.type in _BASE_TYPES)


def enumerators(ctx: Context, node: Node, path: str) -> list[Constant]:
    """The members of an enum; one without a value is one more than the one before it."""
    name = node.child_by_field_name("name")
    owner = ctx.text(name) if name is not None else ""
    base = node.child_by_field_name("base")
    kind = ctx.masked_text(base) if base is not None else ""
    constants: list[Constant] = []
    value: Expr | None = None
    for item in named_children(node.child_by_field_name("body")):
        label = item.child_by_field_name("name") if item.type == "enumerator" else None
        if label is None:
            continue
        line = ctx.line(item)
        given = item.child_by_field_name("value")
        value = lower_expr(ctx, given) if given is not None else _one_more(value, line)
        constants.append(Constant(ctx.text(label), value, path, line, "enum", owner, type=kind))
    return constants


def _one_more(previous: Expr | None, line: int) -> Expr:
    match previous:
        case None | Unary(op="-", operand=Const(value=1)):
            return Const(0, line=line)
        case Const(value=int(value)):
            return Const(value + 1, line=line)
        case Binary(op="+", left=left, right=Const(value=int(more))):
            return Binary("+", left, Const(more + 1, line=line), line=line)
        case _:
            return Binary("+", previous, Const(1, line=line), line=line)


def constant(
    ctx: Context, node: Node, declarator: Declarator, path: str, owner: str
) -> Constant | None:
    """A `constexpr` or `const` value, with which of them as its kind; None for any other."""
    specifiers: set[str] = set()
    for child in node.children:
        if child.type in ("type_qualifier", "storage_class_specifier"):
            specifiers.add(ctx.text(child))
    if not specifiers & _CONST_WORDS:
        return None
    default = node.child_by_field_name("default_value")
    if default is not None:
        value: Expr | None = lower_expr(ctx, default)
    else:
        value = initial_value(ctx, node, declarator)
    if value is None:
        return None
    name = collapse_whitespace(declarator.names[0])
    line = ctx.line(declarator.node)
    kind = "constexpr" if "constexpr" in specifiers else "const"
    return Constant(name, value, path, line, kind, owner, type=declarator.type)
