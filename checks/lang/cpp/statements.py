"""Tree-sitter statements to `checks.lang.ir.stmt`.

`lower_stmt` finds the function for a kind of node in the table at the end of this module. One
statement of the source may be several here (`int a, b;`) or none (`;`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypedDict

from tree_sitter import Node

from checks.lang.cpp import loops
from checks.lang.cpp.assertions import assertion, throws
from checks.lang.cpp.context import (
    DEEPEST,
    LONGEST_TEXT,
    STEP,
    Context,
    collapse_whitespace,
    field_of,
    has_broken_child,
    is_static,
    named_children,
)
from checks.lang.cpp.declarators import declarators, initial_value, parameters
from checks.lang.cpp.expressions import lower_expr
from checks.lang.cpp.snippets import expression
from checks.lang.cpp.switch import SwitchCase, branch_chain
from checks.lang.ir.expr import Call, Const, Expr, Name, Sequence, Unknown
from checks.lang.ir.stmt import (
    Assert,
    Assign,
    Define,
    ExprStmt,
    For,
    If,
    Jump,
    Opaque,
    Raise,
    Return,
    Stmt,
    With,
)

Stmts = tuple[Stmt, ...]


class Lines(TypedDict):
    line: int
    end_line: int


def lower_block(ctx: Context, node: Node | None) -> Stmts:
    """The statements in a block, or the one statement that stands in its place."""
    if node is None:
        return ()
    is_macro_block = node.start_byte in ctx.blocks
    if node.type != "compound_statement" or is_macro_block:
        return lower_stmt(ctx, node)
    if ctx.depth >= DEEPEST:
        return _opaque(ctx, node)
    return lower_all(ctx, named_children(node))


def lower_all(ctx: Context, nodes: Iterable[Node]) -> Stmts:
    """Statements in a row."""
    statements: list[Stmt] = []
    for node in nodes:
        statements += lower_stmt(ctx, node)
    return tuple(statements)


def lower_stmt(ctx: Context, node: Node) -> Stmts:
    """The statement at `node`; `Opaque` where it was not understood."""
    handler = _HANDLERS.get(node.type)
    if handler is None or ctx.depth >= DEEPEST:
        return _opaque(ctx, node)
    with ctx.own_effects(), ctx.deeper(STEP):
        body = handler(ctx, node)
        if ctx.lambdas:
            body = _with_lambdas(ctx, body)
        return (*ctx.before, *body, *ctx.after)


def _lines(ctx: Context, node: Node) -> Lines:
    return {"line": ctx.line(node), "end_line": ctx.end_line(node)}


def _opaque(ctx: Context, node: Node) -> Stmts:
    """A statement that stays text."""
    text = collapse_whitespace(ctx.text(node))
    return (Opaque(text[:LONGEST_TEXT], **_lines(ctx, node)),)


# Blocks and lambdas


def _compound(ctx: Context, node: Node) -> Stmts:
    body = lower_all(ctx, named_children(node))
    macro = ctx.blocks.get(node.start_byte)
    if macro is None:
        return (With("block", body, **_lines(ctx, node)),)
    # `DISPATCH(x, { ... })` runs its block like a lambda; `{}` stands for it in the call.
    start, end = macro
    call_text = ctx.data[start : node.start_byte] + b"{}" + ctx.data[node.end_byte : end]
    call = expression(call_text, ctx.first_line + ctx.data.count(b"\n", 0, start))
    return (With("lambda", body, items=(call,), **_lines(ctx, node)),)


def _with_lambdas(ctx: Context, body: Stmts) -> Stmts:
    """Lambdas run where they are named, before the statement.

    The call that takes one (`DISPATCH(..., [&] {...})`), or the variable that holds it, is its
    item.
    """
    items: tuple[Expr, ...] = ()
    match body:
        case (ExprStmt(value=Call() as call),):
            items, body = (call,), ()
        case (Assign(target=target), *_):
            items = (target,)
    return (*[_lower_lambda(ctx, node, items) for node in ctx.lambdas], *body)


def _lower_lambda(ctx: Context, node: Node, items: tuple[Expr, ...]) -> With:
    """A lambda's parameters, declared, and its body."""
    declarations: list[Stmt] = []
    with ctx.own_effects():
        head = node.child_by_field_name("declarator")
        for param in parameters(ctx, head) if head is not None else ():
            if param.name:
                name, line = Name(param.name, line=param.line), param.line
                declarations.append(Assign(name, "=", None, param.type, line=line, end_line=line))
        body = lower_block(ctx, node.child_by_field_name("body"))
    return With("lambda", (*declarations, *body), items=items, **_lines(ctx, node))


