"""Tree-sitter expressions to `checks.lang.ir.expr`.

`lower_expr` finds the function for a kind of node in the table at the end of this module. What a
node does besides having a value (`a[i++]`, `x = y = 0`, a lambda) is left in the `Context` for the
statement around it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from tree_sitter import Node

from checks.lang.cpp import literals
from checks.lang.cpp.context import (
    DEEPEST,
    STEP,
    Context,
    collapse_whitespace,
    named_children,
)
from checks.lang.ir.expr import (
    Attr,
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Index,
    Mapping,
    Name,
    Sequence,
    Ternary,
    Unary,
    Unknown,
)
from checks.lang.ir.stmt import Assign, ExprStmt

_BINARY_SPELLING = {
    "&&": "and",
    "||": "or",
    "bitand": "&",
    "bitor": "|",
    "xor": "^",
    "not_eq": "!=",
}
_UNARY_SPELLING = {"!": "not", "compl": "~"}
_BINARY_OPERATORS = frozenset(
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
_UNARY_OPERATORS = frozenset(["not", "-", "+", "~", "*", "&"])
_CASTS = frozenset({"static_cast", "reinterpret_cast", "const_cast", "dynamic_cast", "bit_cast"})
_NUMBER_TYPE = re.compile(
    r"(?:std::)?(?:u?int(?:8|16|32|64)?_t|u?intptr_t|s?size_t|ptrdiff_t"
    r"|bool|char|short|int|long|float|double|unsigned|signed|uint"
    r"|half|__half|float16|bfloat16|__nv_bfloat16|nv_bfloat16)"
)


def lower_expr(ctx: Context, node: Node) -> Expr:
    """The expression at `node`.

    `Unknown` where it has no form here, holds a syntax error or is nested too deeply.
    """
    handler = _HANDLERS.get(node.type)
    if handler is None or ctx.depth >= DEEPEST:
        return ctx.unknown(node)
    if node.has_error and any(child.is_error or child.is_missing for child in node.children):
        return ctx.unknown(node)
    with ctx.deeper(STEP):
        return handler(ctx, node)


def lower_each(ctx: Context, nodes: Iterable[Node]) -> tuple[Expr, ...]:
    """The expressions at `nodes`, in order."""
    return tuple([lower_expr(ctx, node) for node in nodes])


def _lower_field(ctx: Context, node: Node, field: str) -> Expr:
    """The expression in one field of `node`, `Unknown` when it is not there."""
    child = node.child_by_field_name(field)
    return lower_expr(ctx, child) if child is not None else ctx.unknown(node)


def _lower_conditional(ctx: Context, node: Node) -> Expr:
    """An expression whose evaluation depends on another one: nothing is moved out of it."""
    with ctx.conditionally():
        return lower_expr(ctx, node)


# Names, literals, members, elements


def _name(ctx: Context, node: Node) -> Expr:
    return Name(collapse_whitespace(ctx.text(node)), line=ctx.line(node))


def _qualified_name(ctx: Context, node: Node) -> Expr:
    """`std::min` of `std::min<int>`: a call has its template arguments in `template`."""
    arguments = _template_arguments(node)
    end = arguments.start_byte if arguments is not None else node.end_byte
    text = collapse_whitespace(ctx.data[node.start_byte : end].decode("utf-8", "replace"))
    return Name(text.replace(" ::", "::").replace(":: ", "::"), line=ctx.line(node))


def _template_function(ctx: Context, node: Node) -> Expr:
    return _lower_field(ctx, node, "name")


def _number(ctx: Context, node: Node) -> Expr:
    return literals.number(ctx.text(node), ctx.line(node))


def _string(ctx: Context, node: Node) -> Expr:
    return Const(literals.string(ctx.text(node)), line=ctx.line(node))


def _concatenated_strings(ctx: Context, node: Node) -> Expr:
    """`"a" "b"`; a macro among them (`"%" PRId64`) makes it unknown."""
    strings: list[str] = []
    for part in named_children(node):
        if part.type not in ("string_literal", "raw_string_literal"):
            return ctx.unknown(node)
        strings.append(literals.string(ctx.text(part)))
    return Const("".join(strings), line=ctx.line(node))


def _character(ctx: Context, node: Node) -> Expr:
    return literals.character(ctx.text(node), ctx.line(node))


def _keyword(ctx: Context, node: Node) -> Expr:
    value = {"true": True, "false": False, "null": None}[node.type]
    return Const(value, line=ctx.line(node))


def _only_child(ctx: Context, node: Node) -> Expr:
    """What stands in brackets, or before the `...` of a pack."""
    inner = named_children(node)
    return lower_expr(ctx, inner[0]) if len(inner) == 1 else ctx.unknown(node)


def _member(ctx: Context, node: Node) -> Expr:
    member = node.child_by_field_name("field")
    base = _lower_field(ctx, node, "argument")
    if member is None:
        return ctx.unknown(node)
    name = collapse_whitespace(ctx.text(_without_template(member)))
    return Attr(base, name, line=ctx.line(node))


def _without_template(member: Node) -> Node:
    """`data` of `data<T>` and of `template data<T>`."""
    while member.type in ("template_method", "dependent_name"):
        inner = member.child_by_field_name("name") or next(iter(named_children(member)), None)
        if inner is None:
            return member
        member = inner
    return member


def _element(ctx: Context, node: Node) -> Expr:
    base = _lower_field(ctx, node, "argument")
    indices = node.child_by_field_name("indices")
    items = named_children(indices)
    if indices is None or not items or indices.has_error:
        return ctx.unknown(node)
    return Index(base, lower_each(ctx, items), line=ctx.line(node))


# Calls and casts


def _call(ctx: Context, node: Node) -> Expr:
    """`f(x)`, `f<T>(x)`, `o->f<T>(x)`, `k<<<g, b>>>(x)`, and casts that look like calls."""
    target = node.child_by_field_name("function")
    arguments = node.child_by_field_name("arguments")
    if target is None or arguments is None:
        return ctx.unknown(node)
    template = _template_text(ctx, target)
    launch = [child for child in node.children if child.type == "kernel_call_syntax"]
    launch_args: list[Expr] = []
    for part in launch:
        launch_args += lower_each(ctx, named_children(part))
    callee = lower_expr(ctx, target)
    args = lower_each(ctx, named_children(arguments))
    line = ctx.line(node)
    if len(args) == 1 and isinstance(callee, Name):
        cast_type = _cast_type(callee.id, template)
        if cast_type:
            return Cast(cast_type, args[0], line=line)
    return Call(callee, args, launch=tuple(launch_args), template=template, line=line)


def _cast_type(name: str, template: str) -> str:
    """The type of the casts `static_cast<T>(x)` and `int(x)`, empty for any other call."""
    if template:
        return template if name.rsplit("::", 1)[-1] in _CASTS else ""
    return name if _NUMBER_TYPE.fullmatch(name) else ""


def _template_text(ctx: Context, target: Node) -> str:
    """`T, 3` of `f<T, 3>`."""
    arguments = _template_arguments(target)
    if arguments is None:
        return ""
    return ctx.masked_text(arguments).removeprefix("<").removesuffix(">").strip()


def _template_arguments(target: Node) -> Node | None:
    """The `<...>` that ends what is called: of `f<T>`, `ns::f<T>`, `o.f<T>`, `o.template f<T>`."""
    node: Node | None = target
    while node is not None:
        match node.type:
            case "template_function" | "template_method":
                return node.child_by_field_name("arguments")
            case "qualified_identifier":
                node = node.child_by_field_name("name")
            case "field_expression":
                node = node.child_by_field_name("field")
            case "dependent_name":
                node = next(iter(named_children(node)), None)
            case _:
                return None
    return None


def _c_cast(ctx: Context, node: Node) -> Expr:
    kind = node.child_by_field_name("type")
    text = ctx.masked_text(kind) if kind is not None else ""
    return Cast(text, _lower_field(ctx, node, "value"), line=ctx.line(node))


# Operators and side effects


def _binary(ctx: Context, node: Node) -> Expr:
    """`a + b + c` leans to the left: it is walked in a loop, so that length costs no recursion."""
    chain: list[tuple[str, Node]] = []
    link = node
    while True:
        left, right = link.child_by_field_name("left"), link.child_by_field_name("right")
        operator = link.child_by_field_name("operator")
        if left is None or right is None or operator is None:
            return ctx.unknown(link)
        if ctx.depth + len(chain) >= DEEPEST:
            return ctx.unknown(link)
        chain.append((_BINARY_SPELLING.get(operator.type, operator.type), right))
        if left.type != "binary_expression" or left.has_error:
            break
        link = left
    with ctx.deeper(len(chain)):
        result = lower_expr(ctx, left)
        for op, operand in reversed(chain):
            may_not_run = op in ("and", "or")
            value = _lower_conditional(ctx, operand) if may_not_run else lower_expr(ctx, operand)
            if op not in _BINARY_OPERATORS:
                return ctx.unknown(link)
            result = Binary(op, result, value, line=result.line)
        return result


def _unary(ctx: Context, node: Node) -> Expr:
    operator = node.child_by_field_name("operator")
    op = operator.type if operator is not None else ""
    op = _UNARY_SPELLING.get(op, op)
    if op not in _UNARY_OPERATORS:
        return ctx.unknown(node)
    return Unary(op, _lower_field(ctx, node, "argument"), line=ctx.line(node))


def _update(ctx: Context, node: Node) -> Expr:
    """`i++` in an expression is `i`, and an assignment behind the statement (`++i`: before it)."""
    argument = node.child_by_field_name("argument")
    operator = node.child_by_field_name("operator")
    if ctx.conditional or argument is None or operator is None:
        return ctx.unknown(node)
    target = lower_expr(ctx, argument)
    line = ctx.line(node)
    op = f"{operator.type[0]}="
    step = Assign(target, op, Const(1), line=line, end_line=ctx.end_line(node))
    if operator.start_byte < argument.start_byte:
        ctx.before.append(step)
    else:
        ctx.after.append(step)
    return target


def _assignment(ctx: Context, node: Node) -> Expr:
    """`x = y = 0`: the inner one is moved before the statement, its value is its target."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = node.child_by_field_name("operator")
    if ctx.conditional or left is None or right is None or operator is None:
        return ctx.unknown(node)
    # `py::arg("x") = 3`: a default value, nothing is set.
    if left.type == "call_expression":
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
    then = node.child_by_field_name("consequence")
    orelse = node.child_by_field_name("alternative")
    if then is None or orelse is None:
        return ctx.unknown(node)
    test = _lower_field(ctx, node, "condition")
    then_value, else_value = _lower_conditional(ctx, then), _lower_conditional(ctx, orelse)
    return Ternary(test, then_value, else_value, line=ctx.line(node))


