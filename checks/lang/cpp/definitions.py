"""What a file defines, from a walk over its top level: bodies of functions are not entered."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tree_sitter import Node

from checks.lang.cpp import types
from checks.lang.cpp.context import LONGEST_TEXT, Context, field_of, named_children
from checks.lang.cpp.declarators import declarators
from checks.lang.cpp.functions import declaration, function, inner_functions
from checks.lang.cpp.preprocessor import define, include
from checks.lang.cpp.scope import PREPROCESSOR_ARMS, DefinitionScope
from checks.lang.ir.source_file import Class, Constant, Declaration, Function, Import, Struct

_TYPES = frozenset({"struct_specifier", "class_specifier", "union_specifier", "enum_specifier"})
# Nodes that wait to be visited, each with what is around it.
_Nodes = list[tuple[Node, DefinitionScope]]


@dataclass
class CppDefinitions:
    """The definitions of one file, in source order."""

    path: str
    functions: list[Function] = field(default_factory=list)
    classes: list[Class] = field(default_factory=list)
    structs: list[Struct] = field(default_factory=list)
    constants: list[Constant] = field(default_factory=list)
    declarations: list[Declaration] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)


def collect(ctx: Context, root: Node, path: str) -> CppDefinitions:
    """The definitions under `root`."""
    out = CppDefinitions(path)
    waiting = _children(root, DefinitionScope())[::-1]
    while waiting:
        node, scope = waiting.pop()
        waiting.extend(reversed(_visit(ctx, node, scope, out)))
    return out


def _visit(ctx: Context, node: Node, scope: DefinitionScope, out: CppDefinitions) -> _Nodes:
    """Add what `node` defines to `out`; the result are the nodes inside it that come next."""
    match node.type:
        case "function_definition":
            return _function(ctx, node, scope, out)
        case "declaration" | "field_declaration":
            return _declaration(ctx, node, scope, out)
        case "preproc_def" | "preproc_function_def":
            out.constants.append(define(ctx, node, out.path))
            return []
        case "preproc_include":
            out.imports.append(include(ctx, node, scope.guard))
            return []
        case "alias_declaration" | "type_definition":
            return _alias(ctx, node, scope, out)
        case kind if kind in _TYPES:
            return _type(ctx, node, scope, out, "")
        case _:
            return _container(ctx, node, scope)


def _container(ctx: Context, node: Node, scope: DefinitionScope) -> _Nodes:
    """What stands in a namespace, an `extern "C"`, a template, an `#if`."""
    match node.type:
        case "namespace_definition":
            name = node.child_by_field_name("name")
            names = (*scope.names, ctx.text(name)) if name is not None else scope.names
            inner = replace(scope, names=names, owner="", template=None)
            return _children(node.child_by_field_name("body"), inner)
        case "linkage_specification":
            inner = replace(scope, marks=(*scope.marks, 'extern "C"'), template=None)
            body = node.child_by_field_name("body")
            # `extern "C" void f();` has no braces.
            if body is not None and body.type != "declaration_list":
                return [(body, inner)]
            return _children(body, inner)
        case "template_declaration":
            # A template in a template (`template<> template<class T> ...`) begins at the outer one.
            inner = replace(scope, template=scope.start_of(node))
            return [(child, inner) for child in named_children(node)[1:]]
        case "ERROR" | "declaration_list" | "field_declaration_list":
            return _children(node, scope)
        case kind if kind in PREPROCESSOR_ARMS:
            return _preprocessor_arm(ctx, node, scope)
        case _:
            return []


def _preprocessor_arm(ctx: Context, node: Node, scope: DefinitionScope) -> _Nodes:
    head = field_of(node, "name", "condition")
    directive = "#else"
    if head is not None:
        directive = ctx.masked_between(node.start_byte, head.end_byte)
    # Cut, or thousands of nested arms would cost the square of their number.
    guard = f"{scope.guard} {directive}".strip()[-LONGEST_TEXT:]
    inner = replace(scope, guard=guard)
    return [(child, inner) for child in node.children if child != head]


def _children(body: Node | None, scope: DefinitionScope) -> _Nodes:
    return [(child, scope) for child in body.children] if body is not None else []


def _function(ctx: Context, node: Node, scope: DefinitionScope, out: CppDefinitions) -> _Nodes:
    definition = function(ctx, node, scope, out.path)
    if definition is not None:
        out.functions.append(definition)
    body = node.child_by_field_name("body")
    if body is None or not body.has_error:
        return []
    # Where braces did not balance (one arm of an `#if` opens what both close), the next function is
    # inside this one.
    inside = DefinitionScope(scope.names)
    return [(inner, inside) for inner in inner_functions(body)]


def _declaration(ctx: Context, node: Node, scope: DefinitionScope, out: CppDefinitions) -> _Nodes:
    """Functions that are declared, constants, and the type in `struct S {...} s;`."""
    inside: _Nodes = []
    found = list(declarators(ctx, node))
    kind = node.child_by_field_name("type")
    if kind is not None and kind.type in _TYPES and kind.child_by_field_name("body") is not None:
        variables = [name for declarator in found for name in declarator.names]
        inside = _type(ctx, kind, scope, out, variables[0] if variables else "")
    for declarator in found:
        if not declarator.names:
            continue
        if declarator.function is not None and declarator.value is None:
            out.declarations.append(declaration(ctx, node, declarator, scope, out.path))
            continue
        constant = types.constant(ctx, node, declarator, out.path, scope.owner)
        if constant is not None:
            out.constants.append(constant)
    return inside


def _type(
    ctx: Context, node: Node, scope: DefinitionScope, out: CppDefinitions, alias: str
) -> _Nodes:
    """A struct, class, union or enum; its methods are visited next.

    `alias` names a type that has no name of its own (`typedef struct {...} S;`).
    """
    body = node.child_by_field_name("body")
    if body is None:
        return []
    if node.type == "enum_specifier":
        out.constants.extend(types.enumerators(ctx, node, out.path))
        return []
    name_node = node.child_by_field_name("name")
    name = ctx.text(name_node) if name_node is not None else alias
    qualified = f"{scope.owner}::{name}" if scope.owner else name
    start_line, end_line = ctx.line(scope.start_of(node)), ctx.end_line(node)
    is_class = node.type == "class_specifier"
    members = types.members(ctx, body)
    if members or not is_class:
        out.structs.append(Struct(qualified, members, out.path, start_line, end_line))
    bases = types.bases(ctx, node)
    has_methods = any(child.type == "function_definition" for child in body.children)
    if bases or is_class or has_methods:
        out.classes.append(Class(qualified, bases, out.path, start_line, end_line))
    names = (*scope.names, name) if name else scope.names
    return _children(body, DefinitionScope(names, qualified, guard=scope.guard))


def _alias(ctx: Context, node: Node, scope: DefinitionScope, out: CppDefinitions) -> _Nodes:
    """`using T = ...` and `typedef`."""
    kind = node.child_by_field_name("type")
    name = field_of(node, "name", "declarator")
    if kind is None or name is None:
        return []
    if kind.type in _TYPES:
        return _type(ctx, kind, scope, out, ctx.text(name))
    alias, line = ctx.text(name), ctx.line(node)
    text = ctx.masked_text(kind)
    out.constants.append(Constant(alias, None, out.path, line, "alias", scope.owner, type=text))
    return []
