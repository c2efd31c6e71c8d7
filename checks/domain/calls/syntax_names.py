"""Which names the code of a module binds, and that of a class gives to its objects, by its syntax.

A parameter of a method, an argument's keyword, a key of a dictionary and a docstring bind none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from checks.lang.python.text import REFUSED, parse

# How many texts of classes and methods are kept read.
_KEPT = 4096
# What a class and its factories call an object of it, where the first parameter does not say.
OBJECTS = frozenset({"self", "cls", "obj", "instance", "new"})


@dataclass(frozen=True, slots=True)
class BoundNames:
    """The names that a class or a method binds.

    `at_class_level` are declared, defined or quoted in the class itself. `on_object` are stored as
    an attribute of a name, or quoted in a call that is about the object, as in
    `self.register_buffer("mask", ...)` and `setattr(self, "mask", ...)`.
    """

    at_class_level: frozenset[str] = frozenset()
    on_object: frozenset[str] = frozenset()


def binds(text: str, name: str) -> bool:
    """Whether the code of a class or of a method gives an object `name`.

    True where it names it and cannot be read.
    """
    if name not in text:
        return False
    bound = _names_bound(text)
    if bound is None:
        return _is_word(name, text)
    return name in bound.on_object or name in bound.at_class_level


def binds_at_class_level(text: str, name: str) -> bool:
    """Whether the code of a class declares or defines `name` outside its methods."""
    if name not in text:
        return False
    bound = _names_bound(text)
    return _is_word(name, text) if bound is None else name in bound.at_class_level


def module_binds(text: str, name: str) -> bool:
    """Whether a module whose code is `text` binds `name` at its top level, if only by `global`.

    True where it names it and cannot be read.
    """
    if name not in text:
        return False
    bound = _module_names(text)
    return _is_word(name, text) if bound is None else name in bound


def _is_word(name: str, text: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", text) is not None


@lru_cache(maxsize=_KEPT)
def _names_bound(text: str) -> BoundNames | None:
    """What the definition in `text` binds; None where it cannot be read."""
    try:
        # What is indented stands below something.
        body = parse(f"if True:\n{text}" if text[:1].isspace() else text).body
    except REFUSED:
        return None
    definition = body[0].body[0] if isinstance(body[0], ast.If) else body[0]
    on_object = frozenset(_names_on_object(definition))
    if not isinstance(definition, ast.ClassDef):
        return BoundNames(on_object=on_object)
    level = frozenset(_names_at_level(definition.body, quoted=True))
    return BoundNames(level, on_object)


@lru_cache(maxsize=_KEPT)
def _module_names(text: str) -> frozenset[str] | None:
    """What a module binds; None where it cannot be read."""
    try:
        module = parse(text)
    except REFUSED:
        return None
    names = set(_names_at_level(module.body, quoted=False))
    for node in ast.walk(module):
        if isinstance(node, ast.Global):
            names.update(node.names)
    return frozenset(names)


def _names_at_level(body: list[ast.stmt], *, quoted: bool) -> Iterator[str]:
    """The names that the statements of a class or module bind there, and those in quotes."""
    # No recursion: an expression may be as deep as a stranger likes.
    waiting: list[ast.AST] = [*body]
    while waiting:
        node = waiting.pop()
        match node:
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                yield name
                continue
            case ast.Lambda():
                continue
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Constant(value=str() as name) if quoted:
                yield name
            case ast.alias(name=name, asname=other):
                yield other or name.partition(".")[0]
            case _:
                pass
        waiting += ast.iter_child_nodes(node)


def _names_on_object(definition: ast.AST) -> Iterator[str]:
    objects = OBJECTS | {
        function.args.args[0].arg
        for function in ast.walk(definition)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and function.args.args
    }
    for node in ast.walk(definition):
        match node:
            case ast.Attribute(value=ast.Name(), attr=name, ctx=ast.Store()):
                yield name
            case ast.Call() if _is_about(node, objects):
                for part in ast.walk(node):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield part.value


def _is_about(call: ast.Call, objects: frozenset[str]) -> bool:
    """Whether a call is of a method of the object, or is given the object."""
    match call.func:
        case ast.Attribute(value=ast.Name(id=name)) if name in objects:
            return True
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super"))):
            return True
        case _:
            return any(isinstance(arg, ast.Name) and arg.id in objects for arg in call.args)
