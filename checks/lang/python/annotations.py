"""Python annotations as written, taken apart: `Optional["list[Request]"]`."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache

_WRAPPERS = frozenset({"Optional", "Annotated", "Final", "ClassVar", "InitVar", "Required"})
_NOTHING = frozenset({"None", "NoneType"})


@dataclass(frozen=True, slots=True)
class Annotation:
    """A dotted name with what stands in its brackets: `dict` with `str` and `Request`."""

    name: str
    args: tuple[Annotation, ...] = ()


@lru_cache(maxsize=4096)
def parse_annotation(text: str) -> Annotation | None:
    """The one type that `text` names besides None.

    None where it names several, or where it is no annotation that we read.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return None
    return _annotation(tree.body)


def _annotation(node: ast.expr) -> Annotation | None:
    match node:
        case ast.Name(id=name):
            return Annotation(name)
        case ast.Attribute():
            return Annotation(ast.unparse(node))
        case ast.Constant(value=str() as text):
            return parse_annotation(text)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _only_type([left, right])
        case ast.Subscript(value=value, slice=inside):
            return _generic(_annotation(value), inside)
        case _:
            return None


def _generic(outer: Annotation | None, inside: ast.expr) -> Annotation | None:
    if outer is None:
        return None
    items = inside.elts if isinstance(inside, ast.Tuple) else [inside]
    plain = outer.name.rsplit(".", 1)[-1]
    if plain == "Union":
        return _only_type(items)
    if plain in _WRAPPERS:
        return _annotation(items[0]) if items else None
    args = [_annotation(item) or Annotation("") for item in items]
    return Annotation(outer.name, tuple(args))


def _only_type(nodes: list[ast.expr]) -> Annotation | None:
    """The one of several types that is not None."""
    types: list[Annotation | None] = []
    for node in nodes:
        is_none = isinstance(node, ast.Constant) and node.value is None
        found = None if is_none else _annotation(node)
        if is_none or (found is not None and found.name in _NOTHING):
            continue
        types.append(found)
    return types[0] if len(types) == 1 else None
