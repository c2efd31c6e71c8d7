"""Functions that a repository binds to Python by pybind, in a file of their own."""

from __future__ import annotations

import re
from pathlib import Path

from kernels.emulator.discovery import hardware_of, registered_ops

_BINDING = re.compile(r'\bm\.def\(\s*"(\w+)"\s*,\s*&?([\w:]+)')
_SUFFIXES = (".cc", ".cpp", ".cu")


def bindings_of(root: Path) -> dict[tuple[str, str], str]:
    """The C++ function of each hardware and name in Python.

    A name that a source registers as an op is that op: two sources may have a function of one name.
    """
    names: dict[tuple[str, str], str] = {}
    ops: set[tuple[str, str]] = set()
    for path in sorted(root.rglob("*")):
        if path.suffix not in _SUFFIXES or path.is_symlink():
            continue
        text = path.read_text("utf-8", "replace")
        hardware = hardware_of(path.relative_to(root).as_posix())
        if "PD_BUILD" in text:
            ops |= {(hardware, op) for op in registered_ops(text)}
        if "PYBIND11_MODULE" in text:
            for name, function in _BINDING.findall(text):
                names[hardware, name] = function.rsplit("::", maxsplit=1)[-1]
    return {key: function for key, function in names.items() if key not in ops}
