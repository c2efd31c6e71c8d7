"""Functions and classes of a repository's Python that call ops: who tests one tests its ops."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from kernels.emulator.triton_kernels import MARK, launchers_of, op_name

_LIBRARIES = "torch.ops"


@dataclass(frozen=True)
class Wrapper:
    """A function or class, the file that defines it, and the ops that it calls."""

    path: str
    ops: frozenset[str]

    def is_in(self, module: str) -> bool:
        """Whether the file is the module, or lies in the package of that name."""
        folders = module.replace(".", "/")
        return f"/{folders}/" in f"/{self.path.removesuffix('.py')}/"


def wrappers_of(root: Path, ops: Collection[str]) -> dict[str, list[Wrapper]]:
    """Who calls one of `ops`, by the name that tests import."""
    found: dict[str, list[Wrapper]] = {}
    for path in sorted(root.rglob("*.py")):
        if path.is_symlink():
            continue
        text = path.read_text("utf-8", "replace")
        if _LIBRARIES not in text and MARK not in text:
            continue
        place = path.relative_to(root).as_posix()
        behind = _callers(text)
        for name, kernels in launchers_of(text).items():
            behind.setdefault(name, set()).update(op_name(place, kernel) for kernel in kernels)
        for name, called in behind.items():
            known = frozenset(called) & frozenset(ops)
            if known:
                found.setdefault(name, []).append(Wrapper(place, known))
    return found


def _callers(text: str) -> dict[str, set[str]]:
    """The ops of PyTorch's libraries that each function and class names."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    callers: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            ops = {child.attr for child in ast.walk(node) if _is_op(child)}
            callers.setdefault(node.name, set()).update(ops)
    return callers


def _is_op(node: ast.AST) -> bool:
    """`torch.ops.library.op`."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Attribute):
        return False
    return ast.unparse(node.value.value) == _LIBRARIES