# Initialisers, types as operands, `new` and `delete`, lambdas


def _initializer_list(ctx: Context, node: Node) -> Expr:
    items = named_children(node)
    if items and all(item.type == "initializer_pair" for item in items):
        pairs = [(_designator(ctx, item), _lower_field(ctx, item, "value")) for item in items]
        return Mapping(tuple(pairs), line=ctx.line(node))
    return Sequence("init", lower_each(ctx, items), line=ctx.line(node))


def _designator(ctx: Context, pair: Node) -> Expr:
    """`x` of `{.x = 1}`, `3` of `{[3] = 1}`."""
    node = pair.child_by_field_name("designator")
    if node is None:
        return ctx.unknown(pair)
    inner = named_children(node)
    if node.type == "subscript_designator" and len(inner) == 1:
        return lower_expr(ctx, inner[0])
    return Name(collapse_whitespace(ctx.text(node)).lstrip("."), line=ctx.line(node))


def _sizeof(ctx: Context, node: Node) -> Expr:
    """`sizeof(T)`, `alignof(T)`.

    The type is a name, because the grammar cannot tell it from a variable.
    """
    line = ctx.line(node)
    word = Name(node.type.partition("_")[0], line=line)
    kind = node.child_by_field_name("type")
    if kind is not None:
        return Call(word, (Name(collapse_whitespace(ctx.text(kind)), line=line),), line=line)
    value = node.child_by_field_name("value")
    if value is None:
        return ctx.unknown(node)
    return Call(word, (lower_expr(ctx, value),), line=line)


