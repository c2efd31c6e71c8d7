"""Files that hold copies of one device op: by the ops they register and by name, whatever the hardware."""

from __future__ import annotations

import re
from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.lang.source import CPP, language

_SOURCES = tuple(sorted(CPP))
_HEADERS = (".h", ".hpp", ".hxx", ".inl")
_MOST_OPS = 6


def copies(path: str, change: ChangeSet, config: Config) -> tuple[str, ...]:
    """The other C++ files that hold the op of `path`: its kernel, its wrapper, and its copies for other hardware.

    Two steps are taken: files with the name of this one or registering its ops, and the same again from those,
    because a wrapper knows its op only by name.
    """
    return change.memo(("sync.op.copies", path), lambda: tuple(_copies(path, change, config)))


def _copies(path: str, change: ChangeSet, config: Config) -> Iterator[str]:
    seen, level = {path}, [path]
    for _ in range(3):
        below: list[str] = []
        for near in level:
            for other in (*_same_name(near, change), *_same_op(near, change)):
                if other not in seen and not config.is_test(other):
                    seen.add(other)
                    below.append(other)
                    yield other
        level = below


def _same_name(path: str, change: ChangeSet) -> list[str]:
    table: dict[str, list[str]] = change.memo("sync.op.names", lambda: _by_name(change))
    return table.get(stem(path), [])


def _by_name(change: ChangeSet) -> dict[str, list[str]]:
    table: dict[str, list[str]] = {}
    for path in change.head.paths():
        if path.endswith(_SOURCES):
            table.setdefault(stem(path), []).append(path)
    return {name: paths for name, paths in table.items() if 1 < len(paths) <= 8}


def stem(path: str) -> str:
    """The file's name without its ending and without words that every copy may add."""
    name = path.rpartition("/")[2].partition(".")[0].lower()
    return re.sub(r"(_(kernel|wrapper|op|xpu|gpu|cuda))+$", "", name)


def _same_op(path: str, change: ChangeSet) -> Iterator[str]:
    unit = change.unit(path) if not path.endswith(_HEADERS) else None
    for op in unit.ops[:_MOST_OPS] if unit is not None else ():
        yield from registering(op.name, change)


def registering(name: str, change: ChangeSet) -> tuple[str, ...]:
    """The files that register the op `name`."""
    return change.memo(("sync.op.registering", name), lambda: tuple(_registering(name, change)))


def _registering(name: str, change: ChangeSet) -> Iterator[str]:
    for path in sorted(
        {h.path for h in change.head.find(name) if language(h.path) == "cpp" and _builds(h.text)}
    ):
        unit = change.unit(path)
        if unit is not None and any(op.name == name for op in unit.ops):
            yield path


def _builds(text: str) -> bool:
    """Whether a line can be the one that names an op in its registration, which may stand alone on it."""
    return bool(re.search(r"_(BUILD|REGISTER)_|^\s*\w+,?\)?\s*$", text))
