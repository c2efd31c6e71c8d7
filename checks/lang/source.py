"""From a file's name and bytes to a parsed unit."""

from __future__ import annotations

from functools import lru_cache
from posixpath import splitext

from checks.lang.cpp.parse import parse_cpp
from checks.lang.ir.source_file import SourceFile
from checks.lang.python.parse import parse_python

CPP = frozenset(
    {
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
    }
)
PYTHON = frozenset({".py", ".pyi"})
_KINDS = dict.fromkeys(CPP, "cpp") | dict.fromkeys(PYTHON, "python")
LARGEST = 2_000_000


@lru_cache(1 << 14)
def language(path: str) -> str:
    """`cpp`, `python`, or empty for what is not read."""
    # Asked of every path of both trees: `PurePosixPath(path).suffix` takes twenty times as long.
    kind = _KINDS.get(path[path.rfind(".") :].lower(), "")
    return kind if kind and splitext(path)[1] else ""  # `.py` alone is a name


def parse(path: str, data: bytes) -> SourceFile | None:
    """The unit of `path`, or None where it is not source, is binary, or is over `LARGEST` bytes (2 MB)."""
    kind = language(path)
    if not kind or len(data) > LARGEST or b"\0" in data[:8192]:
        return None
    if kind == "cpp":
        return parse_cpp(path, data)
    return parse_python(path, data)