def _type(ctx: Context, node: Node) -> Expr:
    return Name(ctx.masked_text(node), line=ctx.line(node))


def _new(ctx: Context, node: Node) -> Expr:
    """`new T[n]{...}` is `new(T, n, ...)`."""
    kind = node.child_by_field_name("type")
    type_name = _type(ctx, kind) if kind is not None else ctx.unknown(node)
    sizes = named_children(node.child_by_field_name("declarator"))
    arguments = named_children(node.child_by_field_name("arguments"))
    args = (type_name, *lower_each(ctx, [*sizes, *arguments]))
    return Call(Name("new", line=ctx.line(node)), args, line=ctx.line(node))


def _delete(ctx: Context, node: Node) -> Expr:
    args = lower_each(ctx, named_children(node))
    return Call(Name("delete", line=ctx.line(node)), args, line=ctx.line(node))


def _compound_literal(ctx: Context, node: Node) -> Expr:
    """`int{x}` is a cast, `dim3{a, b}` a call."""
    kind, value = node.child_by_field_name("type"), node.child_by_field_name("value")
    if kind is None or value is None:
        return ctx.unknown(node)
    line = ctx.line(node)
    items = lower_each(ctx, named_children(value))
    if kind.type in ("primitive_type", "sized_type_specifier") and len(items) == 1:
        return Cast(ctx.masked_text(kind), items[0], line=line)
    return Call(_type(ctx, kind), items, line=line)


