"""Branches and loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from checks.lang.cpp import loops
from checks.lang.cpp.context import DEEPEST, Context, named, squeeze
from checks.lang.cpp.declarators import declared
from checks.lang.cpp.dispatch import lower_expr
from checks.lang.cpp.lower import Stmts, ends, lower_all, lower_block, lower_stmt, opaque
from checks.lang.cpp.statements import lower_declaration, lower_effect
from checks.lang.ir.expr import Binary, Const, Expr, Name, Unknown
from checks.lang.ir.stmt import For, If, Jump, Stmt, With, leaves

if TYPE_CHECKING:
    from tree_sitter import Node

# A `case` that runs on into the next one has the next one's statements too.
_LONGEST_FALL = 8


def _condition(ctx: Context, node: Node | None) -> tuple[Stmts, Expr]:
    """What a condition does first (`if (T x = f(); ...)`, `if (T* p = f())`), and the test."""
    if node is None:
        return (), Unknown("")
    first = node.child_by_field_name("initializer")
    value = node.child_by_field_name("value")
    before: Stmts = ()
    if first is not None:
        before = lower_all(ctx, named(first) if first.type == "init_statement" else [first])
    if value is None:
        return before, lower_expr(ctx, node)
    if value.type == "declaration":
        names = [name for one in declared(ctx, value) for name in one.names]
        test: Expr = Name(names[0], line=ctx.line(value)) if names else ctx.unknown(value)
        return (*before, *lower_declaration(ctx, value)), test
    return before, _pure(ctx, value)


def _pure(ctx: Context, node: Node) -> Expr:
    """A test, from which no side effect is moved behind the branch it decides."""
    after = len(ctx.after)
    value = lower_expr(ctx, node)
    if len(ctx.after) > after:
        del ctx.after[after:]
        return ctx.unknown(node)
    return value


def _repeated(ctx: Context, node: Node) -> Expr:
    """The test of a loop: what it does besides is done each time, so nothing is moved out."""
    ctx.conditional += 1
    try:
        return lower_expr(ctx, node)
    finally:
        ctx.conditional -= 1


def _if(ctx: Context, node: Node) -> Stmts:
    """An `else if` chain is walked in a loop: its length costs no recursion."""
    depth = ctx.depth
    try:
        return _arms(ctx, node)
    finally:
        ctx.depth = depth


def _arms(ctx: Context, node: Node) -> Stmts:
    arms: list[tuple[Node, Expr, Stmts]] = []
    before: Stmts = ()
    orelse: Stmts = ()
    current: Node | None = node
    while current is not None:
        ctx.conditional += bool(arms)  # a later test may never run
        effects, test = _condition(ctx, current.child_by_field_name("condition"))
        before = (*before, *effects)
        ctx.depth += 1
        then = lower_block(ctx, current.child_by_field_name("consequence"))
        arms.append((current, test, then))
        alternative = current.child_by_field_name("alternative")
        inner = named(alternative) if alternative is not None else []
        current = inner[0] if len(inner) == 1 and inner[0].type == "if_statement" else None
        if current is None:
            orelse = lower_block(ctx, inner[0]) if inner else ()
        elif ctx.depth >= DEEPEST:
            orelse, current = opaque(ctx, current), None
    for arm, test, then in reversed(arms):
        orelse = (If(test, then, orelse, **ends(ctx, arm)),)
    return (*before, *orelse)


def _switch(ctx: Context, node: Node) -> Stmts:
    before, subject = _condition(ctx, node.child_by_field_name("condition"))
    inside = _labelled(node.child_by_field_name("body"))
    cases = [c for c in inside if c.type == "case_statement"]
    if ctx.depth + len(cases) > DEEPEST:
        return (*before, *opaque(ctx, node))
    # Macros that hold their own labels, declarations.
    if others := lower_all(ctx, [c for c in inside if c.type != "case_statement"]):
        before = (*before, With("block", others, items=(subject,), **ends(ctx, node)))
    ctx.depth += len(cases)
    chain = _cases(ctx, subject, cases)
    ctx.depth -= len(cases)
    return (*before, *chain)


def _labelled(body: Node | None) -> list[Node]:
    """What stands in a `switch`; an `#if` around whole cases is looked through."""
    found: list[Node] = []
    stack = list(reversed(named(body))) if body is not None else []
    while stack:
        one = stack.pop()
        if one.type.startswith("preproc_") and any(
            c.type == "case_statement" for c in one.children
        ):
            stack.extend(reversed([c for c in named(one) if c.type.endswith("_statement")]))
        else:
            found.append(one)
    return found


def _cases(ctx: Context, subject: Expr, cases: list[Node]) -> Stmts:
    arms = [_case(ctx, case) for case in cases]
    result: Stmts = ()
    tests: list[tuple[Expr, int]] = []
    labels: list[Expr] = []
    for position, (label, statements) in enumerate(arms):
        labels += [label] if label is not None else []
        if label is None:
            result, labels = _fall(arms, position), []
        elif statements or position + 1 == len(arms):
            tests.append((_any(subject, labels), position))
            labels = []
    for test, position in reversed(tests):
        where = ends(ctx, cases[position])
        result = (If(test, _fall(arms, position), result, **where),)
    return result


def _case(ctx: Context, case: Node) -> tuple[Expr | None, Stmts]:
    value = case.child_by_field_name("value")
    inside = [c for c in named(case) if c != value]
    return (lower_expr(ctx, value) if value is not None else None), lower_all(ctx, inside)


def _any(subject: Expr, labels: list[Expr]) -> Expr:
    test: Expr | None = None
    for label in labels:
        one = Binary("==", subject, label, line=label.line)
        test = one if test is None else Binary("or", test, one, line=test.line)
    return test if test is not None else Const(False)


def _fall(arms: list[tuple[Expr | None, Stmts]], position: int) -> Stmts:
    """A case's statements, on into the next ones until one leaves; its own `break` is the end of the branch."""
    found: list[Stmt] = []
    for _, inside in arms[position : position + _LONGEST_FALL]:
        found.extend(_unblocked(inside))
        if leaves(tuple(found)):
            break
    if found and isinstance(found[-1], Jump) and found[-1].kind == "break":
        found.pop()
    return tuple(found)


