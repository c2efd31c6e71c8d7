"""Op registrations and pybind bindings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from checks.lang.cpp.context import Context, named, squeeze
from checks.lang.cpp.dispatch import lower_expr
from checks.lang.ir.expr import Call, Cast, Const, Expr, Name, Sequence, Unary, callee
from checks.lang.ir.source_file import Binding, Op

if TYPE_CHECKING:
    from tree_sitter import Node

_OP = re.compile(rb"\b(?:PD|PADDLE|FD)_(?:BUILD|REGISTER)_\w*\s*\(")
_DEF = re.compile(rb"\.\s*def\s*\(")


def ops(ctx: Context, root: Node, quiet: bytes, path: str) -> tuple[Op, ...]:
    """Every `PD_BUILD_...OP(name).Inputs({...})...` and `PD_REGISTER_...(name, ...)`."""
    found: list[Op] = []
    for match in _OP.finditer(quiet) if b"_BUILD_" in quiet or b"_REGISTER_" in quiet else ():
        row = quiet.rfind(b"\n", 0, match.start()) + 1
        if quiet[row : match.start()].lstrip().startswith(b"#"):
            continue
        call = _call_at(root, match.end() - 1)
        if call is not None and (op := _op(ctx, call, path)) is not None:
            found.append(op)
    return tuple(found)


def _call_at(root: Node, bracket: int) -> Node | None:
    """The call whose `(` is at `bracket`."""
    node = root.descendant_for_byte_range(bracket, bracket + 1)
    while node is not None and node.type != "call_expression":
        node = node.parent
    return node


def _op(ctx: Context, call: Node, path: str) -> Op | None:
    target, arguments = call.child_by_field_name("function"), call.child_by_field_name("arguments")
    if target is None or arguments is None or not named(arguments):
        return None
    name = ctx.text(named(arguments)[0]).strip('"')
    macro, last = ctx.text(target), call
    parts: dict[str, Node] = {}
    while (method := _next_method(last)) is not None:
        word, last = method
        listed = last.child_by_field_name("arguments")
        if listed is not None:
            parts[ctx.text(word)] = listed
    kernel = _first(ctx, parts.get("SetKernelFn"))
    return Op(
        name,
        path,
        ctx.line(call),
        ctx.end_line(last),
        _strings(_first(ctx, parts.get("Inputs"))),
        _strings(_first(ctx, parts.get("Outputs"))),
        _strings(_first(ctx, parts.get("Attrs"))),
        _pairs(_first(ctx, parts.get("SetInplaceMap"))),
        _function(kernel.args[0])
        if isinstance(kernel, Call) and kernel.args
        else _function(kernel),
        macro,
    )


def _next_method(call: Node) -> tuple[Node, Node] | None:
    """The name and the call of the method that is called on this call's value."""
    member = call.parent
    outer = member.parent if member is not None and member.type == "field_expression" else None
    if member is None or outer is None or outer.type != "call_expression":
        return None
    word = member.child_by_field_name("field")
    return (word, outer) if word is not None else None


def _first(ctx: Context, arguments: Node | None) -> Expr | None:
    items = named(arguments) if arguments is not None else []
    return lower_expr(ctx, items[0]) if items else None


def _strings(expr: Expr | None) -> tuple[str, ...]:
    """The strings of a list; of `paddle::Vec("x")` and its like the string inside."""
    if not isinstance(expr, Sequence):
        return (_string(expr),) if expr is not None and _string(expr) else ()
    return tuple(_string(item) for item in expr.items)


def _string(expr: Expr) -> str:
    match expr:
        case Const(value=str(value)):
            return value
        case Call(args=(first, *_)):
            return _string(first)
        case Name(id=name):
            return name
        case _:
            return ""


def _pairs(expr: Expr | None) -> tuple[tuple[str, str], ...]:
    if not isinstance(expr, Sequence):
        return ()
    # `{{"a", "b"}}` of one pair reads like a list of lists, which it is.
    return tuple(
        (_string(item.items[0]), _string(item.items[1]))
        for item in expr.items
        if isinstance(item, Sequence) and len(item.items) == 2
    )


def _function(expr: Expr | None) -> str:
    """The name in `&F`, `F`, `static_cast<...>(&F)`, `py::overload_cast<...>(&F)`."""
    match expr:
        case Name(id=name):
            return name
        case Unary(op="&", operand=operand) | Cast(operand=operand):
            return _function(operand)
        case Call(args=(first, *_)):
            return _function(first)
        case _:
            return ""


def bindings(ctx: Context, root: Node, quiet: bytes, path: str) -> tuple[Binding, ...]:
    """Every `x.def("name", &F, py::arg("a"), ...)`."""
    found: list[Binding] = []
    for match in _DEF.finditer(quiet):
        call = _call_at(root, match.end() - 1)
        if call is not None and (one := _binding(ctx, call, path)) is not None:
            found.append(one)
    return tuple(found)


def _binding(ctx: Context, call: Node, path: str) -> Binding | None:
    arguments = call.child_by_field_name("arguments")
    items = named(arguments) if arguments is not None else []
    if not items or items[0].type not in (
        "string_literal",
        "raw_string_literal",
        "concatenated_string",
    ):
        return None
    name = lower_expr(ctx, items[0])
    if not isinstance(name, Const):
        return None
    own = Context(ctx.data, ctx.code, ctx.first_line)
    plain = len(items) > 1 and items[1].type != "lambda_expression"
    function = _function(lower_expr(own, items[1])) if plain else ""
    target = call.child_by_field_name("function")
    member = target.child_by_field_name("field") if target is not None else None
    line = ctx.line(member) if member is not None else ctx.line(call)

    def names() -> tuple[str, ...]:
        return tuple([word for item in items[2:] if (word := _argument(own, item))])

    return Binding(
        squeeze(str(name.value)), function, path, line, ctx.end_line(call), find_args=names
    )


def _argument(ctx: Context, item: Node) -> str:
    """`x` of `py::arg("x")`, `py::arg("x") = 3`, `py::arg("x").noconvert()`, `"x"_a`."""
    default = item.child_by_field_name("left") if item.type == "assignment_expression" else None
    value = lower_expr(ctx, default if default is not None else item)
    while isinstance(value, Call):
        if callee(value) == "arg":
            return _string(value)
        value = getattr(value.func, "base", Const(None))
    return ""
