"""From a file's name and bytes to a parsed file."""

from __future__ import annotations

import posixpath

from checks.lang.cpp.parse import parse_cpp
from checks.lang.ir.source_file import SourceFile
from checks.lang.python.parse import parse_python

# `.xpu`, `.maca`, `.mu` and `.hip` are kernels for Kunlun, MetaX, Moore Threads and AMD.
CPP = frozenset(
    [
        ".c",
        ".cc",
        ".cpp",
        ".cxx",
        ".cu",
        ".cuh",
        ".h",
        ".hpp",
        ".hxx",
        ".inl",
        ".xpu",
        ".maca",
        ".mu",
        ".hip",
    ]
)
PYTHON = frozenset({".py", ".pyi"})
# Bytes; a larger file is generated, and takes seconds to parse.
LARGEST = 2_000_000


def language(path: str) -> str:
    """`cpp`, `python`, or empty for what is not read."""
    suffix = posixpath.splitext(path)[1].lower()
    if suffix in CPP:
        return "cpp"
    return "python" if suffix in PYTHON else ""


def parse(path: str, data: bytes) -> SourceFile | None:
    """The parsed file; None where it is not source, is binary, or is over `LARGEST` bytes."""
    kind = language(path)
    is_binary = b"\0" in data[:8192]
    if not kind or is_binary or len(data) > LARGEST:
        return None
    if kind == "cpp":
        return parse_cpp(path, data)
    return parse_python(path, data)
