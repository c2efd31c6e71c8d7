"""Calls: template arguments, kernel launches, casts spelled as calls, and macros that assert."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from checks.lang.cpp.context import Context, named
from checks.lang.cpp.dispatch import lower_expr
from checks.lang.ir.expr import Attr, Binary, Call, Cast, Const, Expr, Name

if TYPE_CHECKING:
    from tree_sitter import Node

_CASTS = frozenset({"static_cast", "reinterpret_cast", "const_cast", "dynamic_cast", "bit_cast"})
_NUMBERS = re.compile(
    r"(?:std::)?(?:u?int(?:8|16|32|64)?_t|u?intptr_t|s?size_t|ptrdiff_t|bool|char|short|int|long|float|double|unsigned"
    r"|signed|uint|half|__half|float16|bfloat16|__nv_bfloat16|nv_bfloat16)"
)
_ASSERTS = re.compile(
    r"assert|(?:[A-Z0-9]+_)*(?:D?CHECK|ENFORCE|[A-Z]*ASSERT|EXPECT)(?:_[A-Z0-9]+)*"
)
_COMPARES = {"EQ": "==", "NE": "!=", "LT": "<", "LE": "<=", "GT": ">", "GE": ">="}
_PLAIN = frozenset({"assert", "ASSERT", "CHECK", "DCHECK", "ENFORCE", "ASSERT_TRUE", "EXPECT_TRUE"})
_CONTEXTS = frozenset({"ctx", "context", "ctx_", "xpu_ctx"})


def lower_call(ctx: Context, node: Node) -> Expr:
    """`f(x)`, `f<T>(x)`, `o->f<T>(x)`, `k<<<g, b>>>(x)`, and the casts `int(x)`, `static_cast<T>(x)`."""
    target, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if target is None or arguments is None:
        return ctx.unknown(node)
    line = ctx.line(node)
    template = template_text(ctx, template_arguments(target))
    launch = [c for c in node.children if c.type == "kernel_call_syntax"]
    grid = tuple(lower_expr(ctx, item) for part in launch for item in named(part))
    callee = lower_expr(ctx, target)
    args = tuple(lower_expr(ctx, item) for item in named(arguments))
    if len(args) == 1:
        name = callee.id if isinstance(callee, Name) else ""
        if template and name.rsplit("::", 1)[-1] in _CASTS:
            return Cast(template, args[0], line=line)
        if not template and _NUMBERS.fullmatch(name):
            return Cast(name, args[0], line=line)
    return Call(callee, args, launch=grid, template=template, line=line)


def template_arguments(target: Node) -> Node | None:
    """The `<...>` that ends what is called: of `f<T>`, `ns::f<T>`, `o.f<T>`, `o.template f<T>`."""
    node: Node | None = target
    while node is not None:
        if node.type in ("template_function", "template_method"):
            return node.child_by_field_name("arguments")
        if node.type == "qualified_identifier":
            node = node.child_by_field_name("name")
        elif node.type == "field_expression":
            node = node.child_by_field_name("field")
        elif node.type == "dependent_name":
            node = next(iter(named(node)), None)
        else:
            return None
    return None


def template_text(ctx: Context, arguments: Node | None) -> str:
    """`T, 3` for `<T, 3>`."""
    if arguments is None:
        return ""
    text = ctx.span(arguments.start_byte, arguments.end_byte)
    return text.removeprefix("<").removesuffix(">").strip()


def plain_member(member: Node) -> Node:
    """`data` of `data<T>` and of `template data<T>`."""
    while member.type in ("template_method", "dependent_name"):
        inner = member.child_by_field_name("name") or next(iter(named(member)), None)
        if inner is None:
            return member
        member = inner
    return member


def assertion(expr: Expr) -> tuple[Expr, str] | None:
    """What holds after a macro such as `PD_CHECK(x, ...)`, and its name; None for any other call.

    A comparison is built from the macro's last word (`_EQ` and its like); where the macro's meaning is its own
    (`WRAPPER_CHECK_PTR`), the call itself is the test. A stream behind it (`CHECK(x) << "why"`) says nothing.
    """
    while isinstance(expr, Binary) and expr.op == "<<":
        expr = expr.left
    if not isinstance(expr, Call) or not isinstance(expr.func, Name):
        return None
    macro = expr.func.id
    if not _ASSERTS.fullmatch(macro):
        return None
    args = expr.args
    if len(args) > 2 and macro.startswith("WRAPPER") and _is_context(args[0]):
        args = args[1:]
    words = macro.split("_")
    if words[-1] in _COMPARES and len(args) >= 2:
        return Binary(_COMPARES[words[-1]], args[0], args[1], line=expr.line), macro
    if words[-2:] == ["NOT", "NULL"] and args:
        return Binary("!=", args[0], Const(None), line=expr.line), macro
    plain = macro in _PLAIN or (
        len(words) < 3 and words[-1].endswith(("CHECK", "ENFORCE", "ASSERT"))
    )
    return (args[0] if plain and args else expr), macro


def _is_context(expr: Expr) -> bool:
    match expr:
        case Name(id=name) | Attr(name=name):
            return name in _CONTEXTS
        case _:
            return False


def throws(expr: Expr) -> bool:
    """`PD_THROW(...)` and its like."""
    if isinstance(expr, Call) and isinstance(expr.func, Name):
        return bool(re.fullmatch(r"(?:[A-Z]+_)+THROW(?:_[A-Z]+)*", expr.func.id))
    return False
