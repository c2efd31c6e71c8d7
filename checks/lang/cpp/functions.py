"""Function definitions and declarations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from tree_sitter import Node

from checks.lang.cpp.context import Context, collapse_whitespace, field_of, named_children
from checks.lang.cpp.declarators import Declarator, parameters, unwrap
from checks.lang.cpp.scope import DefinitionScope
from checks.lang.cpp.statements import lower_all, lower_block
from checks.lang.ir.source_file import Declaration, Function, Ranges, join_ranges
from checks.lang.ir.stmt import Stmt

_MARK = re.compile(
    r"\b(?:__global__|__device__|__host__|__forceinline__|__noinline__"
    r"|static|inline|extern|constexpr|virtual|explicit|friend)\b\s*"
)
_TEMPLATE_ARGUMENTS = re.compile(r"<.*>$")
_MACRO_CALL = re.compile(r"[A-Z][A-Z0-9_]+\s*\(")


def function(ctx: Context, node: Node, scope: DefinitionScope, path: str) -> Function | None:
    """A definition; None for what only looks like one. Its body is lowered when it is asked for."""
    declarator = node.child_by_field_name("declarator")
    if declarator is None:
        return None
    name_node, _, head = unwrap(declarator)
    if name_node is None or head is None:
        return None
    name, qualifier = split_name(collapse_whitespace(ctx.text(name_node)))
    outer_names = (*scope.names, qualifier) if qualifier else scope.names
    specifiers = ctx.masked_between(node.start_byte, head.start_byte)
    marks = [*scope.marks, *[mark.strip() for mark in _MARK.findall(specifiers)]]
    if scope.template is not None:
        marks.insert(0, _template_text(ctx, scope.template))
    return Function(
        name=name,
        qualname="::".join((*outer_names, name)),
        path=path,
        params=parameters(ctx, head),
        start_line=ctx.line(scope.start_of(node)),
        end_line=ctx.end_line(node),
        lower=partial(_lower_body, ctx, node),
        returns=_return_type(ctx, specifiers, head),
        owner=qualifier or scope.owner,
        marks=tuple(dict.fromkeys(marks)),
        find_broken=partial(broken_ranges, ctx, node),
    )


def _lower_body(ctx: Context, node: Node) -> tuple[Stmt, ...]:
    """The body of a function definition."""
    own = Context(ctx.data, ctx.code, ctx.first_line, ctx.blocks)
    body = node.child_by_field_name("body")
    if body is not None and body.type == "compound_statement":
        return lower_all(own, named_children(body))
    if body is None:
        # `f() try { ... } catch (...) { ... }`
        body = next((child for child in node.children if child.type == "try_statement"), None)
    return lower_block(own, body)


def declaration(
    ctx: Context, node: Node, declarator: Declarator, scope: DefinitionScope, path: str
) -> Declaration:
    """A function that is declared only."""
    name, _ = split_name(declarator.names[0])
    head = declarator.function if declarator.function is not None else declarator.node
    specifiers = ctx.masked_between(node.start_byte, head.start_byte)
    return Declaration(
        name,
        path,
        ctx.line(scope.start_of(node)),
        ctx.end_line(node),
        _return_type(ctx, specifiers, head),
        find_params=partial(parameters, ctx, head),
        owner=scope.owner,
    )


def split_name(text: str) -> tuple[str, str]:
    """`f` and `ns::C` of `ns::C::f<int>`."""
    if "operator" in text:
        before, _, after = text.rpartition("operator")
        return f"operator{after}", before.removesuffix("::")
    name = _TEMPLATE_ARGUMENTS.sub("", text)
    # The last `::` that is not inside template arguments: `A<b::c>::f`.
    depth = 0
    for position in range(len(name) - 1, 0, -1):
        if name[position] == ">":
            depth += 1
        elif name[position] == "<":
            depth -= 1
        if depth == 0 and name[position - 1 : position + 1] == "::":
            return name[position + 1 :].strip(), name[: position - 1].strip()
    return name, ""


def _template_text(ctx: Context, template: Node) -> str:
    params = field_of(template, "parameters")
    return f"template{ctx.masked_text(params)}" if params is not None else "template<>"


def _return_type(ctx: Context, specifiers: str, head: Node) -> str:
    for child in head.children:
        if child.type == "trailing_return_type":
            return ctx.masked_text(child).removeprefix("->").strip()
    return collapse_whitespace(_MARK.sub("", specifiers))


def broken_ranges(ctx: Context, node: Node) -> Ranges:
    """The lines inside `node` that were dropped, or that the parser skipped or filled in."""
    first, last = ctx.line(node), ctx.end_line(node)
    dropped = [(start, end) for start, end in ctx.dropped if first <= start and end <= last]
    return join_ranges([*dropped, *_error_lines(ctx, node)])


def _error_lines(ctx: Context, node: Node) -> Iterator[tuple[int, int]]:
    waiting = [node] if node.has_error else []
    while waiting:
        inner = waiting.pop()
        if inner.is_error or inner.is_missing:
            if not _is_semicolon_of_macro(ctx, inner):
                yield ctx.line(inner), ctx.end_line(inner)
        elif inner.has_error:
            waiting.extend(inner.children)


def _is_semicolon_of_macro(ctx: Context, node: Node) -> bool:
    """A missing `;` that a macro brings along: `CUDA_CHECK(x)` on a line of its own."""
    if not node.is_missing or node.type != ";" or node.parent is None:
        return False
    return _MACRO_CALL.match(ctx.text(node.parent)) is not None


def inner_functions(body: Node) -> list[Node]:
    """Function definitions that a syntax error moved into `body`, in source order."""
    functions: list[Node] = []
    waiting = [body]
    while waiting:
        for child in waiting.pop().children:
            if child.type in ("function_definition", "template_declaration"):
                functions.append(child)
            elif child.has_error:
                waiting.append(child)
    return sorted(functions, key=lambda node: node.start_byte)
