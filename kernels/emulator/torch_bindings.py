"""Ops that a repository registers with PyTorch's dispatcher, in files of their own.

The functions are defined in other sources. Each source here is a library by itself, so that it gets
the registrations of its own functions, for the CPU: CUDA tensors are CPU memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from os.path import commonpath
from pathlib import Path

from kernels.emulator.discovery import hardware_of
from kernels.emulator.rewrite.text import UnbalancedBracket, closing, mask

_SUFFIXES = (".cc", ".cpp", ".cu")
_BLOCK = re.compile(r"\b((?:STABLE_)?TORCH_LIBRARY)(?:_\w+)?\s*\(([^{};]*?)\)\s*\{")
_CALL = re.compile(r"\b\w+\.(def|impl)\s*\(")
_STRINGS = re.compile(r'"((?:\\.|[^"\\])*)"')
_FUNCTION = re.compile(r"&\s*([\w:]+)")
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"](?:torch|ATen|c10)/", re.MULTILINE)
_JOINED_NAME = re.compile(r"CONCAT\(\s*TORCH_EXTENSION_NAME\s*,\s*(\w+)\s*\)")
# What stands for the name of the extension, which the build file gives.
EXTENSION_NAME = "_C"


def includes_torch(text: str) -> bool:
    """Whether a file includes PyTorch's headers itself."""
    return _INCLUDE.search(text) is not None


@dataclass(frozen=True)
class TorchOp:
    """An op: the file that registers it, the library's macro and name, the schema, the function."""

    path: str
    macro: str
    library: str
    name: str
    schema: str
    function: str

    def registration(self) -> str:
        """The C++ that registers the function of this op and of no other."""
        impl = f'emulator_ops.impl("{self.name}", {self._boxed()});'
        return (
            f"{self.definition()}\n"
            f"{self.macro}_IMPL({self.library}, CPU, emulator_ops) {{ {impl} }}"
        )

    def definition(self) -> str:
        """The C++ that tells the dispatcher of this op."""
        schema = f'emulator_ops.def("{self.schema}");' if "->" in self.schema else ""
        return f"{self.macro}_FRAGMENT({self.library}, emulator_ops) {{ {schema} }}"

    def is_defined_in(self, text: str) -> bool:
        """Whether a text has the schema, or as much of it as stands in the first of its parts."""
        return f'"{self.name}(' in text

    def _boxed(self) -> str:
        pointer = f"&{self.function}"
        return f"TORCH_BOX({pointer})" if self.macro.startswith("STABLE") else pointer


def torch_ops_of(root: Path) -> list[TorchOp]:
    """The ops that the repository's files register, each with its schema and its function."""
    schemas: dict[tuple[str, str], str] = {}
    functions: list[tuple[str, str, str, str, str]] = []
    for path in sorted(root.rglob("*")):
        if path.suffix not in _SUFFIXES or path.is_symlink():
            continue
        text = path.read_text("utf-8", "replace")
        if "TORCH_LIBRARY" not in text:
            continue
        place = path.relative_to(root).as_posix()
        for macro, library, kind, strings, function in _registrations(text):
            name = strings.partition("(")[0].strip()
            if kind == "def":
                schemas.setdefault((library, name), strings)
            if function:
                functions.append((place, macro, library, name, function))
    return [
        TorchOp(place, macro, library, name, schemas.get((library, name), ""), function)
        for place, macro, library, name, function in functions
    ]


def ops_near(source: str, ops: list[TorchOp]) -> list[TorchOp]:
    """Each op once: of several registrations, for other hardware or builds, that of the nearest
    file."""
    hardware = {"", hardware_of(source)}
    nearest: dict[str, TorchOp] = {}
    for op in sorted(ops, key=lambda op: -len(commonpath([op.path, source]))):
        if hardware_of(op.path) in hardware:
            nearest.setdefault(op.name, op)
    return list(nearest.values())


def _registrations(text: str) -> Iterator[tuple[str, str, str, str, str]]:
    """Each call of `def` and `impl`: macro, library, which of the two, its texts, its function."""
    code = mask(text)
    for block in _BLOCK.finditer(code):
        library = _library(text[block.start(2) : block.end(2)])
        try:
            end = closing(code, block.end() - 1)
        except UnbalancedBracket:
            continue
        for call in _CALL.finditer(code, block.end(), end):
            inner = slice(call.end(), closing(code, call.end() - 1))
            strings = "".join(_STRINGS.findall(text[inner]))
            function = _FUNCTION.search(code[inner])
            yield block[1], library, call[1], strings, function[1] if function else ""


def _library(arguments: str) -> str:
    """The name of the library, as the preprocessor would make it."""
    joined = _JOINED_NAME.match(arguments.strip())
    if joined is not None:
        return EXTENSION_NAME + joined[1]
    name = arguments.partition(",")[0].strip()
    return EXTENSION_NAME if name == "TORCH_EXTENSION_NAME" else name
