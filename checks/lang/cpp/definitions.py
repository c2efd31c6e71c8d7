"""What a file defines, from a walk over its top level: bodies of functions are not entered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from checks.lang.cpp import types
from checks.lang.cpp.context import LONGEST, Context, named
from checks.lang.cpp.declarators import declared
from checks.lang.cpp.functions import declaration, function, inner_functions
from checks.lang.cpp.preprocessor import define, include
from checks.lang.ir.source_file import Class, Constant, Declaration, Function, Import, Struct

if TYPE_CHECKING:
    from tree_sitter import Node

_PREPROCESSOR = frozenset(
    {"preproc_if", "preproc_ifdef", "preproc_elif", "preproc_elifdef", "preproc_else"}
)
_TYPES = frozenset({"struct_specifier", "class_specifier", "union_specifier", "enum_specifier"})


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a definition stands: namespaces and classes, `extern "C"`, the template it belongs to, `#if`s."""

    names: tuple[str, ...] = ()
    owner: str = ""
    marks: tuple[str, ...] = ()
    template: Node | None = None
    guard: str = ""


@dataclass
class Found:
    """Everything found so far."""

    path: str
    functions: list[Function] = field(default_factory=list)
    classes: list[Class] = field(default_factory=list)
    structs: list[Struct] = field(default_factory=list)
    constants: list[Constant] = field(default_factory=list)
    declarations: list[Declaration] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)


def collect(ctx: Context, root: Node, path: str) -> Found:
    """The definitions under `root`, in source order."""
    found = Found(path)
    stack: list[tuple[Node, Scope]] = [(child, Scope()) for child in reversed(root.children)]
    while stack:
        node, scope = stack.pop()
        stack.extend(reversed(_visit(ctx, node, scope, found)))
    return found


def _visit(ctx: Context, node: Node, scope: Scope, found: Found) -> list[tuple[Node, Scope]]:
    """Takes what `node` defines; gives the nodes inside it that have to be visited."""
    kind = node.type
    if kind == "function_definition":
        return _function(ctx, node, scope, found)
    if kind in ("declaration", "field_declaration"):
        return _declaration(ctx, node, scope, found)
    if kind in ("preproc_def", "preproc_function_def"):
        found.constants.append(define(ctx, node, found.path))
    elif kind == "preproc_include":
        found.imports.append(include(ctx, node, scope.guard))
    elif kind in _TYPES:
        return _type(ctx, node, scope, found, "")
    elif kind in ("alias_declaration", "type_definition"):
        return _alias(ctx, node, scope, found)
    elif kind == "expression_statement":
        return []
    else:
        return _container(ctx, node, scope)
    return []


def _container(ctx: Context, node: Node, scope: Scope) -> list[tuple[Node, Scope]]:
    kind = node.type
    if kind == "namespace_definition":
        name = node.child_by_field_name("name")
        names = (*scope.names, ctx.text(name)) if name is not None else scope.names
        return _inside(
            node.child_by_field_name("body"), Scope(names, "", scope.marks, None, scope.guard)
        )
    if kind == "linkage_specification":
        marks = (*scope.marks, 'extern "C"')
        inner = Scope(scope.names, scope.owner, marks, None, scope.guard)
        body = node.child_by_field_name("body")
        if body is not None and body.type != "declaration_list":
            return [(body, inner)]
        return _inside(body, inner)
    if kind == "template_declaration":
        inner = Scope(scope.names, scope.owner, scope.marks, scope.template or node, scope.guard)
        return [(child, inner) for child in named(node)[1:]]
    if kind in _PREPROCESSOR:
        head = node.child_by_field_name("name") or node.child_by_field_name("condition")
        guard = ctx.span(node.start_byte, head.end_byte) if head is not None else "#else"
        # Cut, or thousands of nested arms would cost the square of their number.
        guard = f"{scope.guard} {guard}".strip()[-LONGEST:]
        inner = Scope(scope.names, scope.owner, scope.marks, scope.template, guard)
        return [(child, inner) for child in node.children if child != head]
    if kind in ("ERROR", "declaration_list", "field_declaration_list"):
        return _inside(node, scope)
    return []


def _inside(body: Node | None, scope: Scope) -> list[tuple[Node, Scope]]:
    return [(child, scope) for child in body.children] if body is not None else []


def _function(ctx: Context, node: Node, scope: Scope, found: Found) -> list[tuple[Node, Scope]]:
    one = function(ctx, node, scope.names, scope.owner, scope.marks, scope.template, found.path)
    if one is not None:
        found.functions.append(one)
    body = node.child_by_field_name("body")
    if body is None or not body.has_error:
        return []
    # Where braces did not balance (one arm of an `#if` opens what both close), the next function is inside this one.
    return [(inner, Scope(scope.names)) for inner in inner_functions(body)]


def _declaration(ctx: Context, node: Node, scope: Scope, found: Found) -> list[tuple[Node, Scope]]:
    kind = node.child_by_field_name("type")
    inside: list[tuple[Node, Scope]] = []
    if kind is not None and kind.type in _TYPES and kind.child_by_field_name("body") is not None:
        name = next((n for one in declared(ctx, node) for n in one.names), "")
        inside = _type(ctx, kind, scope, found, name)
    for one in declared(ctx, node):
        if one.function is not None and one.names and one.value is None:
            start = scope.template if scope.template is not None else node
            found.declarations.append(declaration(ctx, node, one, start, found.path))
        elif one.names and (constant := types.constant(ctx, node, one, found.path, scope.owner)):
            found.constants.append(constant)
    return inside


def _type(
    ctx: Context, node: Node, scope: Scope, found: Found, alias: str
) -> list[tuple[Node, Scope]]:
    """A struct, class, union or enum; its methods are visited next."""
    body = node.child_by_field_name("body")
    if body is None:
        return []
    if node.type == "enum_specifier":
        found.constants.extend(types.enumerators(ctx, node, found.path))
        return []
    name_node = node.child_by_field_name("name")
    name = ctx.text(name_node) if name_node is not None else alias
    qualified = f"{scope.owner}::{name}" if scope.owner else name
    start = scope.template if scope.template is not None else node
    members = types.members(ctx, body)
    ends = ctx.line(start), ctx.end_line(node)
    if members or node.type != "class_specifier":
        found.structs.append(Struct(qualified, members, found.path, *ends))
    bases = types.bases(ctx, node)
    if (
        bases
        or node.type == "class_specifier"
        or any(c.type == "function_definition" for c in body.children)
    ):
        found.classes.append(Class(qualified, bases, found.path, *ends))
    inner = Scope((*scope.names, name) if name else scope.names, qualified, (), None, scope.guard)
    return _inside(body, inner)


def _alias(ctx: Context, node: Node, scope: Scope, found: Found) -> list[tuple[Node, Scope]]:
    kind = node.child_by_field_name("type")
    name = node.child_by_field_name("name") or node.child_by_field_name("declarator")
    if kind is None or name is None:
        return []
    if kind.type in _TYPES:
        return _type(ctx, kind, scope, found, ctx.text(name))
    text = ctx.span(kind.start_byte, kind.end_byte)
    found.constants.append(
        Constant(ctx.text(name), None, found.path, ctx.line(node), "alias", scope.owner, type=text)
    )
    return []
