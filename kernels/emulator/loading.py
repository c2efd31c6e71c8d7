"""Shared libraries loaded into this process, each after those that define what it lacks."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from kernels.emulator.symbols import defines, find_namesake, make_alias

_UNDEFINED = re.compile(r"undefined symbol: (\w+)")
_MODE = os.RTLD_NOW | os.RTLD_GLOBAL


class Loader:
    """Loads libraries; what one lacks is sought in `paths`.

    With `namesakes` a function that none of them defines may be one of the same name and
    parameters in another namespace: a repository may well declare it in one and define it in
    another, and never notice, as long as nobody links its copy for other hardware. `stand_ins` are
    those that were taken, by what was declared.
    """

    def __init__(self, paths: Iterable[Path], *, namesakes: bool = False) -> None:
        self.stand_ins: dict[str, str] = {}
        self._paths = list(paths)
        self._namesakes = namesakes
        self._loaded: dict[Path, ctypes.CDLL] = {}
        self._pending: set[Path] = set()

    def has(self, path: Path) -> bool:
        """Whether a library is loaded."""
        return path in self._loaded

    def load(self, path: Path) -> ctypes.CDLL:
        """Load a library, and first those that have what it lacks. Raises `OSError`."""
        tried: set[str] = set()
        while path not in self._loaded:
            try:
                self._loaded[path] = ctypes.CDLL(str(path), mode=_MODE)
            except OSError as error:
                missing = _UNDEFINED.search(str(error))
                if missing is None or missing[1] in tried:
                    raise
                tried.add(missing[1])
                self._load_definition(missing[1], path)
        return self._loaded[path]

    def _load_definition(self, symbol: str, wanting: Path) -> None:
        """Load the library that defines a symbol, and before it those that it needs itself."""
        others = [path for path in self._paths if path != wanting and path not in self._pending]
        for path in others:
            if not self.has(path) and defines(path, symbol):
                self._load_needed(path)
                return
        if self._namesakes:
            self._load_namesake(symbol, others)

    def _load_needed(self, path: Path) -> None:
        self._pending.add(path)
        with suppress(OSError):
            self.load(path)
        self._pending.discard(path)

    def _load_namesake(self, symbol: str, paths: list[Path]) -> None:
        """Load the one function of the same name and parameters, under the name that is missing."""
        found = find_namesake(symbol, paths)
        if found is None:
            return
        self._load_needed(found.library)
        alias = make_alias(symbol, found.symbol)
        if alias is not None and self.has(found.library):
            self.load(alias)
            self.stand_ins[found.wanted] = found.name
