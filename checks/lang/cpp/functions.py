"""Function definitions and declarations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from checks.lang.cpp.context import Context, squeeze
from checks.lang.cpp.declarators import Declared, parameters, unwrap
from checks.lang.cpp.lower import lower_all, lower_block
from checks.lang.ir.source_file import Declaration, Function
from checks.lang.ir.stmt import Stmt

if TYPE_CHECKING:
    from tree_sitter import Node

_MARK = re.compile(
    r"\b(?:__global__|__device__|__host__|__forceinline__|__noinline__|static|inline|extern|constexpr|virtual|explicit"
    r"|friend)\b\s*"
)
_TEMPLATE = re.compile(r"<.*>$")


def function(
    ctx: Context,
    node: Node,
    names: tuple[str, ...],
    owner: str,
    outer_marks: tuple[str, ...],
    template: Node | None,
    path: str,
) -> Function | None:
    """A definition; None for what only looks like one. Its body is lowered when it is asked for."""
    top = node.child_by_field_name("declarator")
    if top is None:
        return None
    name_node, _, head = unwrap(top)
    if name_node is None or head is None:
        return None
    name, qualifier = split_name(squeeze(ctx.text(name_node)))
    owner = qualifier or owner
    spec = ctx.span(node.start_byte, head.start_byte)
    marks = [*outer_marks, *(m.strip() for m in _MARK.findall(spec))]
    start = template if template is not None else node
    if template is not None:
        marks.insert(0, _template_text(ctx, template))
    qualname = "::".join((*names, *([qualifier] if qualifier else []), name))
    return Function(
        name=name,
        qualname=qualname,
        path=path,
        params=parameters(ctx, head),
        start_line=ctx.line(start),
        end_line=ctx.end_line(node),
        lower=lambda: body_of(ctx, node),
        returns=_returns(ctx, spec, head),
        owner=owner,
        marks=tuple(dict.fromkeys(marks)),
        find_broken=lambda: broken_ranges(ctx, node),
    )


def body_of(ctx: Context, node: Node) -> tuple[Stmt, ...]:
    """The lowered body of a function definition."""
    own = Context(ctx.data, ctx.code, ctx.first_line, ctx.blocks)
    body = node.child_by_field_name("body")
    if body is None:
        body = next((c for c in node.children if c.type == "try_statement"), None)
    if body is not None and body.type == "compound_statement":
        return lower_all(own, [c for c in body.named_children if c.type != "comment"])
    return lower_block(own, body)


def split_name(text: str) -> tuple[str, str]:
    """`f` and `ns::C` of `ns::C::f<int>`."""
    if "operator" in text:
        before, _, after = text.rpartition("operator")
        return f"operator{after}", before.removesuffix("::")
    name = _TEMPLATE.sub("", text) if text.endswith(">") else text
    depth = 0
    for position in range(len(name) - 1, 0, -1):
        depth += {">": 1, "<": -1}.get(name[position], 0)
        if not depth and name[position - 1 : position + 1] == "::":
            return name[position + 1 :].strip(), name[: position - 1].strip()
    return name, ""


def _template_text(ctx: Context, template: Node) -> str:
    params = template.child_by_field_name("parameters")
    return (
        f"template{ctx.span(params.start_byte, params.end_byte)}"
        if params is not None
        else "template<>"
    )


def _returns(ctx: Context, spec: str, head: Node) -> str:
    trailing = next((c for c in head.children if c.type == "trailing_return_type"), None)
    if trailing is not None:
        return ctx.span(trailing.start_byte, trailing.end_byte).removeprefix("->").strip()
    return squeeze(_MARK.sub("", spec))


def declaration(ctx: Context, node: Node, one: Declared, start: Node, path: str) -> Declaration:
    """A function that is declared only."""
    name, _ = split_name(one.names[0])
    head = one.function if one.function is not None else one.node
    returns = _returns(ctx, ctx.span(node.start_byte, head.start_byte), head)
    return Declaration(
        name,
        path,
        ctx.line(start),
        ctx.end_line(node),
        returns,
        find_params=lambda: parameters(ctx, head),
    )


def broken_ranges(ctx: Context, node: Node) -> tuple[tuple[int, int], ...]:
    """The lines that the parser skipped or filled in, merged."""
    first, last = ctx.line(node), ctx.end_line(node)
    found = [(a, b) for a, b in ctx.dropped if first <= a and b <= last]
    if not node.has_error and not found:
        return ()
    stack = [node]
    while stack:
        one = stack.pop()
        if one.is_error or one.is_missing:
            if not _harmless(ctx, one):
                found.append((ctx.line(one), ctx.end_line(one)))
        elif one.has_error:
            stack.extend(one.children)
    merged: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if merged and start <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return tuple(merged)


def _harmless(ctx: Context, node: Node) -> bool:
    """A `;` that a macro brings along: `CUDA_CHECK(x)` on a line of its own."""
    if not node.is_missing or node.type != ";" or node.parent is None:
        return False
    return re.match(r"[A-Z][A-Z0-9_]+\s*\(", ctx.text(node.parent)) is not None


def inner_functions(body: Node) -> list[Node]:
    """Function definitions that a syntax error moved into `body`, outermost first in source order."""
    found: list[Node] = []
    stack = [body]
    while stack:
        one = stack.pop()
        for child in reversed(one.children):
            if child.type in ("function_definition", "template_declaration"):
                found.append(child)
            elif child.has_error:
                stack.append(child)
    return sorted(found, key=lambda n: n.start_byte)
