"""Tree-sitter expressions to `checks.ir.expr`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from checks.cpp import calls, literals
from checks.cpp.context import DEEPEST, STEP, Context, named, squeeze
from checks.ir.expr import (
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
from checks.ir.stmt import Assign, ExprStmt

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


def lower_expr(ctx: Context, node: Node) -> Expr:
    """The expression at `node`; `Unknown` where it has no form, holds an error or nests too deep."""
    handler = _HANDLERS.get(node.type)
    if handler is None or ctx.depth >= DEEPEST:
        return ctx.unknown(node)
    if node.has_error and any(c.is_error or c.is_missing for c in node.children):
        return ctx.unknown(node)
    ctx.depth += STEP
    try:
        return handler(ctx, node)
    finally:
        ctx.depth -= STEP


def field_expr(ctx: Context, node: Node, name: str) -> Expr:
    """The expression in one field of `node`, `Unknown` when it is not there."""
    child = node.child_by_field_name(name)
    return lower_expr(ctx, child) if child is not None else ctx.unknown(node)


def maybe(ctx: Context, node: Node) -> Expr:
    """An expression whose evaluation depends on another one: nothing is moved out of it."""
    ctx.conditional += 1
    try:
        return lower_expr(ctx, node)
    finally:
        ctx.conditional -= 1


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
    argument = Name(squeeze(ctx.text(target)), line=line) if target is kind else lower_expr(ctx, target)
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


def _pack(ctx: Context, node: Node) -> Expr:
    inner = named(node)
    return lower_expr(ctx, inner[0]) if len(inner) == 1 else ctx.unknown(node)


def _lambda(ctx: Context, node: Node) -> Expr:
    """The body goes before the statement (`Context.lambdas`); what stays is the head, as text."""
    from checks.cpp.lower import lower_lambda

    body = node.child_by_field_name("body")
    if body is None:
        return ctx.unknown(node)
    ctx.lambdas.append(lower_lambda(ctx, node))
    head = ctx.span(node.start_byte, body.start_byte)
    return Unknown(f"{head} {{...}}", line=ctx.line(node))


_HANDLERS: dict[str, Callable[[Context, Node], Expr]] = {
    "identifier": _name,
    "field_identifier": _name,
    "namespace_identifier": _name,
    "this": _name,
    "type_identifier": _name,
    "operator_name": _name,
    "qualified_identifier": _qualified,
    "dependent_name": _qualified,
    "template_function": _template_function,
    "template_type": _type,
    "type_descriptor": _type,
    "primitive_type": _type,
    "sized_type_specifier": _type,
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
    "binary_expression": _binary,
    "unary_expression": _unary,
    "pointer_expression": _unary,
    "update_expression": _update,
    "assignment_expression": _assignment,
    "comma_expression": _comma,
    "conditional_expression": _ternary,
    "cast_expression": _cast,
    "field_expression": _field,
    "subscript_expression": _subscript,
    "initializer_list": _initializer,
    "sizeof_expression": _sizeof,
    "alignof_expression": _sizeof,
    "new_expression": _new,
    "delete_expression": _delete,
    "compound_literal_expression": _compound_literal,
    "parameter_pack_expansion": _pack,
    "lambda_expression": _lambda,
    "call_expression": calls.lower_call,
}
