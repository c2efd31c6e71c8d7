"""Op registrations and pybind bindings."""

from __future__ import annotations

import re
from functools import partial

from tree_sitter import Node

from checks.lang.cpp.context import Context, collapse_whitespace, named_children
from checks.lang.cpp.expressions import lower_expr
from checks.lang.ir.expr import Attr, Call, Cast, Const, Expr, Name, Sequence, Unary, callee
from checks.lang.ir.source_file import Binding, Op

_OP_MACRO = re.compile(rb"\b(?:PD|PADDLE|FD)_(?:BUILD|REGISTER)_\w*\s*\(")
_DEF = re.compile(rb"\.\s*def\s*\(")
_STRING_TYPES = frozenset({"string_literal", "raw_string_literal", "concatenated_string"})


def ops(ctx: Context, root: Node, quiet: bytes, path: str) -> tuple[Op, ...]:
    """Every `PD_BUILD_...OP(name).Inputs({...})...` and `PD_REGISTER_...(name, ...)`."""
    found: list[Op] = []
    for match in _OP_MACRO.finditer(quiet):
        line_start = quiet.rfind(b"\n", 0, match.start()) + 1
        before = quiet[line_start : match.start()]
        # `#define PD_BUILD_OP(...)` registers nothing.
        if before.lstrip().startswith(b"#"):
            continue
        call = _call_at(root, match.end() - 1)
        op = _op(ctx, call, path) if call is not None else None
        if op is not None:
            found.append(op)
    return tuple(found)


def _call_at(root: Node, bracket: int) -> Node | None:
    """The call whose `(` is at `bracket`."""
    node = root.descendant_for_byte_range(bracket, bracket + 1)
    while node is not None and node.type != "call_expression":
        node = node.parent
    return node


def _op(ctx: Context, call: Node, path: str) -> Op | None:
    macro = call.child_by_field_name("function")
    arguments = named_children(call.child_by_field_name("arguments"))
    if macro is None or not arguments:
        return None
    # The first argument of each method in the chain, by the method's name.
    parts: dict[str, Expr | None] = {}
    last = call
    while (method := _next_method(last)) is not None:
        name, last = method
        parts[ctx.text(name)] = _first_argument(ctx, last)
    kernel = parts.get("SetKernelFn")
    if isinstance(kernel, Call) and kernel.args:
        kernel = kernel.args[0]
    return Op(
        name=ctx.text(arguments[0]).strip('"'),
        path=path,
        line=ctx.line(call),
        end_line=ctx.end_line(last),
        inputs=_strings(parts.get("Inputs")),
        outputs=_strings(parts.get("Outputs")),
        attrs=_strings(parts.get("Attrs")),
        inplace=_pairs(parts.get("SetInplaceMap")),
        kernel=_function_name(kernel),
        macro=ctx.text(macro),
    )


def _next_method(call: Node) -> tuple[Node, Node] | None:
    """The name and the call of the method that is called on this call's value."""
    member = call.parent
    if member is None or member.type != "field_expression":
        return None
    outer = member.parent
    name = member.child_by_field_name("field")
    if outer is None or outer.type != "call_expression" or name is None:
        return None
    return name, outer


def _first_argument(ctx: Context, call: Node) -> Expr | None:
    arguments = named_children(call.child_by_field_name("arguments"))
    return lower_expr(ctx, arguments[0]) if arguments else None


def _strings(expr: Expr | None) -> tuple[str, ...]:
    """The strings of a list; of `paddle::Vec("x")` and its like the string inside."""
    if expr is None:
        return ()
    if isinstance(expr, Sequence):
        return tuple(_string(item) for item in expr.items)
    string = _string(expr)
    return (string,) if string else ()


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
    """`{{"a", "b"}, {"c", "d"}}`, which reads like a list of lists."""
    if not isinstance(expr, Sequence):
        return ()
    pairs: list[tuple[str, str]] = []
    for item in expr.items:
        if isinstance(item, Sequence) and len(item.items) == 2:
            first, second = item.items
            pairs.append((_string(first), _string(second)))
    return tuple(pairs)


def _function_name(expr: Expr | None) -> str:
    """The name in `&F`, `F`, `static_cast<...>(&F)`, `py::overload_cast<...>(&F)`."""
    match expr:
        case Name(id=name):
            return name
        case Unary(op="&", operand=operand) | Cast(operand=operand):
            return _function_name(operand)
        case Call(args=(first, *_)):
            return _function_name(first)
        case _:
            return ""


def bindings(ctx: Context, root: Node, quiet: bytes, path: str) -> tuple[Binding, ...]:
    """Every `x.def("name", &F, py::arg("a"), ...)`."""
    found: list[Binding] = []
    for match in _DEF.finditer(quiet):
        call = _call_at(root, match.end() - 1)
        binding = _binding(ctx, call, path) if call is not None else None
        if binding is not None:
            found.append(binding)
    return tuple(found)


def _binding(ctx: Context, call: Node, path: str) -> Binding | None:
    arguments = named_children(call.child_by_field_name("arguments"))
    if not arguments or arguments[0].type not in _STRING_TYPES:
        return None
    name = lower_expr(ctx, arguments[0])
    if not isinstance(name, Const):
        return None
    own = Context(ctx.data, ctx.code, ctx.first_line)
    function = ""
    if len(arguments) > 1 and arguments[1].type != "lambda_expression":
        function = _function_name(lower_expr(own, arguments[1]))
    # A chain of `.def`s starts at one line: the method's name is where this one stands.
    target = call.child_by_field_name("function")
    method = target.child_by_field_name("field") if target is not None else None
    return Binding(
        collapse_whitespace(str(name.value)),
        function,
        path,
        ctx.line(method) if method is not None else ctx.line(call),
        ctx.end_line(call),
        find_args=partial(_argument_names, own, arguments[2:]),
    )


def _argument_names(ctx: Context, arguments: list[Node]) -> tuple[str, ...]:
    names = [_argument_name(ctx, argument) for argument in arguments]
    return tuple(name for name in names if name)


def _argument_name(ctx: Context, argument: Node) -> str:
    """`x` of `py::arg("x")`, `py::arg("x") = 3`, `py::arg("x").noconvert()`; empty for others."""
    if argument.type == "assignment_expression":
        target = argument.child_by_field_name("left")
        argument = target if target is not None else argument
    value: Expr = lower_expr(ctx, argument)
    while isinstance(value, Call):
        if callee(value) == "arg":
            return _string(value)
        if not isinstance(value.func, Attr):
            return ""
        value = value.func.base
    return ""
