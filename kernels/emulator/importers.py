"""Which tests import a repository's pybind modules, themselves or by way of its Python files."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from kernels.emulator.discovery import is_test
from kernels.emulator.extensions import Extension

_WORD = re.compile(r"[A-Za-z_]\w*")
# `torch.utils.cpp_extension.load(...)` builds a module when it is called.
_LOADS = re.compile(r"\bcpp_extension\b")
_PACKAGE = "__init__"


@dataclass(frozen=True)
class _File:
    """A Python file: what it imports, as names with dots, and its text."""

    path: str
    imports: frozenset[str]
    text: str


def tests_of_extensions(root: Path, extensions: Sequence[Extension]) -> dict[str, set[str]]:
    """The ops behind each test file that comes to one of the modules."""
    if not extensions:
        return {}
    files = _python_files(root)
    by_end: dict[str, list[str]] = {}
    for path in files:
        by_end.setdefault(_dotted(path).rpartition(".")[2], []).append(path)
    used = {path: _used(file, extensions) for path, file in files.items()}
    tests = {}
    for path in files:
        if is_test(path):
            ops = set().union(*(used[other] for other in _imported(path, files, by_end)))
            if ops:
                tests[path] = ops
    return tests


def _python_files(root: Path) -> dict[str, _File]:
    files = {}
    for path in sorted(root.rglob("*.py")):
        if path.is_symlink() or not path.is_file():
            continue
        place = path.relative_to(root).as_posix()
        text = path.read_text("utf-8", "replace")
        files[place] = _File(place, frozenset(_imports(place, text)), text)
    return files


def _dotted(path: str) -> str:
    """The name of a file's module, as it is from the repository's folder."""
    parts = PurePosixPath(path).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == _PACKAGE else parts)


def _imports(path: str, text: str) -> set[str]:
    """All that a file imports; of `from a import b` it is not known whether `a.b` is a module."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    names: set[str] = set()
    folders = PurePosixPath(path).parent.parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = folders[: len(folders) - node.level + 1] if node.level else ()
            module = ".".join([*above, *([node.module] if node.module else [])])
            names.add(module)
            names |= {f"{module}.{alias.name}" for alias in node.names}
    return names


def _used(file: _File, extensions: Sequence[Extension]) -> set[str]:
    """The ops of modules that a file imports or loads: those that it names, or all."""
    words = set(_WORD.findall(file.text))
    ops: set[str] = set()
    for extension in extensions:
        if _imports_module(file, extension) or _loads(file, extension):
            named = [name for name in extension.functions if name in words]
            ops |= {extension.op(name) for name in named or extension.functions}
    return ops


def _imports_module(file: _File, extension: Extension) -> bool:
    return any(
        f".{name}".endswith(f".{module}") for module in extension.modules for name in file.imports
    )


def _loads(file: _File, extension: Extension) -> bool:
    """Whether a file has the module built: it names the binding file, or it is above that."""
    if not _LOADS.search(file.text) or "load" not in file.text:
        return False
    binding = PurePosixPath(extension.binding)
    return binding.name in file.text or binding.is_relative_to(PurePosixPath(file.path).parent)


def _imported(path: str, files: Mapping[str, _File], by_end: Mapping[str, list[str]]) -> set[str]:
    """The file itself, and all of the repository's that it imports."""
    seen = {path}
    pending = [path]
    while pending:
        for name in files[pending.pop()].imports:
            for other in by_end.get(name.rpartition(".")[2], ()):
                if other not in seen and f".{_dotted(other)}".endswith(f".{name}"):
                    seen.add(other)
                    pending.append(other)
    return seen
