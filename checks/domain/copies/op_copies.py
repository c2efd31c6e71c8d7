"""Files that hold copies of one device op: by the ops they register and by name, whatever the
hardware.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.lang.ir.source_file import group_by
from checks.lang.source import CPP, language

HEADERS = (".h", ".hpp", ".hxx", ".inl")
# How often the search goes on from what it found: from an op to its kernel, to that one's wrapper.
_STEPS = 3
_MOST_OPS_OF_A_FILE = 6
_MOST_FILES_OF_A_NAME = 8


def find_copies(path: str, change: ChangeSet, config: Config) -> list[str]:
    """The other C++ files that hold the op of `path`: its kernel, its wrapper, and its copies for
    other hardware.

    Files with the name of this one or registering its ops are near it, and those near them as well,
    because a wrapper knows its op only by name. The nearest come first.
    """
    # Asked again for each thing that a change altered in the file.
    return change.memo((find_copies, path), lambda: _search(path, change, config))


def _search(path: str, change: ChangeSet, config: Config) -> list[str]:
    copies: list[str] = []
    level = [path]
    for _ in range(_STEPS):
        next_level: list[str] = []
        for near in level:
            for other in (*_files_of_same_name(near, change), *_files_of_same_op(near, change)):
                is_known = other == path or other in copies
                if not is_known and not config.is_test(other):
                    copies.append(other)
                    next_level.append(other)
        level = next_level
    return copies


def _files_of_same_name(path: str, change: ChangeSet) -> list[str]:
    files_by_stem = change.memo((find_copies, "stems"), lambda: _files_by_stem(change))
    files = files_by_stem.get(_stem(path), [])
    return files if 1 < len(files) <= _MOST_FILES_OF_A_NAME else []


def _files_by_stem(change: ChangeSet) -> dict[str, list[str]]:
    sources = [path for path in change.head.paths() if path.endswith(tuple(CPP))]
    return group_by(sources, _stem)


def _stem(path: str) -> str:
    """The file's name without its ending and without words that every copy may add."""
    name = path.rpartition("/")[2].partition(".")[0].lower()
    return re.sub(r"(_(kernel|wrapper|op|xpu|gpu|cuda))+$", "", name)


def _files_of_same_op(path: str, change: ChangeSet) -> Iterator[str]:
    if path.endswith(HEADERS):
        return
    unit = change.unit(path)
    if unit is None:
        return
    for op in unit.ops[:_MOST_OPS_OF_A_FILE]:
        yield from _files_registering(op.name, change)


def _files_registering(op_name: str, change: ChangeSet) -> Iterator[str]:
    paths: set[str] = set()
    for hit in change.head.find(op_name):
        if language(hit.path) == "cpp" and _may_register(hit.text):
            paths.add(hit.path)
    for path in sorted(paths):
        unit = change.unit(path)
        if unit is not None and any(op.name == op_name for op in unit.ops):
            yield path


def _may_register(line: str) -> bool:
    """Whether a line can be the one that names an op in its registration.

    The name may stand alone on it.
    """
    return bool(re.search(r"_(BUILD|REGISTER)_|^\s*\w+,?\)?\s*$", line))