# Effects and declarations


def _expression_statement(ctx: Context, node: Node) -> Stmts:
    inner = named_children(node)
    if not inner:
        return ()
    if len(inner) != 1 or has_broken_child(node):
        return _opaque(ctx, node)
    return _lower_effect(ctx, inner[0], node)


def _lower_effect(ctx: Context, inner: Node, stmt: Node) -> Stmts:
    """The expression `inner` for what it does, as the statement at `stmt`."""
    if inner.type == "parenthesized_expression" and len(named_children(inner)) == 1:
        inner = named_children(inner)[0]
    if inner.type == "comma_expression":
        effects: list[Stmt] = []
        for part in _comma_parts(inner):
            effects += _lower_effect(ctx, part, part)
        return tuple(effects)
    where = _lines(ctx, stmt)
    assign = _assignment(ctx, inner, where)
    if assign is not None:
        return (assign,)
    value = lower_expr(ctx, inner)
    asserted = assertion(value)
    if asserted is not None:
        test, macro = asserted
        return (Assert(test, macro, **where),)
    if throws(value):
        return (Raise(value, **where),)
    return (ExprStmt(value, **where),)


def _comma_parts(node: Node) -> list[Node]:
    """`a, b, c` in order; the length of the list costs no recursion."""
    parts: list[Node] = []
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if part.type == "comma_expression":
            waiting.extend(reversed(named_children(part)))
        else:
            parts.append(part)
    return parts


def _assignment(ctx: Context, node: Node, where: Lines) -> Assign | None:
    """`x = 1`, `x += 1`, `x++` as a statement; None for any other expression."""
    operator = node.child_by_field_name("operator")
    if operator is None:
        return None
    if node.type == "update_expression" and not node.has_error:
        argument = node.child_by_field_name("argument")
        if argument is None:
            return None
        target = lower_expr(ctx, argument)
        return Assign(target, f"{operator.type[0]}=", Const(1, line=where["line"]), **where)
    if node.type == "assignment_expression" and not has_broken_child(node):
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return None
        value = lower_expr(ctx, right)
        return Assign(lower_expr(ctx, left), operator.type, value, **where)
    return None


def _declaration(ctx: Context, node: Node) -> Stmts:
    """One assignment per declarator; of `struct S {...};` the name that it defines."""
    if has_broken_child(node):
        return _opaque(ctx, node)
    static = is_static(ctx, node)
    assigns: list[Stmt] = []
    for declarator in declarators(ctx, node):
        if not declarator.names:
            return _opaque(ctx, node)
        value = initial_value(ctx, node, declarator)
        target = _declared_target(declarator.names, ctx.line(declarator.node))
        assign = Assign(target, "=", value, declarator.type, static, **_lines(ctx, node))
        assigns.append(assign)
    if assigns:
        return tuple(assigns)
    kind = node.child_by_field_name("type")
    name = kind.child_by_field_name("name") if kind is not None else None
    return (Define(ctx.text(name), **_lines(ctx, node)),) if name is not None else ()


def _declared_target(names: tuple[str, ...], line: int) -> Expr:
    targets = tuple(Name(name, line=line) for name in names)
    return targets[0] if len(targets) == 1 else Sequence("tuple", targets, line=line)


