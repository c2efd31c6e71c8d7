"""Which ops a source registers, and which tests import them: read from the text, nothing is run."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from kernels.emulator.wrappers import Wrapper

_REGISTERED = re.compile(
    r"\bPD_BUILD_(?:STATIC_)?OP\(\s*(\w+)\s*\)|\bEMULATOR_BIND\(\s*(\w+)\s*,"
    r'|\bemulator_ops\.impl\("(\w+)"'
)
_DIRECTIVE = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_TEST = re.compile(r"(?:^|/)(?:test(?:_\w+)?|\w+_test)\.py$")


def registered_ops(text: str) -> list[str]:
    """The names of the ops that a source registers; a macro for registrations is none."""
    code = _DIRECTIVE.sub("", text)
    return sorted({name for names in _REGISTERED.findall(code) for name in names if name})


# Folders and modules of ops carry the name of their hardware.
_HARDWARE = ("gpu", "xpu", "npu", "metax", "iluvatar", "dcu", "gcu", "hpu", "cpu")


def hardware_of(name: str) -> str:
    """The hardware that a path (`gpu_ops/a.cu`) or a module (`ops.gpu`) names, or nothing."""
    for part in re.split(r"[/.]", name):
        for word in re.split(r"[_\-]", part.lower()):
            if word in _HARDWARE:
                return word
    return ""


def is_test(path: str) -> bool:
    """Whether a Python file is a test, by its name."""
    return _TEST.search(path) is not None


def tests_of(
    root: Path, hardware: dict[str, str], wrappers: Mapping[str, Sequence[Wrapper]]
) -> dict[str, list[str]]:
    """The ops that each test file imports, by the file's path; only files that import one.

    `hardware` is that of each op's source. An op of the same name for other hardware is another.
    `wrappers` are functions and classes that call ops, by name: importing one counts as well.
    """
    ops = set(hardware)
    words = [*ops, *wrappers]
    tests = {}
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if not is_test(name) or path.is_symlink():
            continue
        text = path.read_text("utf-8", "replace")
        if "import" not in text or not any(word in text for word in words):
            continue
        test_hardware = hardware_of(name)
        imported = set()
        for op, module in imported_names(text) | used_attributes(text):
            named = {test_hardware, hardware_of(module)} - {""}
            if op in ops and named <= {hardware[op]}:
                imported.add(op)
        for wrapped in _wrapped(text, wrappers):
            if {test_hardware} - {""} <= {hardware[wrapped]}:
                imported.add(wrapped)
        if imported:
            tests[name] = sorted(imported)
    return tests


def imported_names(text: str) -> set[tuple[str, str]]:
    """The names that a Python file imports from modules, each with its module."""
    names = set()
    for node in _nodes(text):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names |= {(alias.name, node.module) for alias in node.names}
    return names


def used_attributes(text: str) -> set[tuple[str, str]]:
    """The names that a Python file takes from a hardware's module, each with the module.

    `from engine.ops import gpu` with a later `gpu.verify` takes `verify` from `engine.ops.gpu`.
    `torch.ops._C.verify` takes it from no module.
    """
    nodes = _nodes(text)
    modules = _imported_modules(nodes)
    names = set()
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = modules.get(node.value.id, "")
            if module.rpartition(".")[2] in _HARDWARE:
                names.add((node.attr, module))
        elif isinstance(node, ast.Attribute) and _is_torch_library(node.value):
            names.add((node.attr, ""))
    return names


def _wrapped(text: str, wrappers: Mapping[str, Sequence[Wrapper]]) -> set[str]:
    """The ops behind the functions and classes that a file imports, or takes from a module."""
    ops: set[str] = set()
    for name, module in imported_names(text) | module_attributes(text):
        for wrapper in wrappers.get(name, ()):
            if wrapper.is_in(module):
                ops |= wrapper.ops
    return ops


def module_attributes(text: str) -> set[tuple[str, str]]:
    """The names that a Python file takes from what it imports, each with the module.

    `from engine import ops` with a later `ops.verify` takes `verify` from `engine.ops`.
    """
    nodes = _nodes(text)
    modules = _imported_modules(nodes)
    names = set()
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, (ast.Name, ast.Attribute)):
            module = modules.get(ast.unparse(node.value))
            if module is not None:
                names.add((node.attr, module))
    return names


def _imported_modules(nodes: list[ast.AST]) -> dict[str, str]:
    """What a file's names may stand for, if they are modules: `import a.b`, `from a import b`."""
    modules: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            modules |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            for alias in node.names:
                modules[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return modules


def _is_torch_library(node: ast.AST) -> bool:
    """`torch.ops.name`."""
    return isinstance(node, ast.Attribute) and ast.unparse(node.value) == "torch.ops"


def _nodes(text: str) -> list[ast.AST]:
    """All nodes of a Python file; none where it is not Python."""
    try:
        return list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
