"""Tree-sitter statements to `checks.lang.ir.stmt`: blocks, what is moved out of expressions, and lambdas."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, TypedDict

from checks.lang.cpp.context import DEEPEST, LONGEST, STEP, Context, named, squeeze
from checks.lang.cpp.declarators import parameters
from checks.lang.ir.expr import Call, Expr, Name
from checks.lang.ir.stmt import Assign, ExprStmt, Opaque, Stmt, With

if TYPE_CHECKING:
    from tree_sitter import Node


class Ends(TypedDict):
    line: int
    end_line: int


Stmts = tuple[Stmt, ...]


def ends(ctx: Context, node: Node) -> Ends:
    """The lines of a statement."""
    return {"line": ctx.line(node), "end_line": ctx.end_line(node)}


@cache
def _handlers() -> dict[str, Callable[[Context, Node], Stmts]]:
    # These modules need this one for the statements inside theirs.
    from checks.lang.cpp import control, statements

    return {**statements.HANDLERS, **control.HANDLERS}


def lower_block(ctx: Context, node: Node | None) -> Stmts:
    """The statements in a block, or the one statement that stands in its place."""
    if node is None:
        return ()
    if node.type == "compound_statement" and node.start_byte not in ctx.blocks:
        return lower_all(ctx, named(node)) if ctx.depth < DEEPEST else opaque(ctx, node)
    return lower_stmt(ctx, node)


def lower_all(ctx: Context, nodes: Iterable[Node]) -> Stmts:
    """Statements in a row."""
    return tuple(stmt for node in nodes for stmt in lower_stmt(ctx, node))


def lower_stmt(ctx: Context, node: Node) -> Stmts:
    """One statement of the source, which may be several here or none; `Opaque` where it was not understood."""
    handler = _handlers().get(node.type)
    if handler is None or ctx.depth >= DEEPEST:
        return opaque(ctx, node)
    saved = ctx.before, ctx.after, ctx.lambdas, ctx.conditional
    ctx.before, ctx.after, ctx.lambdas, ctx.conditional = [], [], [], 0
    ctx.depth += STEP
    try:
        body = handler(ctx, node)
        if not (ctx.before or ctx.after or ctx.lambdas):
            return body
        return (*_with_lambdas(ctx, body), *ctx.after)
    finally:
        ctx.depth -= STEP
        ctx.before, ctx.after, ctx.lambdas, ctx.conditional = saved


def _with_lambdas(ctx: Context, body: Stmts) -> Stmts:
    """Lambdas run where they are named. The call that takes one (`DISPATCH(..., [&] {...})`) is its item."""
    if not ctx.lambdas:
        return (*ctx.before, *body)
    item: tuple[Expr, ...] = ()
    match body:
        case (ExprStmt(value=Call() as call),):
            item, body = (call,), ()
        case (Assign(target=target), *_):
            item = (target,)
    inner = (
        With(w.kind, w.body, items=item, line=w.line, end_line=w.end_line)
        for w in ctx.lambdas
        if isinstance(w, With)
    )
    return (*ctx.before, *inner, *body)


def opaque(ctx: Context, node: Node) -> Stmts:
    """A statement that stays text."""
    return (Opaque(squeeze(ctx.text(node))[:LONGEST], **ends(ctx, node)),)


def lower_lambda(ctx: Context, node: Node) -> With:
    """A lambda's parameters, declared, and its body."""
    saved = ctx.before, ctx.after, ctx.lambdas, ctx.conditional
    ctx.before, ctx.after, ctx.lambdas, ctx.conditional = [], [], [], 0
    try:
        head = node.child_by_field_name("declarator")
        params = parameters(ctx, head) if head is not None else ()
        where = ends(ctx, node)
        declares = tuple(
            Assign(Name(p.name, line=p.line), "=", None, p.type, line=p.line, end_line=p.line)
            for p in params
            if p.name
        )
        body = lower_block(ctx, node.child_by_field_name("body"))
        return With("lambda", (*declares, *body), **where)
    finally:
        ctx.before, ctx.after, ctx.lambdas, ctx.conditional = saved