def _define(ctx: Context, node: Node) -> Stmts:
    """A type that is named here: `using T = ...`, `typedef`, a local struct."""
    name = field_of(node, "name", "declarator")
    if name is None:
        return ()
    return (Define(collapse_whitespace(ctx.text(name)), **_lines(ctx, node)),)


def _static_assert(ctx: Context, node: Node) -> Stmts:
    condition = node.child_by_field_name("condition")
    test = lower_expr(ctx, condition) if condition is not None else ctx.unknown(node)
    return (Assert(test, "static_assert", **_lines(ctx, node)),)


# Jumps


def _return(ctx: Context, node: Node) -> Stmts:
    inner = named_children(node)
    if has_broken_child(node) or len(inner) > 1:
        return _opaque(ctx, node)
    return (Return(_lower_first(ctx, inner), **_lines(ctx, node)),)


def _throw(ctx: Context, node: Node) -> Stmts:
    return (Raise(_lower_first(ctx, named_children(node)), **_lines(ctx, node)),)


def _lower_first(ctx: Context, nodes: list[Node]) -> Expr | None:
    return lower_expr(ctx, nodes[0]) if nodes else None


def _jump(ctx: Context, node: Node) -> Stmts:
    return (Jump(node.type.removesuffix("_statement"), **_lines(ctx, node)),)


def _labelled(ctx: Context, node: Node) -> Stmts:
    inner = [child for child in named_children(node) if child.type != "statement_identifier"]
    return lower_all(ctx, inner)


# Branches


def _condition(ctx: Context, node: Node | None) -> tuple[Stmts, Expr]:
    """What a condition does first (`if (T x = f(); ...)`, `if (T* p = f())`), and the test."""
    if node is None:
        return (), Unknown("")
    initializer = node.child_by_field_name("initializer")
    before = _initializer(ctx, initializer)
    value = node.child_by_field_name("value")
    if value is None:
        return before, lower_expr(ctx, node)
    if value.type != "declaration":
        return before, _test_without_effects(ctx, value)
    names = [name for declarator in declarators(ctx, value) for name in declarator.names]
    test = Name(names[0], line=ctx.line(value)) if names else ctx.unknown(value)
    return (*before, *_declaration(ctx, value)), test


def _initializer(ctx: Context, node: Node | None) -> Stmts:
    if node is None:
        return ()
    return lower_all(ctx, named_children(node) if node.type == "init_statement" else [node])


def _test_without_effects(ctx: Context, node: Node) -> Expr:
    """A test, from which no side effect is moved behind the branch that it decides."""
    effects = len(ctx.after)
    value = lower_expr(ctx, node)
    if len(ctx.after) > effects:
        del ctx.after[effects:]
        return ctx.unknown(node)
    return value


def _if(ctx: Context, node: Node) -> Stmts:
    """An `else if` chain is walked in a loop: its length costs no recursion."""
    depth = ctx.depth
    branches: list[tuple[Node, Expr, Stmts]] = []
    before: Stmts = ()
    orelse: Stmts = ()
    current: Node | None = node
    while current is not None:
        if branches:
            ctx.conditional += 1  # a later test may never run
        effects, test = _condition(ctx, current.child_by_field_name("condition"))
        before = (*before, *effects)
        ctx.depth += 1
        then = lower_block(ctx, current.child_by_field_name("consequence"))
        branches.append((current, test, then))
        alternative = named_children(current.child_by_field_name("alternative"))
        if len(alternative) == 1 and alternative[0].type == "if_statement":
            current = alternative[0]
            if ctx.depth >= DEEPEST:
                orelse, current = _opaque(ctx, current), None
        else:
            current = None
            orelse = lower_block(ctx, alternative[0]) if alternative else ()
    ctx.depth = depth
    for branch, test, then in reversed(branches):
        orelse = (If(test, then, orelse, **_lines(ctx, branch)),)
    return (*before, *orelse)


