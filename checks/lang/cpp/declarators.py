"""Declarations: what is declared, with which type text, and how it is set."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from checks.lang.cpp.context import Context, named, squeeze
from checks.lang.cpp.dispatch import lower_expr
from checks.lang.cpp.snippets import expression
from checks.lang.ir.expr import Call, Expr, Name
from checks.lang.ir.source_file import Param

if TYPE_CHECKING:
    from tree_sitter import Node

_NAMES = frozenset(
    {
        "identifier",
        "field_identifier",
        "type_identifier",
        "qualified_identifier",
        "destructor_name",
        "operator_name",
        "operator_cast",
        "template_function",
        "structured_binding_declarator",
    }
)
_DECLARATORS = frozenset(
    {
        "init_declarator",
        "pointer_declarator",
        "reference_declarator",
        "array_declarator",
        "function_declarator",
        "parenthesized_declarator",
        "attributed_declarator",
        "bitfield_clause",
        "variadic_declarator",
    }
)
_PARTS = _NAMES | _DECLARATORS
_STORAGE = re.compile(
    r"\b(?:static|extern|register|mutable|thread_local|typename|struct|class|union|enum)\b\s*"
)
_PRIMITIVE = frozenset({"primitive_type", "sized_type_specifier"})


@dataclass(frozen=True, slots=True)
class Declared:
    """One declarator. `type` has pointers, references and array brackets, but no storage class; `names` is longer
    than one for a structured binding. `node` is the declarator, `function` its function part, if it has one."""

    names: tuple[str, ...]
    type: str
    dims: tuple[Node, ...]
    node: Node
    value: Node | None
    function: Node | None = None


def declared(ctx: Context, node: Node) -> Iterator[Declared]:
    """The declarators of a declaration, field or parameter, in order."""
    base: int | None = None
    for child in node.children_by_field_name("declarator"):
        if base is None:
            base = child.start_byte
        # In a condition (`if (T* p = f())`) the value belongs to the declaration.
        holder = child if child.type == "init_declarator" else node
        value = holder.child_by_field_name("value")
        name, dims, function = unwrap(child)
        start = name.start_byte if name is not None else child.end_byte
        prefix = ctx.span(node.start_byte, base) if base != child.start_byte else ""
        text = ctx.span(child.start_byte if prefix else node.start_byte, start)
        text = f"{prefix} {text}".strip() if prefix else text
        text = _STORAGE.sub("", text)
        sizes = tuple(d for d in dims if d.type != "]")
        text += "".join(f"[{ctx.span(d.start_byte, d.end_byte).strip(']')}]" for d in dims)
        yield Declared(_names(ctx, name), text, sizes, child, value, function)


def unwrap(node: Node) -> tuple[Node | None, tuple[Node, ...], Node | None]:
    """The name inside a declarator, its array sizes (outer first), and the function declarator around the name."""
    dims: list[Node] = []
    function: Node | None = None
    current: Node | None = node
    while current is not None and current.type not in _NAMES:
        if current.type == "array_declarator":
            size = current.child_by_field_name("size")
            dims.insert(0, size if size is not None else current.children[-1])  # `[]` has no size
        elif current.type == "function_declarator":
            function = current
        inner = current.child_by_field_name("declarator")
        if inner is None:
            inner = next((c for c in current.children if c.type in _PARTS), None)
        current = inner
    return current, tuple(dims), function


def _names(ctx: Context, name: Node | None) -> tuple[str, ...]:
    if name is None:
        return ()
    if name.type == "structured_binding_declarator":
        return tuple(ctx.text(part) for part in named(name))
    return (squeeze(ctx.text(name)),)


def parameters(ctx: Context, function: Node) -> tuple[Param, ...]:
    """The parameters of a function declarator or a lambda's."""
    listed = function.child_by_field_name("parameters")
    if listed is None:
        return ()
    found: list[Param] = []
    for one in listed.named_children:
        line = ctx.line(one)
        if one.type in ("parameter_declaration", "optional_parameter_declaration"):
            found.append(_parameter(ctx, one))
        elif one.type in ("variadic_parameter_declaration", "variadic_parameter"):
            text = ctx.span(one.start_byte, one.end_byte)
            name, _, _ = unwrap(one)
            pack = ctx.text(name) if name is not None and name is not one else ""
            found.append(Param(pack, text.removesuffix(pack).strip(), kind="args", line=line))
    if len(found) == 1 and (found[0].name, found[0].type) == ("", "void"):
        return ()
    return tuple(found)


def _parameter(ctx: Context, node: Node) -> Param:
    line = ctx.line(node)
    default = node.child_by_field_name("default_value")
    value = lower_expr(ctx, default) if default is not None else None
    for one in declared(ctx, node):
        name = one.names[0] if one.names else ""
        return Param(name, one.type, value, line=line)
    end = default.start_byte if default is not None else node.end_byte
    return Param("", ctx.span(node.start_byte, end).rstrip("= "), value, line=line)


def initial(ctx: Context, node: Node, one: Declared) -> Expr | None:
    """What a declarator is set to. `T x(a, b)` is a call of `T`; `int x(a)` and `int x{a}` are just `a`."""
    kind = node.child_by_field_name("type")
    name = ctx.span(kind.start_byte, kind.end_byte) if kind is not None else ""
    line = ctx.line(one.node)
    value = one.value
    plain = kind is not None and kind.type in _PRIMITIVE and not one.dims
    if value is None:
        arguments = _vexing(ctx, one)
        if arguments is None:
            return None
        if plain and len(arguments) == 1:
            return arguments[0]
        return Call(Name(name, line=line), arguments, line=line)
    if value.type in ("argument_list", "initializer_list"):
        items = named(value)
        if plain and len(items) == 1:
            return lower_expr(ctx, items[0])
        if value.type == "argument_list":
            args = tuple(lower_expr(ctx, item) for item in items)
            return Call(Name(name, line=line), args, line=line)
    return lower_expr(ctx, value)


def _vexing(ctx: Context, one: Declared) -> tuple[Expr, ...] | None:
    """`dim3 grid(n);` reads as a function of an unnamed `n`; inside a function it is a variable."""
    if one.function is None:
        return None
    listed = one.function.child_by_field_name("parameters")
    if listed is None or not named(listed):
        return None
    return tuple(
        expression(ctx.data[part.start_byte : part.end_byte], ctx.line(part), ctx.depth)
        for part in named(listed)
    )
