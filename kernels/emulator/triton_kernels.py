"""Triton kernels of a Python file, and the functions that launch them: read from the text."""

from __future__ import annotations

import ast
import re
from pathlib import PurePosixPath

_DECORATORS = ("triton.jit", "jit")
# What stands in every file with a kernel.
MARK = "triton.jit"
_LAUNCH = re.compile(r"\b(\w+)\[")


def op_name(path: str, kernel: str) -> str:
    """A kernel's name with its file's: many files have a kernel of one name."""
    return f"{PurePosixPath(path).stem}.{kernel}"


def kernels_of(text: str) -> list[str]:
    """The names of the kernels that a file defines; none where it is not Python.

    What only other kernels call is a part of them.
    """
    definitions = _definitions(text)
    kernels = _kernels(definitions)
    parts = set()
    for kernel in kernels:
        parts |= _names_in(definitions[kernel]) & kernels - {kernel}
    launched = set(_LAUNCH.findall(text))
    return sorted(kernels - (parts - launched))


def launchers_of(text: str) -> dict[str, set[str]]:
    """The kernels behind each function and class of a file, the kernels themselves included.

    A function launches what it names, and what another one of the file that it names launches.
    """
    definitions = _definitions(text)
    kernels = _kernels(definitions)
    behind = {name: {name} if name in kernels else set() for name in definitions}
    named = {name: _names_in(node) & set(definitions) for name, node in definitions.items()}
    grows = True
    while grows:
        grows = False
        for name, others in named.items():
            more = set().union(*(behind[other] for other in others)) - behind[name]
            if more:
                behind[name] |= more
                grows = True
    return {name: found for name, found in behind.items() if found}


def _definitions(text: str) -> dict[str, ast.AST]:
    """The functions and classes of a file, those within an `if` too."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[str, ast.AST] = {}
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                found[child.name] = child
            elif isinstance(child, (ast.If, ast.Try)):
                pending.append(child)
    return found


def _kernels(definitions: dict[str, ast.AST]) -> set[str]:
    return {
        name
        for name, node in definitions.items()
        if isinstance(node, ast.FunctionDef) and any(map(_is_jit, node.decorator_list))
    }


def _is_jit(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(called) in _DECORATORS


def _names_in(node: ast.AST) -> set[str]:
    return {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}
