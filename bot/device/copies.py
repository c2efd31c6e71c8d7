"""The copies of device ops for other hardware: the files that each is built of."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Side
from checks.domain.ops import OpInfo, Ops

_QUALIFIED_CALL = re.compile(r"\b\w+::(\w+)\s*(?:<[^;(){}]*>)?\s*\(")
_OWN_HEADER = re.compile(r'^\s*#\s*include\s*"(\w+)\.h"', re.MULTILINE)
_HOST_SUFFIXES = (".cc", ".cpp")
_DEVICE_SUFFIX = ".cu"
# Files that one op's copy is built of: more are not followed.
_MOST = 40


@dataclass(frozen=True, slots=True)
class OpCopy:
    """An op's copy: the file that registers it, and those that define what this one calls.

    What is called by its namespace is sought everywhere, the rest beside an included header.
    """

    op: str
    path: str
    helpers: tuple[str, ...]

    @property
    def files(self) -> tuple[str, ...]:
        """All of them."""
        return (self.path, *self.helpers)


class CopyFinder:
    """Finds copies on one side of a change."""

    def __init__(self, change: ChangeSet, config: Config, side: Side) -> None:
        self._tree = change.tree(side)
        self._ops = Ops.of(change, side)
        self._config = config
        self._known: dict[str, list[str]] = {}

    def copies_of(self, op: str, source: str) -> list[OpCopy]:
        """The op's copies, for hardware that is not that of `source`; in the order of paths."""
        hardware = self._config.hardware_of(source)
        copies = {}
        for info in self._ops.named(op):
            path = info.unit.path
            if self._config.hardware_of(path) != hardware and _is_registered(info):
                copies[path] = OpCopy(op, path, self._helpers(path))
        return [copies[path] for path in sorted(copies)]

    def _helpers(self, path: str) -> tuple[str, ...]:
        """The files of the same hardware that define a function that `path` calls, and so on."""
        hardware = self._config.hardware_of(path)
        found: list[str] = []
        pending = [path]
        while pending and len(found) < _MOST:
            for other in self._needed(pending.pop(), hardware):
                if other != path and other not in found:
                    found.append(other)
                    pending.append(other)
        return tuple(found)

    def _needed(self, path: str, hardware: str) -> list[str]:
        text = (self._tree.read(path) or b"").decode("utf-8", "replace")
        needed = []
        for name in sorted(set(_QUALIFIED_CALL.findall(text))):
            needed += self._definitions(name, hardware)
        folder = PurePosixPath(path).parent
        for stem in _OWN_HEADER.findall(text):
            beside = [str(folder / f"{stem}{suffix}") for suffix in _HOST_SUFFIXES]
            needed += [other for other in beside if self._tree.read(other) is not None]
        return needed

    def _definitions(self, name: str, hardware: str) -> list[str]:
        """The files of a kind of hardware that define a function."""
        # Kept, because every op's copy calls the same few helpers.
        if name not in self._known:
            begins = re.compile(rf"^(?:\w+\s+)+{re.escape(name)}\s*\(")
            matches = self._tree.find(name, "cpp")
            self._known[name] = [match.path for match in matches if begins.match(match.text)]
        return [
            path
            for path in self._known[name]
            if path.endswith(_HOST_SUFFIXES) and self._config.hardware_of(path) == hardware
        ]

    def sources_with_changed_copies(self, changed: Iterable[str]) -> list[str]:
        """The device sources of ops whose copy is built of one of the files in `changed`."""
        sources = set()
        for path in changed:
            if not path.endswith(_HOST_SUFFIXES) or not self._config.hardware_of(path):
                continue
            # The file that registers an op is mostly named as it is, and so is what it calls.
            for op in self._ops_near(path):
                for info in self._ops.named(op):
                    source = info.unit.path
                    if source.endswith(_DEVICE_SUFFIX) and source not in sources:
                        copies = self.copies_of(op, source)
                        if any(path in copy.files for copy in copies):
                            sources.add(source)
        return sorted(sources)

    def _ops_near(self, path: str) -> set[str]:
        """The words of a file that may be names of ops: what it defines at a line's begin."""
        text = (self._tree.read(path) or b"").decode("utf-8", "replace")
        words = set(re.findall(r"^\s*PD_BUILD_\w*OP\(\s*(\w+)", text, re.MULTILINE))
        words |= set(re.findall(r"^int\s+(\w+)\s*\(", text, re.MULTILINE))
        words.add(PurePosixPath(path).stem)
        return words


def _is_registered(info: OpInfo) -> bool:
    """Whether it is an op of its own, not a name that another file binds to Python."""
    return info.registration is not None