def _unblocked(inside: Stmts) -> Stmts:
    """`case 1: { ...; break; }` without its braces, so that the `break` is seen."""
    if len(inside) == 1 and isinstance(inside[0], With) and inside[0].kind == "block":
        return inside[0].body
    return inside


def _for(ctx: Context, node: Node) -> Stmts:
    initializer = node.child_by_field_name("initializer")
    before: Stmts = ()
    if initializer is not None:
        plain = initializer.type == "declaration"
        before = (
            lower_stmt(ctx, initializer) if plain else lower_effect(ctx, initializer, initializer)
        )
    condition = node.child_by_field_name("condition")
    test = _repeated(ctx, condition) if condition is not None else Const(True)
    update = node.child_by_field_name("update")
    steps = lower_effect(ctx, update, update) if update is not None else ()
    body = lower_block(ctx, node.child_by_field_name("body"))
    where = ends(ctx, node)
    if (loop := loops.counted(before, test, steps)) is not None:
        inner = (*body, *loop.others)
        counted = For(loop.target, inner, loop.start, loop.stop, loop.step, test=loop.rest, **where)
        return (*loop.before, counted)
    return (*before, For(None, (*body, *steps), test=test, **where))


def _range_for(ctx: Context, node: Node) -> Stmts:
    right = node.child_by_field_name("right")
    first = node.child_by_field_name("initializer")
    before = lower_all(ctx, named(first)) if first is not None else ()
    one = next(declared(ctx, node), None)
    target = Name(one.names[0], line=ctx.line(node)) if one is not None and one.names else None
    iterable = lower_expr(ctx, right) if right is not None else ctx.unknown(node)
    body = lower_block(ctx, node.child_by_field_name("body"))
    return (*before, For(target, body, iterable=iterable, **ends(ctx, node)))


def _while(ctx: Context, node: Node) -> Stmts:
    ctx.conditional += 1
    before, test = _condition(ctx, node.child_by_field_name("condition"))
    ctx.conditional -= 1
    body = lower_block(ctx, node.child_by_field_name("body"))
    return (*before, For(None, (*body, *before), test=test, **ends(ctx, node)))


def _do(ctx: Context, node: Node) -> Stmts:
    """`do { ... } while (0)` is a block; any other runs its body and then tests."""
    body = lower_block(ctx, node.child_by_field_name("body"))
    condition = node.child_by_field_name("condition")
    test = _repeated(ctx, condition) if condition is not None else Const(True)
    where = ends(ctx, node)
    if isinstance(test, Const) and not test.value:
        return (With("block", body, **where),)
    return (For(None, body, test=test, **where),)


def _preprocessor(ctx: Context, node: Node) -> Stmts:
    """Each arm of `#if` is a `With` of its own: whether it is compiled is not known here."""
    found: list[Stmt] = []
    current: Node | None = node
    while current is not None:
        alternative = current.child_by_field_name("alternative")
        head = current.child_by_field_name("name") or current.child_by_field_name("condition")
        inside = [c for c in named(current) if c not in (head, alternative)]
        test = Name(_directive(ctx, current, head), line=ctx.line(current))
        last = ctx.line(alternative) - 1 if alternative is not None else ctx.end_line(current)
        body = lower_all(ctx, inside)
        arm = With("ifdef", body, items=(test,), line=ctx.line(current), end_line=last)
        found.append(arm)
        current = alternative
    return tuple(found)


def _directive(ctx: Context, node: Node, head: Node | None) -> str:
    word = "".join(ctx.text(node.children[0]).split()) if node.children else "#if"
    return squeeze(f"{word} {ctx.text(head)}") if head is not None else word


def _try(ctx: Context, node: Node) -> Stmts:
    body = lower_block(ctx, node.child_by_field_name("body"))
    handlers = [c for c in named(node) if c.type == "catch_clause"]
    parts = tuple(lower_block(ctx, c.child_by_field_name("body")) for c in handlers)
    return (With("try", body, parts, **ends(ctx, node)),)


HANDLERS: dict[str, Callable[[Context, Node], Stmts]] = {
    "if_statement": _if,
    "switch_statement": _switch,
    "for_statement": _for,
    "for_range_loop": _range_for,
    "while_statement": _while,
    "do_statement": _do,
    "try_statement": _try,
    "preproc_if": _preprocessor,
    "preproc_ifdef": _preprocessor,
    "preproc_elif": _preprocessor,
    "preproc_elifdef": _preprocessor,
    "preproc_else": _preprocessor,
}