def _switch(ctx: Context, node: Node) -> Stmts:
    before, subject = _condition(ctx, node.child_by_field_name("condition"))
    inside = _inside_switch(node.child_by_field_name("body"))
    cases = [child for child in inside if child.type == "case_statement"]
    if ctx.depth + len(cases) > DEEPEST:
        return (*before, *_opaque(ctx, node))
    # Declarations, and macros that hold their own labels.
    others = lower_all(ctx, [child for child in inside if child.type != "case_statement"])
    if others:
        before = (*before, With("block", others, items=(subject,), **_lines(ctx, node)))
    with ctx.deeper(len(cases)):
        lowered = [_case(ctx, case) for case in cases]
    return (*before, *branch_chain(subject, lowered))


def _inside_switch(body: Node | None) -> list[Node]:
    """What stands in a `switch`; an `#if` around whole cases is looked through."""
    inside: list[Node] = []
    waiting = named_children(body)[::-1]
    while waiting:
        node = waiting.pop()
        is_directive = node.type.startswith("preproc_")
        if is_directive and any(child.type == "case_statement" for child in node.children):
            children = [c for c in named_children(node) if c.type.endswith("_statement")]
            waiting.extend(reversed(children))
        else:
            inside.append(node)
    return inside


def _case(ctx: Context, node: Node) -> SwitchCase:
    value = node.child_by_field_name("value")
    label = lower_expr(ctx, value) if value is not None else None
    body = lower_all(ctx, [child for child in named_children(node) if child != value])
    return SwitchCase(label, body, **_lines(ctx, node))


# Loops


def _for(ctx: Context, node: Node) -> Stmts:
    initializer = node.child_by_field_name("initializer")
    before: Stmts = ()
    if initializer is not None and initializer.type == "declaration":
        before = lower_stmt(ctx, initializer)
    elif initializer is not None:
        before = _lower_effect(ctx, initializer, initializer)
    test = _loop_test(ctx, node)
    update = node.child_by_field_name("update")
    steps = _lower_effect(ctx, update, update) if update is not None else ()
    body = lower_block(ctx, node.child_by_field_name("body"))
    where = _lines(ctx, node)
    loop = loops.counted(before, test, steps)
    if loop is None:
        return (*before, For(None, (*body, *steps), test=test, **where))
    body = (*body, *loop.others)
    counted = For(loop.target, body, loop.start, loop.stop, loop.step, test=loop.rest, **where)
    return (*loop.before, counted)


def _loop_test(ctx: Context, node: Node) -> Expr:
    """The test of a loop: what it does besides is done each time, so nothing is moved out."""
    condition = node.child_by_field_name("condition")
    if condition is None:
        return Const(True)
    with ctx.conditionally():
        return lower_expr(ctx, condition)


def _range_for(ctx: Context, node: Node) -> Stmts:
    """`for (auto& x : items)`."""
    right = node.child_by_field_name("right")
    before = lower_all(ctx, named_children(node.child_by_field_name("initializer")))
    declarator = next(declarators(ctx, node), None)
    target: Name | None = None
    if declarator is not None and declarator.names:
        target = Name(declarator.names[0], line=ctx.line(node))
    iterable = lower_expr(ctx, right) if right is not None else ctx.unknown(node)
    body = lower_block(ctx, node.child_by_field_name("body"))
    return (*before, For(target, body, iterable=iterable, **_lines(ctx, node)))


def _while(ctx: Context, node: Node) -> Stmts:
    with ctx.conditionally():
        before, test = _condition(ctx, node.child_by_field_name("condition"))
    body = lower_block(ctx, node.child_by_field_name("body"))
    return (*before, For(None, (*body, *before), test=test, **_lines(ctx, node)))


