"""Declarations: what is declared, with which type text, and how it is set."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from checks.lang.cpp.context import Context, collapse_whitespace, named_children
from checks.lang.cpp.expressions import lower_each, lower_expr
from checks.lang.cpp.snippets import expression
from checks.lang.ir.expr import Call, Expr, Name
from checks.lang.ir.source_file import Param

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
_STORAGE = re.compile(
    r"\b(?:static|extern|register|mutable|thread_local|typename|struct|class|union|enum)\b\s*"
)
_PRIMITIVE_TYPES = frozenset({"primitive_type", "sized_type_specifier"})


@dataclass(frozen=True, slots=True)
class Declarator:
    """One declarator of a declaration.

    `type` has pointers, references and array brackets, but no storage class; `names` is longer
    than one for a structured binding. `node` is the declarator, `function` its function part, if
    it has one.
    """

    names: tuple[str, ...]
    type: str
    dims: tuple[Node, ...]
    node: Node
    value: Node | None
    function: Node | None = None


def declarators(ctx: Context, node: Node) -> Iterator[Declarator]:
    """The declarators of a declaration, field or parameter, in order."""
    children = node.children_by_field_name("declarator")
    for child in children:
        # In a condition (`if (T* p = f())`) the value belongs to the declaration.
        holder = child if child.type == "init_declarator" else node
        value = holder.child_by_field_name("value")
        name, brackets, function = unwrap(child)
        name_start = name.start_byte if name is not None else child.end_byte
        text = ctx.masked_between(node.start_byte, name_start)
        if child != children[0]:
            # `int *a, &b`: the type of `b` is the text before `*a`, then that before `b`.
            shared = ctx.masked_between(node.start_byte, children[0].start_byte)
            own = ctx.masked_between(child.start_byte, name_start)
            text = f"{shared} {own}".strip()
        text = _STORAGE.sub("", text)
        for bracket in brackets:
            text += f"[{ctx.masked_text(bracket).strip(']')}]"
        dims = tuple(bracket for bracket in brackets if bracket.type != "]")
        yield Declarator(_names_in(ctx, name), text, dims, child, value, function)


def unwrap(node: Node) -> tuple[Node | None, tuple[Node, ...], Node | None]:
    """What is inside a declarator: its name, its array sizes, and its function part.

    Sizes come outer first; an empty `[]` is given as its `]`. The function part is the function
    declarator that stands closest around the name.
    """
    sizes: list[Node] = []
    function: Node | None = None
    current: Node | None = node
    while current is not None and current.type not in _NAMES:
        if current.type == "array_declarator":
            size = current.child_by_field_name("size")
            sizes.insert(0, size if size is not None else current.children[-1])
        elif current.type == "function_declarator":
            function = current
        current = _inner_declarator(current)
    return current, tuple(sizes), function


def _inner_declarator(node: Node) -> Node | None:
    inner = node.child_by_field_name("declarator")
    if inner is not None:
        return inner
    for child in node.children:
        if child.type in _NAMES or child.type in _DECLARATORS:
            return child
    return None


def _names_in(ctx: Context, name: Node | None) -> tuple[str, ...]:
    if name is None:
        return ()
    if name.type == "structured_binding_declarator":
        return tuple(ctx.text(part) for part in named_children(name))
    return (collapse_whitespace(ctx.text(name)),)


def parameters(ctx: Context, function: Node) -> tuple[Param, ...]:
    """The parameters of a function declarator or a lambda's."""
    listed = function.child_by_field_name("parameters")
    if listed is None:
        return ()
    params: list[Param] = []
    for node in listed.named_children:
        if node.type in ("parameter_declaration", "optional_parameter_declaration"):
            params.append(_parameter(ctx, node))
        elif node.type in ("variadic_parameter_declaration", "variadic_parameter"):
            params.append(_parameter_pack(ctx, node))
    is_void = len(params) == 1 and params[0].name == "" and params[0].type == "void"
    return () if is_void else tuple(params)


def _parameter(ctx: Context, node: Node) -> Param:
    line = ctx.line(node)
    default = node.child_by_field_name("default_value")
    value = lower_expr(ctx, default) if default is not None else None
    declarator = next(declarators(ctx, node), None)
    if declarator is not None:
        name = declarator.names[0] if declarator.names else ""
        return Param(name, declarator.type, value, line=line)
    end = default.start_byte if default is not None else node.end_byte
    kind = ctx.masked_between(node.start_byte, end).rstrip("= ")
    return Param("", kind, value, line=line)


def _parameter_pack(ctx: Context, node: Node) -> Param:
    """`Args... args`, or the bare `...`."""
    text = ctx.masked_text(node)
    name_node, _, _ = unwrap(node)
    name = ctx.text(name_node) if name_node is not None and name_node is not node else ""
    return Param(name, text.removesuffix(name).strip(), kind="args", line=ctx.line(node))


def initial_value(ctx: Context, node: Node, declarator: Declarator) -> Expr | None:
    """What a declarator of the declaration `node` is set to.

    `T x(a, b)` is a call of `T`; `int x(a)` and `int x{a}` are just `a`.
    """
    kind = node.child_by_field_name("type")
    type_name = Name(
        ctx.masked_text(kind) if kind is not None else "", line=ctx.line(declarator.node)
    )
    is_number = kind is not None and kind.type in _PRIMITIVE_TYPES and not declarator.dims
    value = declarator.value
    if value is None:
        arguments = _constructor_arguments(ctx, declarator)
        if arguments is None:
            return None
        if is_number and len(arguments) == 1:
            return arguments[0]
        return Call(type_name, arguments, line=type_name.line)
    if value.type in ("argument_list", "initializer_list"):
        items = named_children(value)
        if is_number and len(items) == 1:
            return lower_expr(ctx, items[0])
        if value.type == "argument_list":
            return Call(type_name, lower_each(ctx, items), line=type_name.line)
    return lower_expr(ctx, value)


def _constructor_arguments(ctx: Context, declarator: Declarator) -> tuple[Expr, ...] | None:
    """`n` of `dim3 grid(n);`, which the grammar takes for a function with an unnamed parameter.

    Inside a function it is a variable ("the most vexing parse").
    """
    if declarator.function is None:
        return None
    parts = named_children(declarator.function.child_by_field_name("parameters"))
    if not parts:
        return None
    arguments: list[Expr] = []
    for part in parts:
        text = ctx.data[part.start_byte : part.end_byte]
        arguments.append(expression(text, ctx.line(part), ctx.depth))
    return tuple(arguments)
