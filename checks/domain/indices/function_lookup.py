"""The function that a call in an op's code means, as far as the files with an index have it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping

from checks.core.config import Config
from checks.core.words import as_bytes
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.source import language

# Functions of C++ itself: no definition of them is looked for.
_LIBRARY = frozenset({"abort", "assert", "free", "malloc", "memcpy", "memset", "printf"})
_HEADERS = (".h", ".hpp")
# Includes of includes are followed this deep.
_INCLUDE_DEPTH = 2


class FunctionLookup:
    """Looks functions up in `files` (path to contents); `unit` parses one of them.

    `visited` collects the paths of what was found, for whoever sets it to a new set first.
    """

    def __init__(
        self,
        files: Mapping[str, bytes],
        unit: Callable[[str], SourceFile | None],
        config: Config,
    ) -> None:
        self._files = files
        self._unit = unit
        self._config = config
        self._functions: dict[tuple[str, str, int], Function | None] = {}
        self.visited: set[str] = set()

    def find(self, name: str, path: str, arity: int) -> Function | None:
        """The function that a call of `name` with `arity` arguments means in `path`.

        One of the same file, of a file that it includes, or of a file for the same hardware.
        """
        key = (name, path, arity)
        # Kept, because the interpreter asks for each call on each path through the code.
        if key not in self._functions:
            self._functions[key] = self._find_function(name, path, arity)
        function = self._functions[key]
        if function is not None:
            self.visited.add(function.path)
        return function

    def _find_function(self, name: str, path: str, arity: int) -> Function | None:
        unit = self._unit(path)
        # A name in capitals is a macro.
        if unit is None or name.isupper() or name in _LIBRARY:
            return None
        own = _callable(unit, name, arity)
        if own is not None or unit.language != "cpp":
            return own
        for included in self._included(unit, _INCLUDE_DEPTH):
            function = _callable(included, name, arity)
            if function is not None:
                return function
        return self._find_elsewhere(name, path, arity)

    def _included(self, unit: SourceFile, depth: int) -> Iterator[SourceFile]:
        folder = posixpath.dirname(unit.path)
        for item in unit.imports:
            target = posixpath.normpath(posixpath.join(folder, item.module))
            included = None if target.startswith("..") else self._unit(target)
            if included is not None:
                yield included
                if depth > 1:
                    yield from self._included(included, depth - 1)

    def _find_elsewhere(self, name: str, path: str, arity: int) -> Function | None:
        """A definition in another file of the same hardware that uses the index, not a header's
        declaration."""
        hardware = self._config.hardware_of(path)
        word = re.escape(as_bytes(name))
        # The name comes first in the pattern, because a search for plain letters is fast.
        call = re.compile(rb"%b(?<![^\s*&:]%b)\s*\(" % (word, word))
        for other, data in self._files.items():
            if other == path or language(other) != "cpp" or other.endswith(_HEADERS):
                continue
            if self._config.hardware_of(other) != hardware or not call.search(data):
                continue
            unit = self._unit(other)
            function = _callable(unit, name, arity) if unit is not None else None
            if function is not None:
                return function
        return None


def _callable(unit: SourceFile, name: str, arity: int) -> Function | None:
    """The function of `unit` that a call with `arity` arguments can mean."""
    for function in unit.named(name):
        if function.name != name:
            continue
        params = function.params
        if unit.language != "cpp":
            params = tuple(param for param in params if param.name not in ("self", "cls"))
        required = 0
        for param in params:
            if param.default is None and param.kind == "positional":
                required += 1
        if required <= arity <= len(params):
            return function
    return None