def _do(ctx: Context, node: Node) -> Stmts:
    """`do { ... } while (0)` is a block; any other runs its body and then tests."""
    body = lower_block(ctx, node.child_by_field_name("body"))
    test = _loop_test(ctx, node)
    if isinstance(test, Const) and not test.value:
        return (With("block", body, **_lines(ctx, node)),)
    return (For(None, body, test=test, **_lines(ctx, node)),)


# The preprocessor, exceptions, what did not parse


def _preprocessor(ctx: Context, node: Node) -> Stmts:
    """Each arm of `#if` is a `With` of its own: whether it is compiled is not known here."""
    arms: list[Stmt] = []
    current: Node | None = node
    while current is not None:
        alternative = current.child_by_field_name("alternative")
        head = field_of(current, "name", "condition")
        inside = [child for child in named_children(current) if child not in (head, alternative)]
        line, end_line = ctx.line(current), ctx.end_line(current)
        if alternative is not None:
            end_line = ctx.line(alternative) - 1
        directive = Name(_directive(ctx, current, head), line=line)
        body = lower_all(ctx, inside)
        arms.append(With("ifdef", body, items=(directive,), line=line, end_line=end_line))
        current = alternative
    return tuple(arms)


def _directive(ctx: Context, node: Node, head: Node | None) -> str:
    """`#ifdef NAME` on one line, without spaces in `# ifdef`."""
    word = "".join(ctx.text(node.children[0]).split()) if node.children else "#if"
    return word if head is None else collapse_whitespace(f"{word} {ctx.text(head)}")


def _try(ctx: Context, node: Node) -> Stmts:
    body = lower_block(ctx, node.child_by_field_name("body"))
    handlers: list[Stmts] = []
    for child in named_children(node):
        if child.type == "catch_clause":
            handlers.append(lower_block(ctx, child.child_by_field_name("body")))
    return (With("try", body, tuple(handlers), **_lines(ctx, node)),)


def _nothing(ctx: Context, node: Node) -> Stmts:
    return ()


def _error(ctx: Context, node: Node) -> Stmts:
    """What the parser skipped; whole statements inside it are still read."""
    inside: list[Node] = []
    for child in named_children(node):
        if child.type.endswith("_statement") or child.type == "declaration":
            inside.append(child)
    return (*_opaque(ctx, node), *lower_all(ctx, inside))


_HANDLERS: dict[str, Callable[[Context, Node], Stmts]] = {
    "compound_statement": _compound,
    # Effects and declarations
    "expression_statement": _expression_statement,
    "declaration": _declaration,
    "static_assert_declaration": _static_assert,
    "alias_declaration": _define,
    "type_definition": _define,
    "struct_specifier": _define,
    "class_specifier": _define,
    "union_specifier": _define,
    "enum_specifier": _define,
    "function_definition": _define,
    # Jumps
    "return_statement": _return,
    "co_return_statement": _return,
    "throw_statement": _throw,
    "break_statement": _jump,
    "continue_statement": _jump,
    "goto_statement": _jump,
    "labeled_statement": _labelled,
    "attributed_statement": _labelled,
    # Branches
    "if_statement": _if,
    "switch_statement": _switch,
    # Loops
    "for_statement": _for,
    "for_range_loop": _range_for,
    "while_statement": _while,
    "do_statement": _do,
    # The preprocessor, exceptions, what did not parse
    "preproc_if": _preprocessor,
    "preproc_ifdef": _preprocessor,
    "preproc_elif": _preprocessor,
    "preproc_elifdef": _preprocessor,
    "preproc_else": _preprocessor,
    "try_statement": _try,
    "ERROR": _error,
    # Nothing that runs
    "using_declaration": _nothing,
    "namespace_alias_definition": _nothing,
    "preproc_call": _nothing,
    "preproc_def": _nothing,
    "preproc_function_def": _nothing,
    "preproc_include": _nothing,
    "attribute_declaration": _nothing,
    "comment": _nothing,
    ";": _nothing,
}