def _lambda(ctx: Context, node: Node) -> Expr:
    """The statement lowers the body, before itself; what stays here is the head, as text."""
    body = node.child_by_field_name("body")
    if body is None:
        return ctx.unknown(node)
    ctx.lambdas.append(node)
    head = ctx.masked_between(node.start_byte, body.start_byte)
    return Unknown(f"{head} {{...}}", line=ctx.line(node))


_HANDLERS: dict[str, Callable[[Context, Node], Expr]] = {
    # Names, literals, members, elements
    "identifier": _name,
    "field_identifier": _name,
    "namespace_identifier": _name,
    "this": _name,
    "type_identifier": _name,
    "operator_name": _name,
    "qualified_identifier": _qualified_name,
    "dependent_name": _qualified_name,
    "template_function": _template_function,
    "number_literal": _number,
    "string_literal": _string,
    "raw_string_literal": _string,
    "concatenated_string": _concatenated_strings,
    "char_literal": _character,
    "true": _keyword,
    "false": _keyword,
    "null": _keyword,
    "parenthesized_expression": _only_child,
    "condition_clause": _only_child,
    "parameter_pack_expansion": _only_child,
    "field_expression": _member,
    "subscript_expression": _element,
    # Calls and casts
    "call_expression": _call,
    "cast_expression": _c_cast,
    # Operators and side effects
    "binary_expression": _binary,
    "unary_expression": _unary,
    "pointer_expression": _unary,
    "update_expression": _update,
    "assignment_expression": _assignment,
    "comma_expression": _comma,
    "conditional_expression": _ternary,
    # Initialisers, types as operands, `new` and `delete`, lambdas
    "initializer_list": _initializer_list,
    "sizeof_expression": _sizeof,
    "alignof_expression": _sizeof,
    "template_type": _type,
    "type_descriptor": _type,
    "primitive_type": _type,
    "sized_type_specifier": _type,
    "new_expression": _new,
    "delete_expression": _delete,
    "compound_literal_expression": _compound_literal,
    "lambda_expression": _lambda,
}
