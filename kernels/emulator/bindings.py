"""Functions that a repository binds to Python by pybind, in a file of their own."""

from __future__ import annotations

import re
from pathlib import Path

_BINDING = re.compile(r'\bm\.def\(\s*"(\w+)"\s*,\s*&?([\w:]+)')
_SUFFIXES = (".cc", ".cpp", ".cu")


def bindings_of(root: Path) -> dict[str, str]:
    """The C++ function of each name in Python."""
    names: dict[str, str] = {}
    for path in sorted(root.rglob("*")):
        if path.suffix not in _SUFFIXES or path.is_symlink():
            continue
        text = path.read_text("utf-8", "replace")
        if "PYBIND11_MODULE" not in text:
            continue
        for name, function in _BINDING.findall(text):
            names[name] = function.rsplit("::", maxsplit=1)[-1]
    return names
