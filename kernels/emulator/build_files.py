"""What a repository's build files define for its device code: the types that it is built with.

`-DENABLE_BF16` and `-DENABLE_FP8` stand behind conditions on the GPU, which an H100 fulfils.
Without them a source is another program, or none. Other definitions say what is built, and for
whom: which of them hold is not read from a build file.
"""

from __future__ import annotations

import re
from pathlib import Path

_TYPES = r"(?:BF16|F16|FP16|FP8(?:_E4M3|_E5M2)?)"
_SWITCH = re.compile(rf"-D((?:[A-Z0-9]+_)?ENABLE_{_TYPES})(?![\w=])")
_BUILD_FILES = ("CMakeLists.txt", "*.cmake", "setup*.py")


def type_switches(root: Path) -> list[str]:
    """The names that the build files of a repository define for types of few bits."""
    names: set[str] = set()
    for pattern in _BUILD_FILES:
        for path in root.rglob(pattern):
            if path.is_file() and not path.is_symlink():
                names |= set(_SWITCH.findall(path.read_text("utf-8", "replace")))
    return sorted(names)
