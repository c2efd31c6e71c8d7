"""Statements without branches: effects, declarations, assertions, jumps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from checks.lang.cpp import calls
from checks.lang.cpp.context import Context, named, squeeze
from checks.lang.cpp.declarators import declared, initial
from checks.lang.cpp.dispatch import lower_expr
from checks.lang.cpp.lower import Stmts, ends, lower_all, opaque
from checks.lang.cpp.snippets import expression
from checks.lang.ir.expr import Const, Expr, Name, Sequence
from checks.lang.ir.stmt import Assert, Assign, Define, ExprStmt, Jump, Raise, Return, Stmt, With

if TYPE_CHECKING:
    from tree_sitter import Node


def _compound(ctx: Context, node: Node) -> Stmts:
    inside = lower_all(ctx, named(node))
    macro = ctx.blocks.get(node.start_byte)
    if macro is None:
        return (With("block", inside, **ends(ctx, node)),)
    call = expression(
        _emptied(ctx, node, macro), ctx.first_line + ctx.data.count(b"\n", 0, macro[0])
    )
    return (With("lambda", inside, items=(call,), **ends(ctx, node)),)


def _emptied(ctx: Context, node: Node, macro: tuple[int, int]) -> bytes:
    """The macro's call with an empty list where its block is."""
    start, end = macro
    return ctx.data[start : node.start_byte] + b"{}" + ctx.data[node.end_byte : end]


def _expression(ctx: Context, node: Node) -> Stmts:
    inner = named(node)
    if not inner:
        return ()
    if len(inner) != 1 or any(c.is_error for c in node.children):
        return opaque(ctx, node)
    return lower_effect(ctx, inner[0], node)


def lower_effect(ctx: Context, inner: Node, node: Node) -> Stmts:
    """An expression for what it does, as the statement at `node`."""
    if inner.type == "parenthesized_expression" and len(named(inner)) == 1:
        inner = named(inner)[0]
    where = ends(ctx, node)
    if inner.type == "comma_expression":
        return tuple(s for part in _comma_parts(inner) for s in lower_effect(ctx, part, part))
    if inner.type == "update_expression" and not inner.has_error:
        argument, operator = (
            inner.child_by_field_name("argument"),
            inner.child_by_field_name("operator"),
        )
        if argument is not None and operator is not None:
            target = lower_expr(ctx, argument)
            return (Assign(target, f"{operator.type[0]}=", Const(1, line=where["line"]), **where),)
    if inner.type == "assignment_expression" and not any(c.is_error for c in inner.children):
        left, right = inner.child_by_field_name("left"), inner.child_by_field_name("right")
        operator = inner.child_by_field_name("operator")
        if left is not None and right is not None and operator is not None:
            value = lower_expr(ctx, right)
            return (Assign(lower_expr(ctx, left), operator.type, value, **where),)
    value = lower_expr(ctx, inner)
    if found := calls.assertion(value):
        return (Assert(*found, **where),)
    return (Raise(value, **where),) if calls.throws(value) else (ExprStmt(value, **where),)


def _comma_parts(node: Node) -> list[Node]:
    """`a, b, c` in order; a list as long as it likes."""
    found: list[Node] = []
    stack = [node]
    while stack:
        one = stack.pop()
        if one.type == "comma_expression":
            stack.extend(reversed(named(one)))
        else:
            found.append(one)
    return found


def lower_declaration(ctx: Context, node: Node) -> Stmts:
    """A declaration, one assignment per declarator."""
    if any(c.is_error for c in node.children):
        return opaque(ctx, node)
    static = any(
        c.type == "storage_class_specifier" and ctx.text(c) == "static" for c in node.children
    )
    found: list[Stmt] = []
    for one in declared(ctx, node):
        if not one.names:
            return opaque(ctx, node)
        value = initial(ctx, node, one)
        target = _target(one.names, ctx.line(one.node))
        found.append(Assign(target, "=", value, one.type, static, **ends(ctx, node)))
    return tuple(found) or _type_only(ctx, node)


def _target(names: tuple[str, ...], line: int) -> Expr:
    if len(names) == 1:
        return Name(names[0], line=line)
    return Sequence("tuple", tuple(Name(name, line=line) for name in names), line=line)


def _type_only(ctx: Context, node: Node) -> Stmts:
    kind = node.child_by_field_name("type")
    name = kind.child_by_field_name("name") if kind is not None else None
    return (Define(ctx.text(name), **ends(ctx, node)),) if name is not None else ()


def _define(ctx: Context, node: Node) -> Stmts:
    """A type that is named here: `using T = ...`, `typedef`, a local struct."""
    name = node.child_by_field_name("name") or node.child_by_field_name("declarator")
    return (Define(squeeze(ctx.text(name)), **ends(ctx, node)),) if name is not None else ()


def _return(ctx: Context, node: Node) -> Stmts:
    inner = named(node)
    if any(c.is_error for c in node.children) or len(inner) > 1:
        return opaque(ctx, node)
    return (Return(lower_expr(ctx, inner[0]) if inner else None, **ends(ctx, node)),)


def _throw(ctx: Context, node: Node) -> Stmts:
    inner = named(node)
    return (Raise(lower_expr(ctx, inner[0]) if inner else None, **ends(ctx, node)),)


def _jump(ctx: Context, node: Node) -> Stmts:
    return (Jump(node.type.removesuffix("_statement"), **ends(ctx, node)),)


def _label(ctx: Context, node: Node) -> Stmts:
    return lower_all(ctx, [c for c in named(node) if c.type != "statement_identifier"])


def _static_assert(ctx: Context, node: Node) -> Stmts:
    test = node.child_by_field_name("condition")
    value = lower_expr(ctx, test) if test is not None else ctx.unknown(node)
    return (Assert(value, "static_assert", **ends(ctx, node)),)


def _nothing(ctx: Context, node: Node) -> Stmts:
    return ()


def _error(ctx: Context, node: Node) -> Stmts:
    """What the parser skipped; whole statements inside it are still read."""
    inside = [c for c in named(node) if c.type.endswith("_statement") or c.type == "declaration"]
    return (*opaque(ctx, node), *lower_all(ctx, inside))


HANDLERS: dict[str, Callable[[Context, Node], Stmts]] = {
    "compound_statement": _compound,
    "expression_statement": _expression,
    "declaration": lower_declaration,
    "return_statement": _return,
    "co_return_statement": _return,
    "throw_statement": _throw,
    "break_statement": _jump,
    "continue_statement": _jump,
    "goto_statement": _jump,
    "labeled_statement": _label,
    "attributed_statement": _label,
    "static_assert_declaration": _static_assert,
    "alias_declaration": _define,
    "type_definition": _define,
    "struct_specifier": _define,
    "class_specifier": _define,
    "union_specifier": _define,
    "enum_specifier": _define,
    "function_definition": _define,
    "using_declaration": _nothing,
    "namespace_alias_definition": _nothing,
    "preproc_call": _nothing,
    "preproc_def": _nothing,
    "preproc_function_def": _nothing,
    "preproc_include": _nothing,
    "attribute_declaration": _nothing,
    "comment": _nothing,
    ";": _nothing,
    "ERROR": _error,
}
